"""Conversations: follow-up questions, threads and their stores."""
