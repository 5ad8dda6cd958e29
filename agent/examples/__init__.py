"""Few-shot examples: validation, storage, selection by similarity, and their rendering in a prompt."""
