"""The tools of the analyst, one per module. Its model has no other access to data."""
