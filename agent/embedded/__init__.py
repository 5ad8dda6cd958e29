"""The embedded model: server, weights, prompts, compact SQL, grammar, candidates and voting."""
