"""Questions of a conversation, read by their wording: for models that only write statements."""

import re
from collections.abc import Sequence
from typing import Any

from datasphinx.agent.embedded.chart_words import asked_form
from datasphinx.agent.embedded.format_changes import requested_type
from datasphinx.agent.embedded.greetings import asks_for_change, asks_for_help, is_greeting
from datasphinx.agent.generation.follow_ups import AskedForm, FollowUps, ReadQuestion, joined, shown_again
from datasphinx.agent.messages import Message
from datasphinx.agent.record.step import note
from datasphinx.agent.schema.words import UNIT
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import OutputType, Result, Turn

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


class FollowUpsByWords(FollowUps):
    """The reading for models whose prompts have no conversation."""

    def objection(self, question: str) -> Message | None:
        """Return why greetings, thanks, questions for help and requests to change data get no rows."""
        if asks_for_change(question):
            return Message("only_reads")
        return Message("not_about_data") if is_greeting(question) or asks_for_help(question) else None

    def asked_form(self, question: str) -> AskedForm:
        """Return the chart that `question` names."""
        return asked_form(question)

    def read(self, question: str, turns: Sequence[Turn]) -> ReadQuestion:
        """Return the last question and `question` as one if `question` depends on it."""
        if not is_follow_up(question):
            return ReadQuestion(question, None)
        standalone = joined(turns[-1]["question"], question)
        if standalone != question:
            note(f"read as: {standalone}")
        return ReadQuestion(standalone, turns[-1])

    def reformatted(
        self, question: str, last: Turn, rows: Result | None, requested: OutputType | None, source: Source
    ) -> dict[str, Any] | None:
        """Return the last result as another output type."""
        output_type = requested_type(question)
        if output_type is None:
            return None
        note("the last result was reformatted without the model")
        result = rows or source.execute(last["sql"])
        return {**shown_again(last, question, result), "given": {"output_type": requested or output_type}}


def is_follow_up(question: str) -> bool:
    """Return whether `question` may depend on the questions before it.

    True for a continuation ("and in 2024?"), a back reference ("of those"), a request for another format ("as a
    chart"), and for at most four words that do not begin like a question. False for a greeting, thanks, or a question
    for help.

    >>> is_follow_up("And in 2024?"), is_follow_up("How many customers are there?")
    (True, False)
    """
    text = question.strip()
    if is_greeting(text) or asks_for_help(text):
        return False
    units = UNIT.findall(text)
    count = sum(1 / _HAN_CHARS_PER_WORD if "\u3400" <= unit <= "\u9fff" else 1 for unit in units)
    if requested_type(text) or text.rstrip("?？").endswith("呢"):
        return True
    if count <= _MAX_FRAGMENT_WORDS and not _QUESTION_START.match(text):
        return True
    if count <= _MAX_CLAUSE_WORDS and _CLAUSE_START.match(text):
        return True
    return any((_CONTINUATION_START.match(text), _BACK_REFERENCE.search(text), _PRONOUN.match(text)))
