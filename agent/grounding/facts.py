"""The values of results: columns by content, rows by their names and periods, and computed numbers."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from statistics import fmean, median
from typing import Any, Literal, NamedTuple

from agent.grounding.amounts import amounts_of
from agent.grounding.dates import Period, part_named, periods_of, periods_of_row, years_alone, years_of
from agent.grounding.measures import kinds_of, measures_of
from agent.grounding.numbers import factors_named, figures_of
from agent.grounding.stems import stem
from agent.grounding.vocabulary import Vocabulary, all_vocabularies
from agent.messages import LANGUAGES, render
from agent.types import Result

_LARGEST = 1e300
_LONGEST_NAME = 80
_NO_VALUE = tuple(render("answer_no_value", language) for language in LANGUAGES)
"""The name of a row without a name in an answer, in every language."""
_LONGEST_CHINESE_NAME = 40
_MAX_ROWS = 2_000
"""Maximum number of rows that are read; a longer result counts as truncated. This limits the time of a check."""
_TOKEN = re.compile(r"\d+|[^\W\d_\u3400-\u9fff]+|[\u3400-\u9fff]+")
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_CAMEL = re.compile(r"(?<=[a-zа-я])(?=[A-ZА-Я])|(?<=[A-Za-zА-Яа-я])(?=(?:19|20)\d\d(?!\d))")
"""The start of a word or a year within a name, as in `unitsSold` and `sales2021`."""
_IDENTIFIER = re.compile(
    r"(?:^|[_\s])(?:id|ids|no|nr|num|number|code|sku|zip|phone|номер|код|ид|артикул|inn|инн|hour|season|round|phase|floor|level|version|час|сезон|тур|этаж|класс)$|编号|代码|号码|^(?:赛季|轮次|楼层|版本)$|^№|ID$",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"(?<![a-z])(?:rates?|ratios?|shares?|percent(?:age)?|pct|perc|margins?|growth|churn|discount|conversion|ctr|yield|utili[sz]ation"
    r"|occupancy|vat|change|yoy|mom|satisfaction)(?![a-z])|%"
    r"|(?<![а-я])(?:дол[яи]|процент|проц|рентабельн|марж|конверси|рост|прирост|темп|изменени|загрузк|скидк|коэф|удовлетв)"
    r"|率|占比|比例|比重|增长|增幅|增速|同比|环比|百分|折扣|满意",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"(?<![a-z])(?:changed?|growth|diff|difference|delta|yoy|mom|increase|decrease|variance|trend)(?![a-z])"
    r"|(?<![a-z])net (?:adds?|additions?|new|flow|migration)(?![a-z])"
    r"|(?<![а-я])(?:изменени|рост|прирост|динамик|отклонени|разниц)|增长|变化|增幅|增速|同比|环比|差",
    re.IGNORECASE,
)
_GENERIC_STEMS = {
    "total",
    "rate",
    "sum",
    "count",
    "cnt",
    "n",
    "num",
    "number",
    "avg",
    "averag",
    "mean",
    "amount",
    "valu",
    "max",
    "min",
    "qty",
    "all",
    "of",
    "per",
    "by",
    "in",
    "the",
    "pct",
    "percent",
    "usd",
    "eur",
    "rub",
    "gbp",
    "kg",
    "month",
    "year",
    "day",
    "and",
    "to",
    "k",
    "mln",
    "m",
    "сумм",
    "колич",
    "количеств",
    "общ",
    "средн",
    "числ",
    "кол",
    "во",
    "по",
    "в",
    "на",
    "за",
    "итог",
    "все",
    "всег",
    "руб",
    "тыс",
    "млн",
    "проц",
    "процент",
    "шт",
    "лет",
    "is",
    "or",
    "new",
}
_NO_ALIAS = {
    "new",
    "the",
    "and",
    "all",
    "one",
    "two",
    "pro",
    "max",
    "plus",
    "company",
    "group",
    "store",
    "shop",
    "city",
    "north",
    "south",
    "east",
    "west",
    "republic",
    "united",
    "san",
    "saint",
    "санкт",
    "нижний",
    "новый",
    "великий",
}
_SUFFIXES = (
    "地区",
    "公司",
    "分公司",
    "部门",
    "部",
    "市",
    "省",
    "区",
    "店",
    "县",
    "组",
    "科",
    "类",
    "仓",
    "路",
    "班",
    "小学",
    "中学",
    "集团",
    "品牌",
)

ORDERED = re.compile(
    r"day|season|сезон|赛季|week|hour|stage|step|period|ден|дн|недел|час|этап|星期|周|日|时|阶段", re.IGNORECASE
)
"""Names of columns whose rows are in chronological order."""

_CURRENCY = re.compile(r"USD|EUR|GBP|RUB|CNY|JPY|KZT")
_EARLY = re.compile(
    r"\b(?:before|old|previous|prev|prior|start|begin|opening|last)\b|(?<!\w)(?:до|было|начал\w*|прошл\w*|стар\w*)(?!\w)"
    r"|之前|前|年初|期初|月初|去年|上年|原",
    re.IGNORECASE,
)
_LATE = re.compile(
    r"\b(?:after|new|current|curr|now|end|closing|this)\b|(?<!\w)(?:после|стало|кон\w*|текущ\w*|нов\w*)(?!\w)"
    r"|之后|后|年末|期末|月末|今年|本年|现",
    re.IGNORECASE,
)
"""Words in the names of two columns with the same metric at two times."""

Kind = Literal["label", "period", "metric", "other"]


_GAP = re.compile(r"[^,;:!?()]{0,3}")
"""Characters between two words of a name."""
_ENDING = re.compile(
    "(?:[аяыиеуюоьй]|о[йм]|е[йм]|а[мх]|я[мх]|ами|ями|ов|ев|[иы]й|ая|яя|ое|ее|ые|ие|[ое]го|[ое]му|[иы][мх]|[ую]ю|ью|и[яиюей]|ией|ыми|ими|цы|цев|цам|ца|цу|цем|ок|ка|ки|ку|ком|"
    ")"
)


@lru_cache(maxsize=50_000)
def same_word(one: str, two: str) -> bool:
    """Return whether two lower-case words are forms of the same word, by their stems, in Russian also by their endings.

    >>> same_word("sale", "sales"), same_word("москва", "москвы"), same_word("sale", "salt")
    (True, True, False)
    """
    if one == two or stem(one) == stem(two):
        return True
    if not ("а" <= one[:1] <= "я" and one[:3] == two[:3]):
        return False
    size = next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    return size >= max(3, min(len(one), len(two)) - 2) and bool(
        _ENDING.fullmatch(one[size:]) and _ENDING.fullmatch(two[size:])
    )


_ADJECTIVE = re.compile("([а-я]{4,})ск(?:ий|ая|ое|ие|их|ого|ой|им|ом|ую|ими|ому)")
"""Russian adjectives, some of which are formed from names of places."""
_COMBINING = ("авто", "авиа", "мото", "вело", "электро", "теле", "радио", "агро", "аэро", "гидро", "тепло", "фото")
"""First parts of Russian compounds, which may abbreviate a longer name."""


@lru_cache(maxsize=50_000)
def _same_beginning(one: str, two: str) -> bool:
    """Return whether two lower-case Russian words begin with the same first part of a compound."""
    return one[:1] > "z" and one != two and any(one.startswith(part) and two.startswith(part) for part in _COMBINING)


@lru_cache(maxsize=50_000)
def alike(one: str, two: str) -> bool:
    """Return whether two stems have the same root: equal, or of similar length with the same first five letters.

    >>> alike("region", "regional"), alike("region", "reason")
    (True, False)
    """
    if one == two:
        return True
    size = 5 if one[:1].isascii() else 4
    enough = len(one) > size and len(two) > size or not one.isascii() and min(len(one), len(two)) == size
    return enough and one[:size] == two[:size] and abs(len(one) - len(two)) <= 3


def stems_of(text: str) -> list[str]:
    """Return the stems of the words of `text`; runs of Chinese characters are unchanged."""
    return [stem(token) for token in _TOKEN.findall(text)]


def number_of(cell: object) -> float | None:
    """Return the value of a numeric cell, or of text that is a number; None for any other cell.

    >>> number_of("12.50"), number_of("12 kg"), number_of(True)
    (12.5, None, None)
    """
    if isinstance(cell, bool) or not isinstance(cell, int | float | str):
        return None
    if isinstance(cell, str) and not re.fullmatch(r"\s*[-+]?\d+(?:\.\d+)?\s*", cell):
        return None
    value = float(cell) if isinstance(cell, str) or abs(cell) < _LARGEST else _LARGEST
    return value if abs(value) < _LARGEST else None


@dataclass
class Column:
    """A column of a result, and the words that a text may use for it."""

    index: int
    name: str
    kind: Kind
    stems: frozenset[str] = frozenset()
    question_currency: Callable[[], str | None] = lambda: None
    """Returns the currency that the question names."""
    factors: frozenset[float] = frozenset()
    """The scales in its name, such as 1e6 for `revenue_mln`; empty without a scale."""
    question_factors: frozenset[float] = frozenset()
    is_rate: bool = False
    is_change: bool = False
    periods: list[Period] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)
    cell_unit: str | None = None
    """The currency of its cells, or "%", if these are texts such as `€ 1.50`."""

    @cached_property
    def measures(self) -> frozenset[str]:
        """The measures in its name, such as "sales"."""
        return measures_of(readable(self.name))

    @cached_property
    def unit(self) -> str | None:
        """The unit of its figures, by its name, or the currency of the question for an amount of money."""
        cell_unit = None if self.cell_unit == "%" else self.cell_unit
        unit = cell_unit or _unit_of(readable(self.name))
        is_money = unit is None and self.measures and self.kinds <= {"money", "price"}
        return self.question_currency() if is_money else unit

    @property
    def is_additive(self) -> bool:
        """Whether totals of the values mean something: not for rates, averages and prices."""
        if self.is_rate and len(self.values) > 1 and not self.is_change:
            whole = sum(value or 0.0 for value in self.values)
            if min(abs(whole - 100), abs(100 * whole - 100)) <= 1 and min(value or 0.0 for value in self.values) >= 0:
                return True
        odd = {"rate", "price", "age", "score", "temperature", "speed"}
        return not (self.is_rate or self.has("average") or self.has("median") or (self.kinds and self.kinds <= odd))

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of its measures, such as "money"."""
        return kinds_of(self.measures)

    def has(self, words: str) -> bool:
        """Return whether the name of the column has a word of the kind `words` of a vocabulary, such as "total"."""
        name = readable(self.name)
        return any(getattr(vocabulary, words).search(name) for vocabulary in all_vocabularies())


