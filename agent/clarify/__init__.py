"""Asking back: what in a question is ambiguous, whether it matters, and what the user has said."""
