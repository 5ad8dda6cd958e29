"""The words with which questions ask for charts and descriptions."""
