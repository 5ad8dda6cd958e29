"""Find the tables on a sheet: one below the other with blank rows between, or side by side with blank columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, zip_longest
from math import inf

from datasphinx.agent.datasets.blocks import Block, Cell, Region
from datasphinx.agent.datasets.header import HeaderFinder
from datasphinx.agent.datasets.text_file import Head

_MAX_TITLE = 80
_SHOWN_NAMES = 3
_MIN_TABLE = 3
"""Rows of a table with its header; as many columns make a table of texts."""
_MIN_NOTED_COLUMNS = 3
"""A line of text below a table with fewer columns may be one of its rows."""


@dataclass(frozen=True)
class FoundTable:
    """A table on a sheet: its cells with the titles above, its title, and the case-folded names of its columns."""

    region: Region
    title: str
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """Lines of text below it, with no other table below them, and the rows of boxes beside it."""

    @property
    def label(self) -> str:
        """The title, or else the names of the first columns."""
        return self.title or ", ".join(filter(None, self.names[:_SHOWN_NAMES]))

    @property
    def cells(self) -> int:
        """Number of cells of the rectangle."""
        first, last, left, right = self.region
        return (last - first + 1) * (right - left + 1)


@dataclass(frozen=True)
class _Part:
    """The cells of a block between two blank columns."""

    block: Block
    left: int
    right: int

    @cached_property
    def head(self) -> Head:
        """The first rows."""
        rows = [row[self.left : self.right + 1] for row in self.block.rows]
        filled = [(at, row) for at, row in enumerate(rows) if any(cell.text.strip() for cell in row)]
        numbers = tuple(self.block.first + at for at, _ in filled)
        return Head(tuple(row for _, row in filled), numbers, numbers)

    @cached_property
    def finder(self) -> HeaderFinder:
        """Finds the header among the first rows."""
        return HeaderFinder(self.head)

    @cached_property
    def start(self) -> int | None:
        """The index of the first row of the header."""
        return self.finder.search()

    @property
    def has_header(self) -> bool:
        """Whether there is a header with rows below it."""
        return self.start is not None and self.start + 1 < len(self.head.rows)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The case-folded names of the columns; for a part with a header."""
        return tuple(name.casefold() for name in self.finder.header(self.start or 0).names)

    @property
    def last(self) -> int:
        """The last row of the block with a cell, as far as the samples show."""
        tail = len(self.block.tail)
        rows = [*enumerate(self.block.rows, self.block.first), *enumerate(self.block.tail, self.block.last - tail + 1)]
        return max(
            (number for number, row in rows if any(cell.text.strip() for cell in row[self.left : self.right + 1])),
            default=self.block.first,
        )

    @property
    def region(self) -> Region:
        """The rectangle of cells."""
        return Region(self.block.first, self.block.last, self.left, self.right)


def find_tables(blocks: Sequence[Block]) -> list[FoundTable]:
    """Return the tables of a sheet from top to bottom; none if its cells are one table.

    A block is a table of its own if it begins with a header that cannot be a row of the table above and does not repeat
    the header of that table. Lines of text in one cell are titles above a table, and notes below it.
    """
    found: list[tuple[FoundTable, HeaderFinder]] = []
    titles: list[str] = []
    for part in _parts(blocks):
        head = part.head
        above = _nearest(found, part)
        if _is_new(part, above):
            start = part.start or 0
            title = " ".join([*titles, *_texts(head.rows[:start])])[:_MAX_TITLE]
            table = FoundTable(part.region, title, part.names)
            repeats = above and above[0].names == table.names and above[0].region.left == part.left and not title
            titles = []
            if not repeats:
                found.append((table, HeaderFinder(head.below(start + 1))))
                continue
        elif _is_text(head) and (above is None or len(above[0].names) >= _MIN_NOTED_COLUMNS):
            titles += _texts(head.rows)
            continue
        if above is None:
            if found and found[-1][0].region.first == part.block.first:
                notes = (*found[-1][0].notes, *(" ".join(_texts([row])) for row in head.rows))
                found[-1] = (replace(found[-1][0], notes=notes), found[-1][1])
            continue
        at = found.index(above)
        region = above[0].region
        wider = Region(region.first, part.block.last, min(region.left, part.left), max(region.right, part.right))
        found[at] = (replace(above[0], region=wider), above[1])
        titles = []
    tables = [table for table, _ in found]
    if tables and titles:
        tables[-1] = replace(tables[-1], notes=(*tables[-1].notes, *titles))
    return tables if len(tables) > 1 or any(table.notes for table in tables) else []


