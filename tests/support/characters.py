"""Characters for random texts."""

from hypothesis import strategies as st

ANY = st.characters(exclude_categories=["Cs"])
"""The default of `st.text()`. There it is the characters of UTF-8, whose table takes each process two seconds."""
