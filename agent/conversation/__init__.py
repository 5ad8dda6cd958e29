"""Conversations: what a question takes from those before it, and where threads are kept."""
