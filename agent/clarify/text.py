"""A clarifying question as text."""

from agent.answers.text import format_cell
from agent.clarify.types import ClarifyingQuestion, Option
from agent.messages import language_of, render


def question_text(asked: ClarifyingQuestion) -> str:
    """Return the question with its options, numbered from 1, in its own language."""
    language = language_of(asked["about"])
    lines = [f"{number}. {option_text(option, asked)}" for number, option in enumerate(asked["options"], 1)]
    return "\n".join([asked["question"], *lines, f"({render('own_words', language)})"])


def option_text(option: Option, asked: ClarifyingQuestion) -> str:
    """Return an option with what it leads to: the number of rows and the first value, where they are known."""
    language, preview = language_of(asked["about"]), option["preview"]
    if preview is None:
        return option["label"]
    count = f"{preview['rows']}{'+' if preview['more'] else ''}"
    if preview["first"] is None:
        return f"{option['label']} ({render('preview_rows', language, count=count)})"
    first = format_cell(preview["first"], language)
    return f"{option['label']} ({render('preview_first', language, count=count, first=first)})"
