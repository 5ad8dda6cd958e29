"""Business knowledge about the sample shop."""

from pathlib import Path

SAMPLE_KNOWLEDGE = Path(__file__).parent / "shop"
"""The folder with the knowledge files of the sample shop."""
