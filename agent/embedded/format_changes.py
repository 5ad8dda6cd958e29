"""Follow-ups that change only the output type of an answer. They need no model."""

import re

from datasphinx.agent.types import OutputType

_PREFIX = r"(?:(?:and|now|please|а|и|теперь|пожалуйста|und|jetzt|bitte|请|现在)[, ]*)*"
_SHOW = (
    r"(?:(?:show|give|display|покажи(?:те)?|zeige?|zeichne)(?: me| мне)? ?)?"
    r"(?:(?:it|this|that|them|these|это|их|es|das|sie) ?)?"
)
_KIND = r"(?:(?:simple|stacked|horizontal|bar|pie|line|column|area|scatter) )*"
_OUTPUT_TYPES: dict[OutputType, tuple[str, ...]] = {
    "plot": (
        rf"(?:(?:as|in|on) )?(?:an? )?{_KIND}(?:chart|plot|graph|diagram)(?: of (?:it|this|them))?(?: please)?",
        r"(?:plot|chart|draw|graph) (?:it|this|that|them|these)",
        r"(?:в виде |как |на )?(?:\w+ )?(?:график\w*|диаграмм\w*|гистограмм\w*)",
        r"(?:als )?\w*(?:diagramm|grafik)",
        r"(?:用|画成|换成)?(?:\w{0,2}图|图表)(?:显示|展示)?",
    ),
    "dataframe": (
        r"(?:as|in) (?:an? |the )?table|als tabelle", r"(?:в виде |как )таблиц\w*", r"(?:用|换成)表格(?:显示|展示)?",
    ),
    "string": (r"as (?:a )?(?:text|sentence)|in words", r"als text|in worten", r"в виде текста|словами", r"用文字表示"),
}  # fmt: skip


def requested_type(question: str) -> OutputType | None:
    """Return the output type that `question` asks for; None if it asks for more, or for none.

    >>> requested_type("And now as a bar chart"), requested_type("as a chart for 2024")
    ('plot', None)
    """
    text = question.strip()
    for output_type, patterns in _OUTPUT_TYPES.items():
        if re.fullmatch(rf"{_PREFIX}{_SHOW}(?:{'|'.join(patterns)})\s*[.!?。！？]*", text, re.IGNORECASE):
            return output_type
    return None
