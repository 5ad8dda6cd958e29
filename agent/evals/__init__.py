"""Evaluation on questions with known SQL: datasets, execution match, reports and experiments."""
