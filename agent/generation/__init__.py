"""Generation of a statement: prompts, one attempt, its execution, the effort, and the abilities of a model."""