def _plain(word: str) -> str:
    return word.lower().replace("ё", "е")


def readable(name: str) -> str:
    """Return the name of a column as words.

    >>> readable("unitsSold_2021")
    'units Sold 2021'
    """
    return _CAMEL.sub(" ", name).replace("_", " ")


@dataclass(frozen=True)
class Mention:
    """A name or period of the rows in a text: its position, the rows that have it, as bits, and its column.

    `dimension` is -1 for a period of rows, and -2 for a period of columns, which `columns` lists.
    """

    start: int
    end: int
    dimension: int
    rows: int
    text: str
    columns: frozenset[int] = frozenset()
    order: tuple[int, ...] = ()


class _Name(NamedTuple):
    """A name of rows, or a part of it that a text may use: its words, column, rows and full text."""

    words: tuple[str, ...]
    column: int
    rows: int
    text: str
    is_part: bool


class Table:
    """One result with its columns and rows. Sets of rows are integers with a bit for each."""

    def __init__(self, result: Result, question: str) -> None:
        self.result = result
        self.question = question
        self._question_factors = frozenset(factors_named([question]))
        names = [readable(name) for name in result["columns"]]
        self._name_periods = [
            periods_of(name) or periods_of(name.title()) or years_alone(name, set(range(1900, 2100))) for name in names
        ]
        self.rows = self._with_numbers_of_periods(result)
        self.truncated = bool(result["truncated"]) or len(result["rows"]) > _MAX_ROWS
        self.row_periods = [list(periods_of_row(dict(zip(result["columns"], row, strict=True)))) for row in self.rows]
        self.question_periods = [*periods_of(question), *chain.from_iterable(self._name_periods)]
        self.question_years = {
            int(year) for text in (question, *names) for year in re.findall(r"(?<!\d)(?:19|20)\d\d(?!\d)", text)
        }
        self.years = (
            years_of([*(period for row in self.row_periods for period in row), *self.question_periods])
            | self.question_years
        )
        self.columns = [self._column(index, name) for index, name in enumerate(result["columns"])]
        for column in self.columns:
            if column.kind == "period" and not part_named(column.name):
                self._add_years(column)
        self.metrics = [column for column in self.columns if column.kind == "metric"]
        self.labels = [column for column in self.columns if column.kind == "label"]
        self.has_row_periods = any(self.row_periods)
        self.all = self._without_totals()

    def _with_numbers_of_periods(self, result: Result) -> list[list[Any]]:
        """Return the rows that are read, with numbers in columns of years, months and so on that have them as text."""
        rows = result["rows"][:_MAX_ROWS]
        for index, name in enumerate(result["columns"]):
            texts = [row[index] for row in rows if row[index] is not None]
            if (
                texts
                and part_named(name)
                and not self._name_periods[index]
                and all(
                    isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= 4 for text in texts
                )
            ):
                rows = [[*row[:index], row[index] and int(row[index]), *row[index + 1 :]] for row in rows]
        return rows

    def _add_years(self, column: "Column") -> None:
        """Treat a column of whole numbers such as `built` as years."""
        for at, value in enumerate(column.values):
            if value is not None:
                self.row_periods[at].append(Period(year=int(value)))
                self.years.add(int(value))

    def _column(self, index: int, name: str) -> Column:
        cells = [row[index] for row in self.rows]
        present = [cell for cell in cells if cell is not None]
        numbers = [number_of(cell) for cell in cells]
        words = readable(name)
        kind: Kind = "other"
        texts = [cell for cell in present if isinstance(cell, str)]
        amounts = None
        if texts and len(texts) == len(present) and None in numbers and not _IDENTIFIER.search(words):
            amounts = None if all(len(text) <= 30 and periods_of(text) for text in texts) else amounts_of(texts)
        if amounts:
            values = iter(amounts.values)
            numbers = [None if cell is None else next(values) for cell in cells]
        numeric = bool(present) and all(
            number is not None for number, cell in zip(numbers, cells, strict=True) if cell is not None
        )
        if numeric:
            part = part_named(name) if not self._name_periods[index] else None
            low, high = {"year": (1900, 2100), "quarter": (1, 4), "month": (1, 12), "day": (1, 31)}.get(
                part or "", (1, 0)
            )
            dated = bool(part) and all(isinstance(cell, int) and low <= cell <= high for cell in present)
            year_like = all(isinstance(cell, int) and 1900 <= cell <= 2100 for cell in present) and len(present) > 1
            if dated or (year_like and (ORDERED.search(words) or not measures_of(words))):
                kind = "period"
            else:
                # Many whole numbers from 0 or 1 on, each once, number the rows.
                whole = {cell for cell in present if isinstance(cell, int)}
                are_row_numbers = (
                    len(present) > 30
                    and len(whole) == len(present) == max(whole) - min(whole) + 1
                    and min(whole) in {0, 1}
                )
                kind = "label" if _IDENTIFIER.search(words) or are_row_numbers else "metric"
        elif present and all(isinstance(cell, str) for cell in present):
            dated = all(len(cell) <= 30 and periods_of(cell) for cell in present)
            kind = "period" if dated else "label"
        tokens = [token for token in stems_of(words) if not token.isdecimal()]
        stems = frozenset(token for token in tokens if token not in _GENERIC_STEMS) or frozenset(tokens[:1])
        return Column(
            index,
            name,
            kind,
            stems,
            lambda: self._question_currency,
            _factors_of(words),
            self._question_factors,
            bool(_RATE.search(words) or (amounts and amounts.unit == "%"))
            and not (_CHANGE.search(words) and max(map(abs, filter(None, numbers)), default=0) > 500),
            bool(_CHANGE.search(words)),
            self._name_periods[index] if kind == "metric" else [],
            numbers,
            amounts.unit if amounts else None,
        )

    @cached_property
    def _question_currency(self) -> str | None:
        """The currency that the question names; None if it names none or several."""
        currencies = set()
        for vocabulary in all_vocabularies():
            for pattern, unit in unit_patterns(vocabulary):
                for match in pattern.finditer(self.question) if _CURRENCY.fullmatch(unit.upper()) else ():
                    first, before = match.group()[0], self.question[: match.start()][-1:]
                    if not (first.isalpha() and first < "\u3400" and before.isalnum()):
                        currencies.add(unit)
        return currencies.pop() if len(currencies) == 1 else None

    @cached_property
    def question_counts(self) -> set[tuple[float, tuple[str, ...]]]:
        """The whole numbers of the question that a noun follows, with the stems of the noun."""
        figures = [figure for figure in figures_of(self.question, with_words=True) if figure.is_whole]
        counts = {(figure.value, noun_after(self.question, figure.end)) for figure in figures}
        return {(value, noun) for value, noun in counts if noun}

    def _without_totals(self) -> int:
        """Return all rows except those with totals of the others."""
        mask = 0
        for at, row in enumerate(self.rows):
            labels = [row[column.index] for column in self.labels]
            total = any(
                isinstance(cell, str) and any(words.total_rows.fullmatch(cell.strip()) for words in all_vocabularies())
                for cell in labels
            )
            mask |= 0 if total else 1 << at
        return mask or (1 << len(self.rows)) - 1

    @cached_property
    def metric_indexes(self) -> frozenset[int]:
        """The indexes of the numeric columns."""
        return frozenset(column.index for column in self.metrics)

    # Rows by their names and periods

    @cached_property
    def _names(self) -> dict[str, list[_Name]]:
        """Names of rows by the first three letters of their first word, longest first."""
        index: dict[str, list[_Name]] = {}
        for column in self.labels:
            for name in self._names_of(column):
                index.setdefault(name.words[0][:3], []).append(name)
        for names in index.values():
            names.sort(key=lambda name: (-len(name.words), name.is_part))
        return index

    def _names_of(self, column: Column) -> Iterable[_Name]:
        """Return the names of a column without Chinese characters, and the parts that occur in one name only."""
        names: dict[tuple[str, ...], _Name] = {}
        parts: dict[tuple[str, ...], list[_Name]] = {}
        own = column.stems | set(stems_of(readable(column.name)))
        for text, rows in self._rows_by_cell(column, _LONGEST_NAME).items():
            words = tuple(_plain(token) for token in _TOKEN.findall(text))
            if not words or _CHINESE.search(text):
                continue
            entry = names.get(words, _Name(words, column.index, 0, text, False))
            names[words] = entry._replace(rows=entry.rows | rows)
            for part in _aliases(text, words):
                if len(part) > 1 or stem(part[0]) not in own:
                    parts.setdefault(part, []).append(_Name(part, column.index, rows, text, True))
        for part, owners in parts.items():
            if len(owners) == 1:
                names.setdefault(part, owners[0])
        return names.values()

    def _rows_by_cell(self, column: Column, longest: int) -> dict[str, int]:
        """Return the rows of each text of a column that has at most `longest` characters, and those without a value."""
        rows: dict[str, int] = {}
        for at, row in enumerate(self.rows):
            cell = row[column.index]
            for text in _NO_VALUE if cell is None else (str(cell),):
                if len(text) <= longest:
                    rows[text] = rows.get(text, 0) | 1 << at
        return rows

    @cached_property
    def _chinese_names(self) -> list[tuple[str, int, int, str]]:
        """Names with Chinese characters and their short forms, longest first: form, column, rows, name."""
        entries: list[tuple[str, int, int, str]] = []
        for column in self.labels:
            cells = self._rows_by_cell(column, _LONGEST_CHINESE_NAME)
            names = {name: rows for name, rows in cells.items() if _CHINESE.search(name)}
            owners: dict[str, list[str]] = {}
            for name in names:
                for suffix in _SUFFIXES if not name.startswith("第") else ():
                    if name.endswith(suffix) and len(name) - len(suffix) >= 2:
                        owners.setdefault(name[: -len(suffix)], []).append(name)
            forms = {name.lower(): name for name in names}
            for form, entries_of_form in owners.items():
                if len(entries_of_form) == 1:
                    forms.setdefault(form.lower(), entries_of_form[0])
            entries += [(form, column.index, names[name], name) for form, name in forms.items()]
        return sorted(entries, key=lambda entry: -len(entry[0]))

    def names_in(self, text: str) -> list[Mention]:
        """Return the names of rows in `text`, the longest match at each word, without those that are metrics."""
        mentions: list[Mention] = []
        lower = text.lower()
        occupied: list[tuple[int, int]] = []
        for form, column, rows, name in self._chinese_names:
            start = lower.find(form)
            while start >= 0:
                end = start + len(form)
                same = [span for span in occupied if span[0] < end and start < span[1]]
                if not same or same == [(start, end)]:
                    occupied.append((start, end))
                    mentions.append(Mention(start, end, column, rows & self.all, name))
                start = lower.find(form, end)
        tokens = [(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text)]
        stems = [_plain(token) for token, _, _ in tokens]
        at = 0
        while at < len(tokens):
            step = 1
            hits = self._matches(at, tokens, stems, text) or self._by_beginning(tokens[at][0], stems[at])
            if hits:
                step = max(len(hit.words) for hit in hits)
                for words, column, rows, name, _ in hits:
                    if len(words) == step and rows & self.all:
                        mentions.append(Mention(tokens[at][1], tokens[at + step - 1][2], column, rows & self.all, name))
            at += step
        return sorted(mentions, key=lambda mention: (mention.start, mention.dimension))

    def _matches(self, at: int, tokens: list[tuple[str, int, int]], stems: list[str], text: str) -> list[_Name]:
        hits = []
        word, start, _ = tokens[at]
        for entry in self._names.get(stems[at][:3], ()):
            form, column, _, name, part = entry
            if len(stems) - at < len(form) or not all(map(same_word, stems[at : at + len(form)], form)):
                continue
            last = tokens[at + len(form) - 1]
            is_exact_text = not name.isdecimal() and text[start : start + len(name)] == name
            if (
                form[0].isdecimal()
                and len(form) == 1
                and not is_exact_text
                and not self._number_is_name(start, last[2], column, text)
            ):
                continue
            pairs = zip(tokens[at:], tokens[at + 1 : at + len(form)], strict=False)
            if any(_GAP.fullmatch(text, one[2], two[1]) is None for one, two in pairs):
                continue
            if len(form) == 1 and not self._is_name(word, start, name, part, column, text):
                continue
            hits.append(entry)
        if len(hits) > 1:
            longest = max(len(hit.words) for hit in hits)
            hits = [hit for hit in hits if len(hit.words) == longest]
            exact = [hit for hit in hits if hit.text.lower() == text[start : start + len(hit.text)].lower()]
            hits = exact or hits
        return hits

    def _by_beginning(self, word: str, root: str) -> list[_Name]:
        """Return the only name with the beginning of a word, such as Mathematics for "Maths"."""
        if len(root) < 4 or any(alike(root, own) for own in self.metric_stems):
            return []
        if adjective := _ADJECTIVE.fullmatch(root):
            beginning = adjective[1][: max(4, len(adjective[1]) - 2)]
            towns = [entry for entry in self._names.get(root[:3], ()) if entry.words[0].startswith(beginning)]
            return towns if len(towns) == 1 else []
        if any(same_word(root, own) for column in self.labels for own in map(_plain, _TOKEN.findall(column.name))):
            return []
        root = root if root in _COMBINING else stem(root)
        if len(root) < 4:
            return []
        entries = [
            entry
            for entry in self._names.get(root[:3], ())
            if len(entry.words) == 1
            and (word[0].isupper() or not entry.text[0].isupper() or _same_beginning(word.lower(), entry.words[0]))
            and (
                entry.words[0].startswith(root)
                or _same_beginning(word.lower(), entry.words[0])
                or (
                    len(entry.words[0]) == 3 and root.startswith(entry.words[0]) and entry.column in self._short_columns
                )
                or (
                    len(entry.words[0]) >= 4
                    and root.startswith(entry.words[0])
                    and len(root) - len(entry.words[0]) <= 3
                )
            )
        ]
        return entries if len(entries) == 1 else []

    @cached_property
    def _short_columns(self) -> set[int]:
        """The columns of abbreviations, such as Mon and Tue."""
        return {column.index for column in self.labels if all(len(str(row[column.index])) <= 4 for row in self.rows)}

    def _number_is_name(self, start: int, end: int, column: int, text: str) -> bool:
        """Return whether a number names a row: after the word of its column, as in "store 12"."""
        words = stems_of(text[max(0, start - 24) : start])
        own = self.columns[column]
        nouns = own.stems | frozenset(stem_ for label in self.labels for stem_ in label.stems)
        cell_words = {token for row in self.rows for token in stems_of(str(row[column]))[:3] if not token.isdecimal()}
        previous = re.search(r"(\d+)\s*(?:,|and|и|和|、)\s*$", text[:start])
        if previous and self._number_is_name(previous.start(1), previous.end(1), column, text):
            return True
        return (
            bool(words)
            and words[-1] in (nouns | cell_words | {"no", "id", "number", "номер"})
            or (
                end - start >= 4
                and own.kind == "label"
                and own.values[0] is not None
                and not re.match(r"\s?[%€$]", text[end:])
            )
        )

    def _is_name(self, word: str, start: int, name: str, part: bool, column: int, text: str) -> bool:
        """Return whether one word is the name of a row and has no other meaning."""
        if word.isdecimal():
            return True
        if part and word.isupper() and len(word) >= 2:
            return True
        if len(word) <= 2 and word not in re.findall(r"\w+", name):
            return False
        if (
            word in {"A", "I", "a", "i"}
            and (start == 0 or text[start - 2 : start] == ". ")
            and re.match(r"\s[a-z]+", text[start + 1 :])
            and not re.match(r"\s(?:has|had|is|was|and|leads?|earned|sold)\b", text[start + 1 :])
        ):
            return False
        if word in {"a", "i"}:
            return False
        words = _TOKEN.findall(name)
        capital = word[0].isupper() or not name[0].isupper() or bool(re.search(r"[«\"“']$", text[:start]))
        if not capital and (stem(word) in self.metric_stems or (part and len(word) < 4)):
            return False
        if (
            part
            and not word[0].isupper()
            and name.split()[0][0].isupper()
            and not (len(word) >= 4 and any(same_word(_plain(word), _plain(end)) for end in (words[0], words[-1])))
        ):
            return False
        return True

    @cached_property
    def metric_stems(self) -> frozenset[str]:
        """The stems of the words in the names of numeric columns."""
        return frozenset(part for column in self.metrics for part in column.stems)

    def periods_in(self, text: str) -> list[Mention]:
        """Return the periods in `text` with their rows or columns; periods outside the table have no rows."""
        periods = periods_of(text)
        occupied = [(period.start, period.end) for period in periods]
        years = [
            year
            for year in years_alone(text, self.years)
            if not any(start < year.end and year.start < end for start, end in occupied)
        ]
        mentions = []
        for period in sorted([*periods, *years], key=lambda item: item.start):
            words = text[period.start : period.end]
            columns = frozenset(
                column.index
                for column in self.metrics
                if any(stored.supports(period, self.question_years) for stored in column.periods)
            )
            rows = self.rows_in(period)
            if columns and not (rows and period.year is None and not any(c.periods for c in self.metrics)):
                mentions.append(Mention(period.start, period.end, -2, self.all, words, columns, period.order))
            elif rows:
                mentions.append(Mention(period.start, period.end, -1, rows, words, order=period.order))
            elif any(stored.supports(period, self.question_years) for stored in self.question_periods) or (
                period.year in self.question_years and period.month is None and period.quarter is None
            ):
                continue
            else:
                mentions.append(Mention(period.start, period.end, -1, 0, words, order=period.order))
        return mentions

    def rows_in(self, period: Period) -> int:
        """Return the rows that lie within `period`, or in its year if the question names its month."""
        years = self.question_years or self._row_years
        month_in_question = any(
            period.month and period.month == other.month and not period.day for other in self.question_periods
        )
        rows = 0
        for at, row_periods in enumerate(self.row_periods):
            if any(
                row_period.supports(period, years)
                or (month_in_question and row_period.is_year and period.year == row_period.year)
                for row_period in row_periods
            ):
                rows |= 1 << at
        return rows & self.all

    @cached_property
    def _row_years(self) -> set[int]:
        return years_of(period for row in self.row_periods for period in row)

    def order_of(self, row: int) -> tuple[int, ...] | None:
        """Return a key that sorts rows by time; None for a row without a period."""
        periods = self.row_periods[row]
        return max((period.order for period in periods if any(period.order)), default=None)

    @cached_property
    def time_steps(self) -> list[tuple[tuple[int, ...], int]]:
        """The periods of the rows in chronological order, each with its rows."""
        steps: dict[tuple[int, ...], int] = {}
        for at in bits(self.all):
            order = self.order_of(at)
            if order is not None:
                steps[order] = steps.get(order, 0) | 1 << at
        return sorted(steps.items())

    # Values

    def values(self, rows: int, column: int) -> list[float]:
        """Return the numbers of `rows` in a column."""
        numbers = self.columns[column].values
        return [value for at in bits(rows) if (value := numbers[at]) is not None]

    @cached_property
    def is_ordered(self) -> bool:
        """Whether the rows have a chronological order, by periods or by names such as days of the week."""
        return len(self.time_steps) > 1 or any(ORDERED.search(readable(column.name)) for column in self.labels)

    @cached_property
    def families(self) -> list[list[Column]]:
        """Columns with the same metric of several periods, such as `loans_2021` and `loans_2022`, by time."""
        groups: dict[frozenset[str], list[Column]] = {}
        for column in self.metrics:
            if column.periods:
                name = readable(column.name)
                for period in column.periods:
                    name = name[: period.start] + " " * (period.end - period.start) + name[period.end :]
                groups.setdefault(frozenset(stems_of(name)), []).append(column)
        pairs: dict[str, dict[bool, Column]] = {}
        for column in self.metrics:
            for pattern, is_late in ((_EARLY, False), (_LATE, True)):
                if not column.periods and pattern.search(readable(column.name)):
                    pairs.setdefault(pattern.sub("", readable(column.name)), {})[is_late] = column
        return [
            *(sorted(group, key=lambda column: column.periods[0].order) for group in groups.values() if len(group) > 1),
            *([pair[False], pair[True]] for pair in pairs.values() if len(pair) == 2),
        ]

    def currencies(self, rows: int) -> set[str]:
        """Return the currencies whose codes, such as USD, occur in the cells of rows."""
        cells = (self.rows[at][column.index] for column in self.labels for at in bits(rows))
        return {cell.lower() for cell in cells if isinstance(cell, str) and _CURRENCY.fullmatch(cell)}

    @cached_property
    def texts(self) -> frozenset[str]:
        """The text cells that contain figures: codes, names, dates."""
        cells = (cell for row in self.rows for cell in row if isinstance(cell, str))
        return frozenset(cell for cell in cells if any(map(str.isdigit, cell)) and number_of(cell) is None)

    def groups(self, dimension: int) -> dict[str, int]:
        """Return the distinct values of a label column with their rows."""
        rows_by_text: dict[str, int] = {}
        for at in bits(self.all):
            cell = self.rows[at][dimension]
            if cell is not None:
                rows_by_text[str(cell)] = rows_by_text.get(str(cell), 0) | 1 << at
        return rows_by_text


