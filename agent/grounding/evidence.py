"""What a text may state besides the rows of its results: filters, the user's words, and the sizes of the data."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.grounding.numbers import Figure

_ROWS = (
    r"(?:data )?(?:rows?|records?|lines?|entries)\b",
    r"(?:строк[аиу]?|запис(?:ь|и|ей)|строчек)(?!\w)",
    r"(?:行|条(?:记录|数据)?|笔)",
)
_COLUMNS = (r"(?:columns?|fields?)\b", r"(?:столб\w+|колон\w+|пол(?:е|я|ей))(?!\w)", r"(?:个)?(?:列|字段)")
_SHEETS = (
    r"(?:work)?sheets?\b|tabs?\b", r"(?:лист(?:а|ов|е|ах)?)(?!\w)", r"(?:个|张)?(?:工作表|表单|表格页|sheet)",
)  # fmt: skip
_FILES = (r"(?:files?|tables?|datasets?)\b", r"(?:файл\w*|таблиц\w*)(?!\w)", r"(?:个)?(?:文件|数据集|表)")
_NOUNS = {"rows": _ROWS, "columns": _COLUMNS, "sheets": _SHEETS, "files": _FILES}
_AFTER = {
    name: re.compile(rf"\s*(?:[^\W\d]+\s)?(?:{'|'.join(nouns)})", re.IGNORECASE) for name, nouns in _NOUNS.items()
}
_BEFORE = {
    name: re.compile(
        rf"(?:{'|'.join(nouns)})(?:\s(?:number|count|total)s?)?\s?(?:is|are|of|共|共有|有|[:：=—–-])?\s?$",
        re.IGNORECASE,
    )
    for name, nouns in _NOUNS.items()
}


@dataclass(frozen=True)
class Evidence:
    """Evidence besides the rows.

    A text that repeats one of `filters`, conditions of the statements in words, claims nothing, and it may state the
    figures of `filters` and `stated`, texts of the user, like those of the question. `sizes` has the numbers of `rows`,
    `columns`, `sheets` and `files` of the data.
    """

    filters: tuple[str, ...] = ()
    stated: tuple[str, ...] = ()
    sizes: Mapping[str, frozenset[int]] = field(default_factory=dict)

    def is_size(self, figure: Figure, text: str) -> bool:
        """Return whether `figure` is the size of the data that the noun beside it names, as in "4,393 rows"."""
        return figure.is_whole and any(
            figure.value in known
            and (_AFTER[name].match(text, figure.end) or _BEFORE[name].search(text, 0, figure.start))
            for name, known in self.sizes.items()
        )


NO_EVIDENCE = Evidence()
