"""Experiments as Sphinteract runs them (Zhao et al., VLDB 2025): rounds of feedback, questions asked back, and logs."""
