"""Synthetic questions with statements for a schema, of kinds that users ask and Spider lacks."""

from training.synthesis.generator import Synthetic, executable, synthesise

__all__ = ["Synthetic", "executable", "synthesise"]
