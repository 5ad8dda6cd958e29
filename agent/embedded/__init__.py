"""The embedded model: server, weights, prompts, compact SQL, grammar, candidates and their selection."""
