"""Detection of changes to the record, with their position."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from datasphinx.agent.record.events import BEGINNING, Event, StoredEvent, chained_hash
from datasphinx.agent.record.store import Store, sqlite_url
from datasphinx.agent.record.verify import Anchor, Finding, verify
from tests.agent.record.stores import fresh_url, happened, tampering

COUNT = 8
TABLES = ("datasphinx_events", "datasphinx_head")


@pytest.fixture(
    scope="module",
    params=[
        "sqlite",
        pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.heavy]),
        pytest.param("mysql", marks=[pytest.mark.mysql, pytest.mark.heavy]),
    ],
)
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a database with a record of eight events of two runs."""
    with fresh_url(request.param, tmp_path_factory.mktemp("verify")) as url:
        made = Store(url)
        for number in range(1, COUNT + 1):
            made.append([happened(("a" if number < 5 else "b") * 32, rows=number)])
        made._engine.dispose()
        yield url


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """The record of the module, which gets its rows back after the test."""
    made = Store(database)
    with tampering(made) as connection:
        rows = {table: connection.execute(text(f"SELECT * FROM {table}")).mappings().all() for table in TABLES}
    yield made
    with tampering(made) as connection:
        for table, kept in rows.items():
            connection.execute(text(f"DELETE FROM {table}"))
            values = ", ".join(f":{name}" for name in kept[0])
            connection.execute(text(f"INSERT INTO {table} ({', '.join(kept[0])}) VALUES ({values})"), list(kept))
    made._engine.dispose()


def found(store: Store) -> list[tuple[str, int]]:
    return [(finding.problem, finding.position) for finding in verify(store).findings]


def run(store: Store, *statements: str) -> None:
    with tampering(store) as connection:
        for statement in statements:
            connection.execute(text(statement.replace(":", "\\:")))


def shift(connection: Connection, first: int, by: int) -> None:
    """Renumber the events from `first` on."""
    positions = connection.execute(
        text(f"SELECT position FROM datasphinx_events WHERE position >= {first} ORDER BY position {'DESC' * (by > 0)}")
    ).scalars()
    for position in positions.all():
        renumber = f"UPDATE datasphinx_events SET position = {position + by} WHERE position = {position}"
        connection.execute(text(renumber))


def forged(position: int, sequence: int, previous: str) -> str:
    """Return the statement that inserts an event which is right in itself."""
    event = happened("c" * 32)
    own = chained_hash(previous, event.trace_id, sequence, event.time, event.kind, "[]")
    values = f"{position}, '{event.trace_id}', {sequence}, '{event.time}', '{event.kind}', '[]', '{previous}', '{own}'"
    return f"INSERT INTO datasphinx_events VALUES ({values})"


def test_an_untouched_record_is_whole(store: Store) -> None:
    done = verify(store)
    assert (done.events, done.findings) == (COUNT, [])
    assert done.head == store.head()[1]


def test_an_empty_record_is_whole(tmp_path: Path) -> None:
    with fresh_url("sqlite", tmp_path) as url:
        done = verify(Store(url))
    assert (done.events, done.head, done.findings) == (0, BEGINNING, [])


@pytest.mark.parametrize(
    "change",
    [
        "body = '{\"rows\":70}'",
        "body = '{\"node\":1}'",
        "body = 'no JSON'",
        "trace_id = 'dddddddddddddddddddddddddddddddd'",
        "sequence = 90",
        "time = '2026-03-01T10:00:00.000001+00:00'",
        "kind = 'llm'",
    ],
)
def test_a_changed_event_is_found_whatever_was_changed(store: Store, change: str) -> None:
    run(store, f"UPDATE datasphinx_events SET {change} WHERE position = 3")
    (finding,) = verify(store).findings
    assert (finding.problem, finding.position) == ("changed", 3)


def test_the_finding_says_which_run(store: Store) -> None:
    run(store, "UPDATE datasphinx_events SET body = '{}' WHERE position = 6")
    assert verify(store).findings == [
        Finding("changed", 6, "b" * 32, "event 6 (step) is not as it was written"),
    ]


