"""What a command gives in a test."""

from collections.abc import Callable

Run = Callable[..., tuple[int, str, str]]
"""Takes the arguments of `datasphinx`; gives exit code, standard output and standard error."""
