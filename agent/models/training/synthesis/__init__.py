"""Questions with statements that are made for a schema, of kinds that Spider lacks and users ask."""

from agent.models.training.synthesis.generator import Synthetic, executable, synthesise

__all__ = ["Synthetic", "executable", "synthesise"]
