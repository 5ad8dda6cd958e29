"""Remove the reasoning of a model from its output, in the formats of the common models."""

import re

from langchain_core.messages import AIMessage

from datasphinx.agent.llm.json_text import parse_or_none

_TAG_NAMES = (
    r"(?:\w+:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflect(?:ion)?|analysis|scratch_?pad|inner_?monologue)"
)
_REASONING_TAG = re.compile(
    rf"<(?P<close>/)?(?P<name>{_TAG_NAMES})\b[^<>]*>|\[(?P<close2>/)?(?P<name2>THINK)\]|◁(?P<close3>/)?(?P<name3>think)▷|"
    r"<\|(?:(?P<open4>begin_of|START)|(?P<close4>end_of|END))_(?P<name4>thought|THINKING)\|>",
    re.IGNORECASE,
)
"""The marks around the reasoning of a model: tags of several names, Magistral, Kimi, and Cohere and OpenThinker."""

_HARMONY = re.compile(
    r"(?:<\|start\|>assistant(?P<recipient>[^<]*))?<\|channel\|>\s*(?P<channel>\w+)(?P<header>[^<]*)"
    r"(?:<\|constrain\|>[^<]*)?<\|message\|>(?P<text>.*?)"
    r"(?=<\|(?:end|return|call|start|channel)\|>|\Z)",
    re.DOTALL,
)
_HARMONY_WITHOUT_MARKS = re.compile(r"^\s*analysis.*assistant\s*(?:final|commentary)(?=\W|[A-Z])", re.DOTALL)
_CHANNEL = re.compile(r"<\|channel>thought.*?(?:<channel\|>|\Z)", re.DOTALL)
"""The reasoning of Gemma 4."""
_GRANITE = re.compile(r"^\s*Here(?: is|'s) my thought process:.*?(?:Here(?: is|'s) my response:|\Z)", re.DOTALL)
_SPECIAL_TOKEN = re.compile(r"<\|(?:start|end|return|call|im_end|eot_id|endoftext)\|>(?:assistant)?")


def without_reasoning(text: str) -> str:
    """Return `text` without the reasoning of the model, which may contain rejected statements.

    Reasoning without an end is removed up to the end of the text, and reasoning without a beginning from its start: if
    the chat template opens the tag in the prompt, only the closing tag remains.

    >>> without_reasoning("<thought>SELECT 7? No.</thought>SELECT 8")
    'SELECT 8'
    >>> without_reasoning("<|channel|>analysis<|message|>SELECT 7?<|end|><|channel|>final<|message|>SELECT 8")
    'SELECT 8'
    """
    if isinstance(parse_or_none(text), dict):
        return text
    if "<|channel|>" in text:
        # A header names the tool that a message calls.
        text = "\n".join(
            f"{part['recipient'] or ''}{part['header']}{part['text']}"
            for part in _HARMONY.finditer(text)
            if part["channel"].lower() != "analysis"
        )
    for pattern in (_SPECIAL_TOKEN, _HARMONY_WITHOUT_MARKS, _CHANNEL, _GRANITE):
        text = pattern.sub("", text)
    answer, open_tags, end = "", list[str](), 0
    for tag in _REASONING_TAG.finditer(text):
        name = (tag["name"] or tag["name2"] or tag["name3"] or tag["name4"]).lower()
        if not open_tags:
            answer += text[end : tag.start()]
        if not (tag["close"] or tag["close2"] or tag["close3"] or tag["close4"]):
            open_tags.append(name)
        elif name in open_tags:
            del open_tags[open_tags.index(name) :]
        elif not open_tags:
            answer = ""
        end = tag.end()
    return answer if open_tags else answer + text[end:]


def has_reasoning(answer: AIMessage) -> bool:
    """Return whether a reply has reasoning in its text or in a field of its own, or tokens that count as reasoning."""
    usage = answer.usage_metadata
    if answer.response_metadata.get("reasoning_fields") or (
        usage and usage.get("output_token_details", {}).get("reasoning")
    ):
        return True
    return without_reasoning(answer.text) != _SPECIAL_TOKEN.sub("", answer.text)
