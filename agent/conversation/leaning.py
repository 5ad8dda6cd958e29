"""Whether a question leans on those before it, as the wording shows; no model is asked."""

import re
from typing import Any

from agent.conversation.form import asks_for_form

_MOST_WORDS_OF_A_REST = 4
"""A question of so few words hardly says all that it asks for."""

_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
_HAN_WORDS = 2
"""Characters of Chinese that a word has on average."""

_BEGINS = re.compile(
    r"(?:and|but|or|so|also|now|then|only|just|instead|what about|how about|why|same|again|"
    r"as (?:an? )?\w+$|in (?:an? )?\w+$|"
    r"exclude|include|limit|"
    r"а|и|но|или|только|лишь|теперь|тогда|ещё|еще|также|почему|в виде|покажи это)(?!\w)"
    r"|那|再|还有|只|仅|改成|换成|为什么|以及|不含",
    re.IGNORECASE,
)
_BEGINS_LIKE_A_PART = re.compile(
    r"(?:sorted|sort|order|group|split|by|per|for|without|with|except|excluding|including|top|first|"
    r"по|без|кроме|отсортируй|сортируй)\b|按|除了|如果",
    re.IGNORECASE,
)
"""How the rest of a question begins, where it is short; a complete one may begin so too."""
_MOST_WORDS_OF_A_PART = 6
_ASKS = re.compile(
    r"(?:how|which|who|whom|whose|where|when|what|list|show|count|give|name|find|display|"
    r"сколько|кто|как(?:ой|ая|ие|ое|ую)|где|когда|что|покажи|назови|перечисли|выведи|найди)\b|"
    r"列出|显示|给出|统计|查询|.{0,8}(?:多少|哪|谁|几)",
    re.IGNORECASE,
)
"""How a question begins that may be short and complete."""
_POINTS_BACK = re.compile(
    r"\b(?:those|these|th(?:at|is)(?= ones?\b|\s*(?:[?.!,]|$))|"
    r"the same|the others?|the rest|above|previous|former|latter|instead|"
    r"эт(?:о|от|а|и|их|ой|ого|им|ими)|т(?:е|ех|от|ой|ого|еми)|"
    r"остальны\w+|предыдущ\w+|вместо)\b|它|他们|她们|它们|这些|那些|其中|上述|上面|刚才|其余|同样",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"(?:\W*\w+){0,3}?\W*\b(?:it|its|they|them|their|he|him|his|she|her|hers|"
    r"он|она|оно|они|его|её|ее|их|ему|ей|им|ими|ними|них)\b",
    re.IGNORECASE,
)
"""A pronoun among the first words; one that comes later stands for what the question names itself."""


def leans_on_turns(question: Any) -> bool:
    """Return whether `question` may need the questions before it to be understood.

    It does where it begins like a rest ("and in 2024?"), points back ("of those"), asks only for another form ("as a
    chart"), or has at most four words and does not begin as questions do. One that only seems to lean costs a call of
    the model and comes back as it is.
    """
    if not isinstance(question, str) or not question.strip():
        return False
    text = question.strip()
    units = _WORD.findall(text)
    count = sum(1 / _HAN_WORDS if "\u3400" <= unit <= "\u9fff" else 1 for unit in units)
    if asks_for_form(text) or text.rstrip("?？").endswith("呢"):
        return True
    if count <= _MOST_WORDS_OF_A_REST and not _ASKS.match(text):
        return True
    if count <= _MOST_WORDS_OF_A_PART and _BEGINS_LIKE_A_PART.match(text):
        return True
    return any((_BEGINS.match(text), _POINTS_BACK.search(text), _PRONOUN.match(text)))
