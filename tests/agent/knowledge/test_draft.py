"""Proposals from comments, codes and inferred joins."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from datasphinx.agent.knowledge.draft import draft
from datasphinx.agent.knowledge.entries import ColumnEntry, JoinEntry
from datasphinx.agent.knowledge.folder import read_folder
from datasphinx.agent.knowledge.knowledge import NO_KNOWLEDGE, Knowledge
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table
from datasphinx.agent.sources.source import Source, draft_knowledge
from datasphinx.agent.sql.parameters import Value
from datasphinx.agent.types import Result

CATALOG = Catalog(
    "postgres",
    {
        "orders": Table(
            "orders",
            (
                Column("channel", "TEXT", comment="W = web, S = store; P: by phone.", distinct=3),
                Column("status", "TEXT", distinct=2),
                Column("amount", "NUMERIC", comment="before tax, US dollars"),
                Column("contact", "TEXT", distinct=2),
                Column("buyer_id", "INTEGER"),
            ),
            comment="One row for each order",
            foreign_keys=(
                ForeignKey(("buyer_id",), "buyers", ("id",), inferred=True),
                ForeignKey(("channel",), "channels", ("code",)),
            ),
        )
    },
    values={
        ("orders", "status"): ("open", "paid"),
        ("orders", "contact"): ("ann@example.com", "bob@example.com"),
    },
)


def run(sql: str, *, parameters: Mapping[str, Value] = MappingProxyType({})) -> Result:
    raise AssertionError(f"no statement is needed, but this one runs: {sql}")


def read(files: dict[str, str], tmp_path: object) -> Knowledge:
    from pathlib import Path

    folder = Path(str(tmp_path))
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return read_folder(folder, "k")


def test_proposals_can_be_read_and_are_not_used(tmp_path: object) -> None:
    knowledge = read(draft(CATALOG, NO_KNOWLEDGE, run), tmp_path)

    assert knowledge.problems == ()
    assert knowledge.used == ()
    assert {item.entry.origin for item in knowledge.items} == {"proposal"}
    columns = {item.name: item.entry for item in knowledge.items if isinstance(item.entry, ColumnEntry)}
    assert set(columns) == {"orders.channel", "orders.amount", "orders.contact"}
    assert columns["orders.amount"].description == "before tax, US dollars"
    assert columns["orders.contact"].personal
    (join,) = [item.entry for item in knowledge.items if isinstance(item.entry, JoinEntry)]
    assert (join.source, join.target, join.cardinality) == (("orders.buyer_id",), ("buyers.id",), "many-to-one")


def test_known_entries_are_not_proposed_again(tmp_path: object) -> None:
    first = read(draft(CATALOG, NO_KNOWLEDGE, run), tmp_path)

    assert draft(CATALOG, first, run) == {}


def test_codes_of_a_database(shop: Callable[[str], Source], tmp_path: object) -> None:
    source = shop("")
    knowledge = read(draft_knowledge(source, NO_KNOWLEDGE), tmp_path)
    labels = {item.name: item.entry.labels for item in knowledge.items if isinstance(item.entry, ColumnEntry)}

    assert {name: codes for name, codes in labels.items() if codes} == {
        "orders.channel": {"P": ("phone",), "S": ("store",), "W": ("web",)},
    }
