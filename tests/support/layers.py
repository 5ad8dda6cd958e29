"""The layers of the project."""

LAYERS = """
types messages prompts sample plugins
engines
schema
errors
settings
core
record
state llm sql storage
formatting
charts
run_events retrieval
knowledge
sources
datasets examples queryspec
generation linking
clarify
embedded tools
connect
services routes
answers proposals
conversation
responses analysis
node_runner
nodes
graph analyst
report
chat replay evals
pandas notebook server training
cli
training.__main__
"""
"""Packages and root modules, those of `agent` without its name. Each imports only from lines above its own."""