def holds_table(blocks: Sequence[Block]) -> bool:
    """Return whether a sheet has a table: three rows of three columns, or a name above two values of one kind.

    A cover or a page of notes has neither. A sheet whose blocks are unknown is large, and counts as a table.
    """
    return not blocks or any(_is_table(block.rows) for block in blocks)


def size_of(blocks: Sequence[Block]) -> tuple[float, float]:
    """Return the most rows of a block and the most columns; both are infinite if the blocks are unknown."""
    if not blocks:
        return inf, inf
    return max(each.last - each.first + 1 for each in blocks), max(len(row) for each in blocks for row in each.rows)


def _is_table(rows: Sequence[Sequence[Cell]]) -> bool:
    filled = [[place for place, (text, _) in enumerate(row) if text.strip()] for row in rows]
    if sum(len(places) >= _MIN_TABLE for places in filled) >= _MIN_TABLE:
        return True
    return any(
        above.text.strip()
        and not above.is_value
        and first.is_value
        and second.is_value
        and _is_number(first) == _is_number(second)
        for column in zip_longest(*rows, fillvalue=Cell(""))
        for above, first, second in zip(column, column[1:], column[2:], strict=False)
    )


def _is_number(cell: Cell) -> bool:
    return cell.text.lstrip("-").replace(".", "", 1).isdigit()


def _is_new(part: _Part, above: tuple[FoundTable, HeaderFinder] | None) -> bool:
    """Return whether a part begins a table, rather than continue the table above or be no table."""
    if above is None or not part.has_header:
        return part.has_header and part.head.width > 1
    return HeaderFinder(part.head.below(part.start or 0)).replaces(above[1])


def _nearest(found: Sequence[tuple[FoundTable, HeaderFinder]], part: _Part) -> tuple[FoundTable, HeaderFinder] | None:
    """Return the last table above whose columns the part shares."""
    for table, finder in reversed(found):
        if part.left <= table.region.right and table.region.left <= part.right and table.region.last < part.block.first:
            return table, finder
    return None


def _texts(rows: Sequence[Sequence[Cell]]) -> list[str]:
    return [cell.text.strip() for row in rows for cell in row if cell.text.strip()]


def _is_text(head: Head) -> bool:
    """Return whether each row has a single cell, with words."""
    rows = [[cell for cell in row if cell.text.strip()] for row in head.rows]
    return all(len(row) == 1 and not row[0].is_value and not row[0].text.strip().isdigit() for row in rows)


def _parts(blocks: Sequence[Block]) -> Iterator[_Part]:
    for block in blocks:
        width = max((len(row) for row in block.rows), default=0)
        parts = [_Part(block, left, right) for left, right in _groups(block, width)]
        boxes = [part for part in parts[1:] if _is_box(part)]
        parts = [part for part in parts if part not in boxes]
        if len(parts) > 1 and _are_separate(parts):
            yield from parts
        elif parts:
            yield _Part(block, parts[0].left, parts[-1].right)
        yield from boxes


def _is_box(part: _Part) -> bool:
    """Return whether a part is a few cells beside a table, such as a summary: without a header, and soon at an end."""
    rows = part.block.last - part.block.first + 1
    return part.start is None and 2 * len(part.head.rows) <= rows and part.last < part.block.last


def _groups(block: Block, width: int) -> list[tuple[int, int]]:
    """Return the first and last columns between the columns without cells."""
    groups: list[tuple[int, int]] = []
    for place in range(width):
        if place in block.empty:
            continue
        if groups and groups[-1][1] == place - 1:
            groups[-1] = (groups[-1][0], place)
        else:
            groups.append((place, place))
    return groups


def _are_separate(parts: Sequence[_Part]) -> bool:
    """Return whether the parts are tables: each has a header, and they end in different rows or repeat their names."""
    if any(part.left == part.right or not part.has_header for part in parts):
        return False
    repeats = any(
        2 * len(first & second) >= len(first) for first, second in pairwise(set(part.names) for part in parts)
    )
    return (
        repeats
        or len({part.last for part in parts}) > 1
        or len({part.head.numbers[part.start or 0] for part in parts}) > 1
    )
