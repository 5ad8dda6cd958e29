"""GBNF, llama.cpp's notation of grammars: literals, and choices in which what begins alike is written once.

Notation: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
"""

import os.path
from collections.abc import Iterable, Mapping
from itertools import groupby

_ESCAPES = {'"': r"\"", "\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"}


def literal(text: str) -> str:
    """Return `text` as a literal."""
    return '"' + "".join(_ESCAPES.get(char, char if char.isprintable() else _code(char)) for char in text) + '"'


def choice(texts: Mapping[str, str] | Iterable[str]) -> str:
    """Return alternatives: one of `texts`; in a mapping, each followed by what it maps to, a part of a rule.

    Texts that begin alike share their beginning: the sampler follows every alternative that is still open.
    """
    following = dict(texts) if isinstance(texts, Mapping) else dict.fromkeys(texts, "")
    groups = [list(group) for _, group in groupby(sorted(following), key=lambda text: text[:1])]
    return " | ".join(_branch({text: following[text] for text in group}) for group in groups)


def _branch(following: Mapping[str, str]) -> str:
    if len(following) == 1:
        ((text, after),) = following.items()
        return f"{literal(text)} {after}".strip()
    prefix = os.path.commonprefix(list(following))
    rest = {text.removeprefix(prefix): after for text, after in following.items()}
    ending = rest.pop("", None)
    if ending:
        return f"{literal(prefix)} ({ending} | {choice(rest)})"
    return f"{literal(prefix)} ({choice(rest)})" + ("?" if ending == "" else "")


def _code(char: str) -> str:
    return f"\\U{ord(char):08x}"
