"""Business knowledge: entries from YAML files, their check against a source, and the entries a question refers to."""