def bits(rows: int) -> Iterator[int]:
    """Yield the indexes of the rows in a set of rows."""
    at = 0
    while rows:
        if rows & 1:
            yield at
        rows >>= 1
        at += 1


def aggregates(values: Sequence[float]) -> dict[str, float]:
    """Return total, average and median of `values`; empty without values."""
    if not values:
        return {}
    return {"total": sum(values), "average": fmean(values), "median": median(values)}


_COUNTED = re.compile(r"[ \u00a0]?(?:个|家|名|种|位|张|间)?(?P<noun>[\u4e00-\u9fff]{2}|(?!\d)\w{3,})")


def noun_after(text: str, end: int) -> tuple[str, ...]:
    """Return the stems of the noun after a number that ends at `end`, as in "three regions"; empty without one."""
    match = _COUNTED.match(text, end)
    return tuple(stems_of(match["noun"])) if match else ()


def question_figures(texts: Iterable[str]) -> set[tuple[str, float]]:
    """Return kind and value of each figure in the question and the column names."""
    return {
        (figure.kind, value * figure.factor)
        for text in texts
        for figure in figures_of(text)
        for value, _ in figure.readings
    }


def _aliases(name: str, stems: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the parts of a name of several words that a text may use for it."""
    words = _TOKEN.findall(name)
    if len(words) < 2:
        return
    initials = [word[0].lower() for word in words if word[0].isupper() or word.isupper()]
    if len(initials) >= 2:
        yield ("".join(initials),)
        yield tuple(initials)
    for word, form in zip(words, stems, strict=True):
        if not word.isdecimal() and len(word) >= 3 and word.lower() not in _NO_ALIAS and not _is_number(word):
            yield (form,)
        elif word.isdecimal() and len(word) >= 2:
            yield (form,)
    for size in range(2, len(words)):
        for at in range(len(words) - size + 1):
            yield stems[at : at + size]


@lru_cache(maxsize=5_000)
def _is_number(word: str) -> bool:
    return any(figure.kind == "plain" for figure in figures_of(word, with_words=True))


def _factors_of(words: str) -> frozenset[float]:
    factors = {
        _PREFIXES[match["scale"].lower()]
        for token in re.split(r"[\s_/,()（）]+", words)
        if (match := _PREFIXED.fullmatch(token))
    }
    letters = {_PREFIXES[token] for token in re.split(r"[\s_/,()（）]+", words.lower())[1:] if token in _LETTERS}
    return frozenset(factors | letters | factors_named([words]))


_LETTERS = {"k", "m", "mn", "bn", "wan", "yi"}
"""Scales at the end of a column name, as in `revenue_usd_m`; without another unit, `m` may be metres."""
_PREFIXED = re.compile(
    r"(?P<scale>k|m|mn|mln|bn|wan|yi|тыс|млн|млрд|千|万|百万|亿)(?P<unit>usd|eur|gbp|rub|cny|yuan|元|руб|美元|欧元)$",
    re.IGNORECASE,
)
_PREFIXES = {
    "k": 1e3,
    "m": 1e6,
    "mn": 1e6,
    "mln": 1e6,
    "bn": 1e9,
    "wan": 1e4,
    "yi": 1e8,
    "тыс": 1e3,
    "млн": 1e6,
    "млрд": 1e9,
    "千": 1e3,
    "万": 1e4,
    "百万": 1e6,
    "亿": 1e8,
}
_CHINESE_UNITS = {
    "元": "cny",
    "万元": "cny",
    "公斤": "kg",
    "千克": "kg",
    "吨": "t",
    "分钟": "min",
    "小时": "h",
    "天": "d",
    "公里": "km",
    "美元": "usd",
    "欧元": "eur",
}
"""Units at the end of a column name without a separator."""
_PREFIXED_UNITS = {"元": "cny", "yuan": "cny", "руб": "rub", "美元": "usd", "欧元": "eur"}


@lru_cache(maxsize=2_000)
def _unit_of_word(token: str) -> str | None:
    """Return the unit of measure that one word names, such as "h" for "hours"."""
    return next(
        (
            unit
            for vocabulary in all_vocabularies()
            for pattern, unit in unit_patterns(vocabulary)
            if pattern.fullmatch(token)
        ),
        None,
    )


def _unit_of(words: str) -> str | None:
    """Return the unit of measure in a column name, such as "kg" for `weight_kg`.

    >>> _unit_of("weight kg"), _unit_of("price usd per kg"), _unit_of("city")
    ('kg', 'usd', None)
    """
    words = re.split(r"(?<![^\W_])(?:per|на|за)(?![^\W_])|每", words)[0]
    tokens = re.split(r"[\s_/,()（）]+", words)
    prefixed = next((match for token in tokens if (match := _PREFIXED.fullmatch(token))), None)
    if prefixed:
        unit = prefixed["unit"].lower()
        return _PREFIXED_UNITS.get(unit, unit)
    if len(tokens) > 1 and tokens[-1].lower() in _LETTERS:
        scaled = next((unit for token in tokens[:-1] if (unit := _unit_of_word(token))), None)
        if scaled:
            return scaled
    if len(tokens) == 1 and len(tokens[0]) > 3 and (only := _unit_of_word(tokens[0])):
        return only if only in {"t", "kg", "km", "mi", "l", "h", "min", "usd", "eur", "rub"} else None
    for vocabulary in all_vocabularies():
        for pattern, unit in unit_patterns(vocabulary):
            if any(pattern.fullmatch(token) for token in tokens[1:]):
                return unit
    degrees = re.search(r"(?<![^\W_])([cf])$", words, re.IGNORECASE)
    if degrees:
        return degrees[1].lower()
    chinese = re.search(rf"[（(_]?({'|'.join(_CHINESE_UNITS)})[)）]?$", words)
    return _CHINESE_UNITS[chinese[1]] if chinese else None


@lru_cache(maxsize=10)
def _patterns_of(language_id: int) -> tuple[tuple[re.Pattern[str], str], ...]:
    vocabulary = all_vocabularies()[language_id]
    return tuple(
        (re.compile(rf"(?:{pattern})(?:(?<=[\u3400-\u9fff$€£¥￥₽])|(?!\w))", re.IGNORECASE), unit)
        for pattern, unit in vocabulary.units.items()
    )


def unit_patterns(vocabulary: Vocabulary) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the compiled patterns of a language's units."""
    return _patterns_of(all_vocabularies().index(vocabulary))
