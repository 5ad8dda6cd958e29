"""Canonical JSON, redaction, untrusted text, cancellation, and errors as JSON."""
