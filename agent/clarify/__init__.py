"""Clarification: ambiguities of a question, the clarifying question, the user's answer and feedback."""
