"""Greetings, thanks and questions for help, which ask for no data."""

import re
from functools import cache

from agent.grounding.vocabulary import all_vocabularies


def is_greeting(text: str) -> bool:
    """Return whether `text` consists only of greetings or thanks, in any language.

    >>> is_greeting("Hello there!"), is_greeting("Спасибо большое"), is_greeting("hi, how many orders?")
    (True, True, False)
    """
    return _greeting().fullmatch(text.strip()) is not None


def asks_for_help(text: str) -> bool:
    """Return whether `text` only asks which questions are possible, in any language.

    >>> asks_for_help("What can I ask?"), asks_for_help("Что можно спросить?"), asks_for_help("What can I ask Ann?")
    (True, True, False)
    """
    return _help().fullmatch(text.strip()) is not None


@cache
def _greeting() -> re.Pattern[str]:
    additions = "|".join(filter(None, _parts("greeting_additions")))
    greetings = "|".join(_parts("greetings"))
    return re.compile(rf"(?!{additions})(?:(?:{greetings}|{additions})[\s,.!?;:)，。！？~]*)+", re.IGNORECASE)


@cache
def _help() -> re.Pattern[str]:
    return re.compile(rf"[\s¿]*(?:{'|'.join(_parts('help'))})[\s,.!?;:，。！？~]*", re.IGNORECASE)


def _parts(name: str) -> list[str]:
    return [getattr(vocabulary.questions, name) for vocabulary in all_vocabularies()]
