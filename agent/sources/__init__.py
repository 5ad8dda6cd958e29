"""Data sources: opening, reflecting, profiling and caching them."""