def rehashed(event: StoredEvent, body: str) -> str:
    return chained_hash(event.previous, event.trace_id, event.sequence, event.time, event.kind, body)


@pytest.mark.parametrize("position", [3, COUNT])
def test_a_changed_event_with_a_new_hash_is_found_by_what_follows_it(store: Store, position: int) -> None:
    event = list(store.scan())[position - 1]
    change = f"body = '[]', hash = '{rehashed(event, '[]')}'"
    run(store, f"UPDATE datasphinx_events SET {change} WHERE position = {position}")
    assert found(store) == [("changed", position)]


@pytest.mark.parametrize(("first", "last"), [(1, 1), (3, 3), (3, 6), (COUNT, COUNT), (6, COUNT), (1, COUNT)])
def test_removed_events_are_found(store: Store, first: int, last: int) -> None:
    run(store, f"DELETE FROM datasphinx_events WHERE position BETWEEN {first} AND {last}")
    assert found(store) == [("removed", first)]


def test_a_whole_run_cannot_be_taken_out_either(store: Store) -> None:
    run(store, f"DELETE FROM datasphinx_events WHERE trace_id = '{'a' * 32}'")
    assert found(store) == [("removed", 1)]
    assert "events 1 to 4 are missing" in verify(store).findings[0].explanation


def test_a_removed_event_is_found_when_the_others_are_renumbered(store: Store) -> None:
    with tampering(store) as connection:
        connection.execute(text("DELETE FROM datasphinx_events WHERE position = 3"))
        shift(connection, 4, -1)
        connection.execute(text("UPDATE datasphinx_head SET position = 7"))
    assert found(store) == [("changed", 2)]


def test_an_inserted_event_is_found(store: Store) -> None:
    previous = list(store.scan())[2].hash
    with tampering(store) as connection:
        shift(connection, 4, 1)
        connection.execute(text(forged(4, 1, previous)))
        connection.execute(text("UPDATE datasphinx_head SET position = 9"))
    assert found(store) == [("inserted", 4)]


def test_an_event_after_the_end_is_found(store: Store) -> None:
    run(store, forged(COUNT + 1, 1, store.head()[1]))
    assert found(store) == [("inserted", COUNT + 1)]


@pytest.mark.parametrize(("one", "other"), [(2, 3), (4, 5), (2, 6)])
def test_reordered_events_are_found(store: Store, one: int, other: int) -> None:
    run(
        store,
        f"UPDATE datasphinx_events SET position = 99 WHERE position = {one}",
        f"UPDATE datasphinx_events SET position = {one} WHERE position = {other}",
        f"UPDATE datasphinx_events SET position = {other} WHERE position = 99",
    )
    problems = found(store)
    assert ("reordered", one) in problems or ("reordered", one + 1) in problems


def truncate(store: Store, last: int) -> None:
    """Remove the events after `last` and correct the note of the end, as somebody with all rights can."""
    events = list(store.scan())
    end = events[last - 1].hash if last else BEGINNING
    run(
        store,
        f"DELETE FROM datasphinx_events WHERE position > {last}",
        f"UPDATE datasphinx_head SET position = {last}, hash = '{end}'",
    )


@pytest.mark.parametrize("last", [0, 3, COUNT - 1])
def test_a_truncation_with_a_corrected_end_is_found_by_an_anchor(store: Store, last: int) -> None:
    anchor = verify(store).anchor
    truncate(store, last)
    assert verify(store).findings == []
    (finding,) = verify(store, anchor).findings
    assert (finding.problem, finding.position) == ("removed", last + 1)
    assert finding.explanation.startswith(f"event{'s' * (last < COUNT - 1)} {last + 1}")


