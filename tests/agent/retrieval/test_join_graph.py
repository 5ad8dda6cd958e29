"""Foreign keys as a graph."""

import numpy as np
import pytest

from datasphinx.agent.retrieval.join_graph import JoinGraph
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table


def graph(*edges: tuple[str, str]) -> JoinGraph:
    names = sorted({name for edge in edges for name in edge if name != "nowhere"})
    keys = {name: [ForeignKey(("id",), b, ("id",)) for a, b in edges if a == name] for name in names}
    tables = {name: Table(name, (Column("id", "INTEGER"),), foreign_keys=tuple(keys[name])) for name in names}
    return JoinGraph(Catalog("sqlite", tables))


CHAIN = graph(("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("f", "g"))


def test_keys_join_in_both_directions_and_never_to_themselves_or_out() -> None:
    joins = graph(("a", "b"), ("a", "a"), ("b", "nowhere"))

    assert joins.neighbours("a") == ["b"]
    assert joins.neighbours("b") == ["a"]
    assert joins.neighbours("unknown") == []


def test_what_is_said_counts_for_tables_within_two_joins_the_nearer_the_more() -> None:
    said = CHAIN.propagate(np.array([[1, 0, 0, 0, 0, 0, 0], [0.5, 0, 0, 1, 0, 0, 0]], np.float32))

    assert said[0].tolist() == pytest.approx([1, 0.8, 0.64, 0, 0, 0, 0])
    assert said[1].tolist() == pytest.approx([0.5, 0.64, 0.8, 1, 0.8, 0.64, 0])


def test_spreading_leaves_what_it_was_given_and_isolated_tables_alone() -> None:
    rows = np.array([[0.0, 1.0]], np.float32)
    joins = graph(("a", "nowhere"), ("b", "nowhere"))

    assert joins.propagate(rows).tolist() == [[0.0, 1.0]]
    assert rows.tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("keys", "between"),
    [
        ([], []),
        (["a"], []),
        (["a", "b"], []),
        (["a", "c"], ["b"]),
        (["a", "c", "b"], []),
        (["a", "e"], ["d", "c", "b"]),
        (["a", "g"], []),
        (["a", "unknown"], []),
    ],
)
def test_bridges(keys: list[str], between: list[str]) -> None:
    assert sorted(CHAIN.connecting_tables(keys)) == sorted(between)


def test_a_shorter_way_is_taken() -> None:
    joins = graph(("a", "x"), ("x", "b"), ("a", "y"), ("y", "z"), ("z", "b"))

    assert joins.connecting_tables(["a", "b"]) == ["x"]


def test_surroundings_count_two_joins() -> None:
    assert graph(("a", "hub"), ("b", "hub"), ("c", "hub")).neighbourhood_sizes.tolist() == [4, 4, 4, 4]
