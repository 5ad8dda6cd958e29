"""Reads grammars in GBNF; says whether they accept a text, and draws texts from them."""

import os.path
import random
import re
import string
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

Node = tuple[Any, ...]

_TOKEN = re.compile(r'\s*("(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|[a-zA-Z][a-zA-Z0-9-]*|\{\d+(?:,\d+)?\}|[()|*+?])')
_ESCAPE = re.compile(r"\\(U[0-9a-f]{8}|x[0-9A-F]{2}|.)", re.DOTALL)
_EMPTY: frozenset[int] = frozenset()


class Gbnf:
    """A grammar with one rule on each line."""

    def __init__(self, text: str) -> None:
        self.texts = {}
        for line in text.splitlines():
            name, _, body = line.partition(" ::= ")
            assert name not in self.texts, f"{name} is there twice"
            self.texts[name] = body

    def check(self) -> None:
        """Check that every rule can be read and names only rules that are there."""
        used = {name for body in self.texts.values() for name in _names(_read(body))}
        assert used <= set(self.texts), f"undefined: {used - set(self.texts)}"

    def accepts(self, text: str) -> bool:
        """Return whether `text` is one of the grammar's."""
        return len(text) in _Reading(self.texts, text).of_rule("root", 0)

    def reads_up_to(self, text: str) -> int:
        """Return how many characters of `text` begin a text of the grammar's."""
        reading = _Reading(self.texts, text)
        reading.of_rule("root", 0)
        return reading.furthest

    def draw(self, rng: random.Random, node: Node = ("ref", "root")) -> str:
        """Return a text of the grammar's."""
        kind = node[0]
        if kind == "lit":
            return str(node[1])
        if kind == "chars":
            return rng.choice([char for char in string.printable if node[1].fullmatch(char)])
        if kind == "ref":
            return self.draw(rng, _read(self.texts[node[1]]))
        if kind == "alt":
            return self.draw(rng, rng.choice(node[1]))
        if kind == "seq":
            return "".join(self.draw(rng, part) for part in node[1])
        count = min(node[3], node[2] + int(rng.expovariate(1.2)))
        return "".join(self.draw(rng, node[1]) for _ in range(count))


class _Reading:
    """One text, read by the rules of a grammar."""

    def __init__(self, texts: Mapping[str, str], text: str) -> None:
        self.texts, self.text = texts, text
        self.furthest = 0
        self._known: dict[tuple[str, int], frozenset[int]] = {}

    def of_rule(self, name: str, start: int) -> frozenset[int]:
        """Return where a text of the rule that begins at `start` may end."""
        if (name, start) not in self._known:
            self._known[name, start] = self._ends(_read(self.texts[name]), start)
        return self._known[name, start]

    def _ends(self, node: Node, start: int) -> frozenset[int]:
        kind = node[0]
        if kind == "lit":
            return self._literal(node[1], start)
        if kind == "chars":
            return frozenset({start + 1}) if node[1].fullmatch(self.text[start : start + 1]) else _EMPTY
        if kind == "ref":
            return self.of_rule(node[1], start)
        if kind == "alt":
            return _EMPTY.union(*(self._ends(part, start) for part in node[1]))
        return self._sequence(node[1], start) if kind == "seq" else self._repeated(node, start)

    def _literal(self, wanted: str, start: int) -> frozenset[int]:
        same = len(os.path.commonprefix([wanted, self.text[start : start + len(wanted)]]))
        self.furthest = max(self.furthest, start + same)
        return frozenset({start + same}) if same == len(wanted) else _EMPTY

    def _sequence(self, parts: list[Node], start: int) -> frozenset[int]:
        here = frozenset({start})
        for part in parts:
            here = self._each(part, here)
        return here

    def _repeated(self, node: Node, start: int) -> frozenset[int]:
        _, inner, low, high = node
        here = frozenset({start})
        found = here if low == 0 else _EMPTY
        for count in range(1, high + 1):
            here = self._each(inner, here)
            found = found | here if count >= low else found
            if not here:
                break
        return found

    def _each(self, node: Node, starts: frozenset[int]) -> frozenset[int]:
        return _EMPTY.union(*(self._ends(node, start) for start in starts))


@lru_cache(maxsize=200_000)
def _read(body: str) -> Node:
    tokens = _TOKEN.findall(body)
    assert "".join(tokens).replace(" ", "") == body.replace(" ", ""), body
    node = _alternatives(tokens)
    assert not tokens, body
    return node


def _names(node: Node) -> set[str]:
    if node[0] == "ref":
        return {node[1]}
    parts = {"seq": node[1], "alt": node[1], "rep": [node[1]]}.get(node[0], ())
    return {name for part in parts for name in _names(part)}


def _alternatives(tokens: list[str]) -> Node:
    found = [_sequence(tokens)]
    while tokens and tokens[0] == "|":
        tokens.pop(0)
        found.append(_sequence(tokens))
    return ("alt", found) if len(found) > 1 else found[0]


def _sequence(tokens: list[str]) -> Node:
    parts = []
    while tokens and tokens[0] not in "|)":
        parts.append(_repeated(_atom(tokens), tokens))
    assert parts
    return ("seq", parts)


def _atom(tokens: list[str]) -> Node:
    token = tokens.pop(0)
    if token == "(":
        inner = _alternatives(tokens)
        assert tokens.pop(0) == ")"
        return inner
    if token[0] == '"':
        return ("lit", _ESCAPE.sub(_unescaped, token[1:-1]))
    return ("chars", re.compile(token)) if token[0] == "[" else ("ref", token)


def _repeated(node: Node, tokens: list[str]) -> Node:
    if tokens and tokens[0] == "?":
        tokens.pop(0)
        return ("rep", node, 0, 1)
    if tokens and tokens[0][0] == "{":
        low, _, high = tokens.pop(0)[1:-1].partition(",")
        return ("rep", node, int(low), int(high or low))
    assert not tokens or tokens[0] not in "*+", "unbounded"
    return node


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return {"n": "\n", "r": "\r", "t": "\t"}.get(code) or (chr(int(code[1:], 16)) if len(code) > 1 else code)
