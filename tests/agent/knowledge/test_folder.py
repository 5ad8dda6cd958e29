"""Reading of knowledge files: entries with their places, and mistakes with file, line and suggestion."""

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.knowledge.entries import ColumnEntry, MetricEntry
from datasphinx.agent.knowledge.folder import KnowledgeFolder, read_folder
from datasphinx.agent.knowledge.knowledge import Knowledge
from tests.agent.knowledge.conftest import Write

Read = Callable[[str], Knowledge]


def messages(knowledge: Knowledge) -> list[str]:
    return [str(problem) for problem in knowledge.problems]


def test_entries_have_their_file_and_line(read: Read) -> None:
    knowledge = read("""\
        tables:
          orders:
            description: One row for each order
            columns:
              channel:
                labels: {W: web}
        metrics:
          # The figure of the monthly report
          revenue:
            expression: SUM(orders.total_amount)
        joins:
          - from: orders.customer_id
            to: customers.customer_id
        """)

    assert {item.id: str(item.place) for item in knowledge.items} == {
        "table:orders": "knowledge/shop.yml:2",
        "column:orders.channel": "knowledge/shop.yml:5",
        "metric:revenue": "knowledge/shop.yml:9",
        "join:orders.customer_id = customers.customer_id": "knowledge/shop.yml:12",
    }
    assert knowledge.problems == ()


def test_plain_scalars_are_text_until_a_field_converts_them(read: Read) -> None:
    knowledge = read("""\
        tables:
          shops:
            columns:
              country: {labels: {NO: Norway, 1: one, on: switched on}, hidden: true}
        """)

    entry = next(item.entry for item in knowledge.items if item.kind == "column")
    assert isinstance(entry, ColumnEntry)
    assert entry.labels == {"NO": ("Norway",), "1": ("one",), "on": ("switched on",)}
    assert entry.hidden is True


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "metrics:\n  revenue: {expresion: SUM(a.b)}",
            "knowledge/shop.yml:2: metric `revenue`: unknown key `expresion`. Did you mean `expression`?",
        ),
        ("metrics:\n  revenue: {unit: EUR}", "knowledge/shop.yml:2: metric `revenue`: `expression` is missing"),
        (
            "metrics:\n  revenue:\n    expression: SUM(a.b)\n    filter: a.c > 1",
            "knowledge/shop.yml:4: metric `revenue`: unknown key `filter`. Did you mean `filters`?",
        ),
        ("metric:\n  revenue: {}", "knowledge/shop.yml:1: unknown key `metric`. Did you mean `metrics`?"),
        ("terms: [late]", "knowledge/shop.yml:1: `terms` must be a mapping from names to entries"),
        (
            "terms:\n  late: {definition: d, condition: a.b = 1, expression: a.c}",
            "knowledge/shop.yml:2: term `late`: a term has a condition or an expression, not both",
        ),
        (
            "joins:\n  - from: a.b\n    to: c.d\n    cardinality: many",
            "knowledge/shop.yml:4: join `a.b = c.d`: `cardinality`: input should be 'one-to-one', 'many-to-one', "
            "'one-to-many' or 'many-to-many'",
        ),
        (
            "terms:\n  late: {definition: one}\n  late: {definition: two}",
            "knowledge/shop.yml:3: `late` occurs twice; the first one is used",
        ),
        ("terms:\n  a: *b", "knowledge/shop.yml:2: the file is not valid YAML: aliases are not supported"),
        ("terms:\n\t- a", "knowledge/shop.yml:2: the file is not valid YAML: found character that cannot start any"),
        ("just text", "knowledge/shop.yml:1: a knowledge file must be a mapping. Valid keys:"),
        ("origin: me", "knowledge/shop.yml:1: `origin` must be one of hand-written, imported, proposal"),
        (
            "verified:\n  - question: How many?\n    sql: S\n    parameters:\n      n: {type: number, example: x}",
            "knowledge/shop.yml:5: verified `How many?`: the example `x` is not a number",
        ),
    ],
)  # fmt: skip
def test_mistake_is_reported_where_it_is(read: Read, text: str, problem: str) -> None:
    assert messages(read(text))[-1].startswith(problem)


