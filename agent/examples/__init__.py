"""Few-shot examples from verified queries: validation, selection by similarity, and their rendering in a prompt."""