def test_a_truncation_is_found_by_an_anchor_after_new_events_were_written(store: Store) -> None:
    anchor = verify(store).anchor
    truncate(store, COUNT - 2)
    for _ in range(4):
        store.append([happened("c" * 32)])
    assert found(store) == []
    assert [(each.problem, each.position) for each in verify(store, anchor).findings] == [("changed", COUNT)]


def test_a_chain_that_was_computed_anew_is_found_by_an_anchor(store: Store) -> None:
    anchor = verify(store).anchor
    events = list(store.scan())
    truncate(store, 4)
    run(store, "UPDATE datasphinx_events SET body = '[]', hash = 'x' WHERE position = 4")
    forged_hash = rehashed(events[3], "[]")
    run(
        store,
        f"UPDATE datasphinx_events SET hash = '{forged_hash}' WHERE position = 4",
        f"UPDATE datasphinx_head SET hash = '{forged_hash}'",
    )
    for number in range(5, COUNT + 1):
        store.append([happened("b" * 32, rows=number)])
    assert found(store) == []
    assert [(each.problem, each.position) for each in verify(store, anchor).findings] == [("changed", COUNT)]


def test_what_was_written_after_an_anchor_is_no_finding(store: Store) -> None:
    anchor = verify(store).anchor
    store.append([happened("b" * 32)])
    done = verify(store, anchor)
    assert (done.findings, done.anchor.position) == ([], COUNT + 1)


def test_missing_events_are_reported_once_with_an_anchor(store: Store) -> None:
    anchor = verify(store).anchor
    run(store, "DELETE FROM datasphinx_events WHERE position > 5")
    assert [(each.problem, each.position) for each in verify(store, anchor).findings] == [("removed", 6)]


def test_each_of_several_places_is_named(store: Store) -> None:
    run(
        store,
        "UPDATE datasphinx_events SET body = '{}' WHERE position IN (2, 5)",
        "DELETE FROM datasphinx_events WHERE position = 7",
    )
    assert found(store) == [("changed", 2), ("changed", 5), ("removed", 7)]


def test_what_is_written_while_it_is_verified_is_no_finding(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    head = store.head

    def head_of_more() -> tuple[int, str]:
        store.append([happened("d" * 32)])
        read = head()
        store.append([happened("d" * 32)])
        return read

    monkeypatch.setattr(store, "head", head_of_more)
    done = verify(store)
    assert (done.events, done.findings) == (COUNT + 1, [])


def test_the_next_event_after_a_change_does_not_hide_it(store: Store) -> None:
    run(store, "UPDATE datasphinx_events SET body = '{}' WHERE position = 8")
    store.append([happened("b" * 32)])
    assert found(store) == [("changed", 8)]


def test_a_pruned_record_is_whole_and_an_anchor_before_its_beginning_is_a_finding(tmp_path: Path) -> None:
    store = Store(sqlite_url(tmp_path))
    store.append([Event("a" * 32, f"2026-01-0{day}T00:00:00.000000", "step", {}) for day in range(1, 9)])
    anchors = [Anchor(event.position, event.hash) for event in store.scan()]

    assert (store.prune("2026-01-04"), store.prune("2026-01-04")) == (3, 0)
    store.append([happened("b" * 32)])
    done = verify(store)
    assert (done.findings, done.events, done.position) == ([], COUNT - 2, COUNT + 1)
    problems = [[each.problem for each in verify(store, anchor).findings] for anchor in anchors]
    assert problems == [["removed"], ["removed"], *[[]] * 6]
    assert [each.problem for each in verify(store, Anchor(3, "0" * 64)).findings] == ["removed"]
    assert [each.problem for each in verify(store, Anchor(20, "0" * 64)).findings] == ["removed"]
    run(store, "DELETE FROM datasphinx_events WHERE position = 4")
    assert found(store) == [("removed", 4)]
    store._engine.dispose()


def test_everything_can_be_pruned(store: Store) -> None:
    assert store.prune("9999") == COUNT
    assert verify(store).findings == [] and verify(store).anchor == verify(store, verify(store).anchor).anchor
