"""Grammars in GBNF that restrict what the embedded model can write."""