def test_wrong_entries_do_not_leave_out_others(read: Read) -> None:
    knowledge = read("""\
        metrics:
          wrong: {filters: [a.b = 1]}
          revenue: {expression: SUM(orders.total_amount)}
        """)

    assert [item.name for item in knowledge.items] == ["revenue"]


def test_the_same_name_in_two_files_counts_once(write: Write) -> None:
    write("metrics:\n  Revenue: {expression: SUM(a.b)}\n", "a.yml")
    folder = write("\nmetrics:\n  revenue: {expression: SUM(a.c)}\n", "b.yaml")

    knowledge = read_folder(folder, "shop")

    assert [str(item.place) for item in knowledge.items] == ["shop/a.yml:2"]
    assert messages(knowledge) == [
        "shop/b.yaml:3: metric `revenue` is already defined at shop/a.yml:2. Rename or remove one of them."
    ]


def test_labels_of_a_column_may_be_in_several_files(write: Write) -> None:
    column = "tables: {{orders: {{columns: {{channel: {{{}}}}}}}}}"
    for name, body in {"a": "labels: {W: web}", "b": "unit: way, labels: {S: store}", "c": "labels: {S: shop}"}.items():
        folder = write(column.format(body), f"{name}.yml")

    knowledge = read_folder(folder, "shop")

    ((_, entry),) = knowledge.entries(ColumnEntry)
    assert (entry.unit, entry.labels) == ("way", {"S": ("store",), "W": ("web",)})
    assert messages(knowledge)[0].startswith("shop/c.yml:1: column `orders.channel` is already defined at shop/b.yml:1")


def test_long_instructions_are_refused(read: Read) -> None:
    knowledge = read("instructions:\n" + "".join(f"  - {char * 999}\n" for char in "abcde") + f"  - {'f' * 1001}\n")

    assert len(knowledge.instructions) == 4 * 999 + 3
    assert messages(knowledge) == [
        "knowledge/shop.yml:6: the instructions together exceed 4000 characters",
        f"knowledge/shop.yml:7: instruction `{'f' * 200}`: `text`: string should have at most 1000 characters",
    ]


def test_missing_folder_is_a_problem_and_not_an_error(tmp_path: Path) -> None:
    assert messages(read_folder(tmp_path / "none", "none")) == ["none:1: the folder does not exist"]


def test_file_that_is_not_text_is_a_problem(write: Write) -> None:
    folder = write("terms: {}")
    (folder / "shop.yml").write_bytes(b"\xff\xfe\x00")

    assert messages(read_folder(folder, "k")) == ["k/shop.yml:1: the file cannot be read: UnicodeDecodeError"]


def test_proposals_are_not_used(read: Read) -> None:
    knowledge = read("""\
        origin: proposal
        metrics:
          revenue: {expression: SUM(a.b)}
          cost: {expression: SUM(a.c), origin: hand-written}
        """)

    assert [item.name for item in knowledge.items] == ["revenue", "cost"]
    assert [item.name for item in knowledge.used] == ["cost"]


def test_the_hash_is_that_of_the_contents(write: Write) -> None:
    first = read_folder(write("terms: {}"), "k").hash
    again = read_folder(write("terms: {}"), "k").hash
    changed = read_folder(write("metrics: {}"), "k").hash

    assert first == again != changed


def test_a_change_is_read_at_the_next_question_only(write: Write) -> None:
    folder = KnowledgeFolder(write("metrics:\n  revenue: {expression: SUM(a.b)}"))
    before = folder.current()
    unchanged = folder.current()
    write("metrics:\n  revenue: {expression: SUM(a.b), unit: EUR}")
    after = folder.current()

    assert unchanged is before
    entry = after.items[0].entry
    assert isinstance(entry, MetricEntry)
    assert entry.unit == "EUR"


def test_without_the_package_an_error_names_the_extra(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, original = write("terms: {}"), builtins.__import__

    def importing(name: str, *arguments: Any, **named: Any) -> Any:
        if name == "yaml":
            raise ImportError(name)
        return original(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", importing)

    with pytest.raises(DriverMissing) as raised:
        read_folder(folder, "k")
    assert (raised.value.package, raised.value.extra) == ("pyyaml", "knowledge")
