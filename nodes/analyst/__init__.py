"""The nodes of the analyst."""
