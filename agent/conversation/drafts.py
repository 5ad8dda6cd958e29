"""Drafts of an answer: the text that a model is writing, from the pieces of a stream of messages."""

from collections.abc import Iterator

from langchain_core.messages import BaseMessage
from langchain_core.utils.json import parse_partial_json
from typing_extensions import TypedDict


class DraftPiece(TypedDict):
    """More text of a draft. Drafts are counted from 1; a piece of the next one says that the last one was rejected."""

    draft: int
    text: str


class Drafts:
    """Reads the drafts of one run. The model writes each as JSON with the field `answer`."""

    def __init__(self) -> None:
        """Start without a draft."""
        self._id: str | None = None
        self._json = ""
        self._text = ""
        self._count = 0

    def read(self, message: BaseMessage) -> Iterator[DraftPiece]:
        """Yield the text that `message`, a part of a stream of the mode "messages", adds to a draft, if any."""
        if message.id != self._id:
            self._id, self._json, self._text = message.id, "", ""
        self._json += str(message.text)
        start = self._json.find("{")
        if start < 0:
            return
        try:
            answer = parse_partial_json(self._json[start:])
        except ValueError:
            return
        text = answer.get("answer") if isinstance(answer, dict) else None
        if isinstance(text, str) and len(text) > len(self._text) and text.startswith(self._text):
            if not self._text:
                self._count += 1
            added, self._text = text[len(self._text) :], text
            yield DraftPiece(draft=self._count, text=added)
