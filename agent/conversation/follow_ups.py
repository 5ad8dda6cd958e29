"""Follow-up questions: detection by wording, and rewriting as a standalone question."""

import re
from collections.abc import Sequence
from typing import Any

import prompts
from agent.conversation.format_changes import asks_for_format
from agent.conversation.greetings import asks_for_help, is_greeting
from agent.core.text import clean_question
from agent.errors import InvalidQuestion, ModelAnswerUnreadable, QuestionTooLong
from agent.llm.client import ModelClient
from agent.llm.schemas import StandaloneQuestion
from agent.record.step import note
from agent.schema.describe import one_line
from agent.schema.words import UNIT
from agent.types import Turn

_MAX_FRAGMENT_WORDS = 4
"""A question of at most this many words is a fragment unless it begins with a question word or a command."""

_HAN_CHARS_PER_WORD = 2
"""Average number of characters of a Chinese word."""

_CONTINUATION_START = re.compile(
    r"(?:and|but|or|so|also|now|then|only|just|instead|what about|how about|why|same|again|"
    r"as (?:an? )?\w+$|in (?:an? )?\w+$|"
    r"exclude|include|limit|round(?:ed)?|(?:show|give|use|display|with|in|to) (?:\w+ ){0,2}decimals?(?: places)?|"
    r"а|и|но|или|только|лишь|теперь|тогда|ещё|еще|также|почему|в виде|покажи это|"
    r"округли(?:те)?|(?:покажи |с )?(?:\w+ )?(?:знак\w*|цифр\w*) после запятой|"
    r"und|aber|oder|auch|jetzt|dann|nur|stattdessen|was ist mit|wie sieht es (?:mit|bei|in)|warum|noch ?mal|"
    r"als (?:eine? )?\w+$|ohne|runde|mit \w+ (?:nachkomma|dezimal)stellen?)(?!\w)"
    r"|那|再|还有|只|仅|改成|换成|为什么|以及|不含|保留.{1,3}位小数|四舍五入",
    re.IGNORECASE,
)
_CLAUSE_START = re.compile(
    r"(?:sorted|sort|order|group|split|by|per|for|without|with|except|excluding|including|top|first|"
    r"по|без|кроме|отсортируй|сортируй|sortiert|sortiere|nach|für|außer|inklusive)\b|按|除了|如果",
    re.IGNORECASE,
)
"""Start of a clause that modifies an earlier question; a complete question may start the same way."""
_MAX_CLAUSE_WORDS = 6
_QUESTION_START = re.compile(
    r"(?:how|which|who|whom|whose|where|when|what|list|show|count|give|name|find|display|"
    r"сколько|кто|как(?:ой|ая|ие|ое|ую)|где|когда|что|покажи|назови|перечисли|выведи|найди|"
    r"wie|was|wer|wen|wem|wessen|welche[rsnm]?|wo|wann|zeige?|nenne|liste|gib|finde|zähle)\b|"
    r"列出|显示|给出|统计|查询|.{0,8}(?:多少|哪|谁|几)",
    re.IGNORECASE,
)
"""Start of a question that may be short and complete."""
_BACK_REFERENCE = re.compile(
    r"\b(?:those|these|th(?:at|is)(?= ones?\b|\s*(?:[?.!,]|$))|"
    r"the same|the others?|the rest|above|previous|former|latter|instead|"
    r"эт(?:о|от|а|и|их|ой|ого|им|ими)|т(?:е|ех|от|ой|ого|еми)|"
    r"остальны\w+|предыдущ\w+|вместо|davon|darunter|dieselben?|denselben|"
    r"die (?:anderen|übrigen|restlichen)|der rest|stattdessen|(?:vorherig|obig|letzter)e[nrs]?)\b|"
    r"它|他们|她们|它们|这些|那些|其中|上述|上面|刚才|其余|同样",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"(?:\W*\w+){0,3}?\W*\b(?:it|its|they|them|their|he|him|his|she|her|hers|"
    r"он|она|оно|они|его|её|ее|их|ему|ей|им|ими|ними|них|er|ihn|ihm|ihnen|deren|dessen|seine[nrsm]?)\b",
    re.IGNORECASE,
)
"""A pronoun among the first four words; a later pronoun usually refers to a noun of the same question."""

_PROMPT_SQL_CHARS = 1000
_SEPARATOR = " → "
"""Joins two questions into one, in every language."""


def is_follow_up(question: Any) -> bool:
    """Return whether `question` may depend on the questions before it.

    True for a continuation ("and in 2024?"), a back reference ("of those"), a request for another format ("as a
    chart"), and for at most four words that do not begin like a question. A false positive costs one model call, which
    returns the question unchanged. False for a greeting, thanks, or a question for help.

    >>> is_follow_up("And in 2024?"), is_follow_up("How many customers are there?")
    (True, False)
    """
    if not isinstance(question, str) or not question.strip():
        return False
    text = question.strip()
    if is_greeting(text) or asks_for_help(text):
        return False
    units = UNIT.findall(text)
    count = sum(1 / _HAN_CHARS_PER_WORD if "\u3400" <= unit <= "\u9fff" else 1 for unit in units)
    if asks_for_format(text) or text.rstrip("?？").endswith("呢"):
        return True
    if count <= _MAX_FRAGMENT_WORDS and not _QUESTION_START.match(text):
        return True
    if count <= _MAX_CLAUSE_WORDS and _CLAUSE_START.match(text):
        return True
    return any((_CONTINUATION_START.match(text), _BACK_REFERENCE.search(text), _PRONOUN.match(text)))


def rewrite_standalone(
    question: str, turns: Sequence[Turn], model: ModelClient | None, max_chars: int, instructions: str
) -> str:
    """Return `question` rewritten so that it can be understood without `turns`, by one model call.

    `instructions` is the operator's text for prompts. Without a model, or if it returns no usable question, the last
    question and the new one are joined; if they have more than `max_chars` characters together, `question` is returned.

    Raises:
        ModelUnreachable, ModelRejected, BudgetExceeded: see `ModelClient.ask`.
    """
    both_questions = f"{turns[-1]['question']}{_SEPARATOR}{question}"
    standalone = _rewrite_with_model(question, turns, model, max_chars, instructions) if model else None
    standalone = standalone or (both_questions if len(both_questions) <= max_chars else question)
    if standalone != question:
        note(f"read as: {standalone}")
    return standalone


def _rewrite_with_model(
    question: str, turns: Sequence[Turn], model: ModelClient, max_chars: int, instructions: str
) -> str | None:
    history = "\n".join(f"- {turn['question']}\n  {one_line(turn['sql'], _PROMPT_SQL_CHARS)}" for turn in turns)
    messages = prompts.render("rewrite_question", instructions=instructions, turns=history, question=question)
    try:
        rewritten = model.ask(StandaloneQuestion, messages).question
        return clean_question(rewritten, max_chars)
    except (ModelAnswerUnreadable, InvalidQuestion, QuestionTooLong) as error:
        note(f"the question could not be rewritten: {error}")
        return None
