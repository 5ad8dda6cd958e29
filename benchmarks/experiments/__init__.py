"""Experiments after Sphinteract (Zhao et al., VLDB 2025): rounds of feedback, clarifying questions, and logs."""
