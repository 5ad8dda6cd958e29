"""Helpers for GBNF, the grammar notation of llama.cpp: literals and choices with shared prefixes.

Notation: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
"""

import os.path
from collections.abc import Iterable, Mapping
from itertools import groupby

_ESCAPES = str.maketrans({'"': r"\"", "\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"})


def literal(text: str) -> str:
    r"""Return `text` as a GBNF literal.

    >>> print(literal('say "hi"'))
    "say \"hi\""
    """
    escaped = text.translate(_ESCAPES)
    return '"' + "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in escaped) + '"'


def choice(texts: Mapping[str, str] | Iterable[str]) -> str:
    """Return a rule that matches one of `texts`; in a mapping, each text is followed by its value, a part of a rule.

    Common prefixes are written once, because the sampler tracks every open alternative.
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
