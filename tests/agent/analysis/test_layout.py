"""Where the reader of a file is unsure, a model proposes the layout once; the reader checks and applies it."""

from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.datasets.dataset import Dataset
from datasphinx.agent.llm.scripted import Scripted
from datasphinx.agent.record.store import open_store
from datasphinx.agent.replay import replay
from datasphinx.agent.types import EmbeddedOptions
from tests.agent.analysis.conftest import MakeAnalyst, ScriptedAnalyst, step
from tests.agent.datasets.workbooks import book

YEARS = "Population\nTown,2021,2022\nOslo,2100,2200\nRiga,2150,2170\nBonn,1900,2300\n"
UNITS = (
    "Sales\nof all\nDay,Shop,Sold\n(date),(name),(pieces)\n2024-01-01,Oslo,3\n2024-01-02,Riga,4\n2024-01-03,Bonn,5\n"
)
FOOTER = "Sales\nof all shops\nShop,Sold,Back\nOslo,1,3\nRiga,4,2\nBonn,6,8\nchecked by,,x\nclosed,,y\n"
SURE = "Sales\nShop,Sold,Back\nOslo,1,0\nRiga,4,2\n"
END = [step("finish", cannot_answer="It lacks all.")]


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data directory in which no other test has kept a layout."""
    return tmp_path / "data"


def last_dataset(agent: ScriptedAnalyst) -> Dataset:
    """The dataset that the model was told of last."""
    prompt = agent.prompts()[-1]
    return max(agent.services.registry.datasets(), key=lambda each: prompt.rfind(each.dataset_id))


def written(folder: Path, content: str | bytes, name: str = "file.csv") -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def notes(output: dict[str, Any]) -> list[str]:
    return [text for text in output["audit"]["notes"] if "a model proposed" in text]


@pytest.mark.parametrize(
    ("content", "layout", "schema", "rows", "note"),
    [
        (
            YEARS,
            {"header_row": 2},
            {"Town": "VARCHAR", "2021": "BIGINT", "2022": "BIGINT"},
            3,
            "header_row=2, header_rows=1",
        ),
        (
            UNITS,
            {"header_row": 3, "header_rows": 2},
            {"Day (date)": "DATE", "Shop (name)": "VARCHAR", "Sold (pieces)": "BIGINT"},
            3,
            "header_row=3, header_rows=2",
        ),
        (
            FOOTER,
            {"header_row": 3, "footer_rows": 2},
            {"Shop": "VARCHAR", "Sold": "BIGINT", "Back": "BIGINT"},
            3,
            "footer_rows=2",
        ),
    ],
)  # fmt: skip
def test_a_good_proposal_is_applied_and_noted(
    analyst: MakeAnalyst,
    tmp_path: Path,
    content: str,
    layout: dict[str, Any],
    schema: dict[str, str],
    rows: int,
    note: str,
) -> None:
    agent = analyst(END, layouts=[layout])
    output = agent.ask(files=[written(tmp_path, content)])

    dataset = last_dataset(agent)
    assert (dict(dataset.schema), dataset.row_count) == (schema, rows)
    assert [note in text for text in notes(output)] == [True]
    assert note.replace('"', r"\"") in agent.prompts()[-1]
    assert output["audit"]["llm_calls"] == 2


def test_another_sheet_is_read_where_it_has_as_many_typed_columns(analyst: MakeAnalyst, tmp_path: Path) -> None:
    content = book(Rates=[["code", "rate"], ["EUR", 1.1], ["CHF", 0.9]], Sales=[["shop", "sold"], ["Oslo", 3]])
    agent = analyst(END, layouts=[{"sheet": "Sales"}])
    output = agent.ask(files=[written(tmp_path, content, "a.xlsx")])

    assert last_dataset(agent).report.sheet == "Sales"
    assert ['sheet="Sales"' in text for text in notes(output)] == [True]
    assert 'first row of the sheet "Sales": ["shop", "sold"]' in agent.prompts("FileLayout")[0]


@pytest.mark.parametrize(
    ("content", "layout", "reason"),
    [
        (YEARS, {"header_row": 99}, "there is no such sheet or row"),
        (YEARS, {"header_row": -1}, "there is no such sheet or row"),
        (YEARS, {"header_row": 2, "header_rows": 99}, "there is no such sheet or row"),
        (YEARS, {"sheet": "Feb"}, "there is no such sheet or row"),
        (YEARS, {"footer_rows": 900}, "there is no such sheet or row"),
        (YEARS, {"footer_rows": 2}, "the last rows are like the rows of data"),
        (YEARS, {"header_row": 1}, "columns would have no name"),
        (YEARS, {"header_row": 3}, "is like the rows of data"),
        (YEARS, {"header_row": 4}, "is like the rows of data"),
        (YEARS, {"header_row": 2, "header_rows": 2}, "is like the rows of data"),
        (UNITS, {"header_row": 0}, "is like the rows of data"),
        (FOOTER, {"header_row": 3, "header_rows": 2}, "is like the rows of data"),
    ],
)
def test_a_proposal_that_does_not_fit_is_not_applied_and_the_note_says_why(
    analyst: MakeAnalyst, tmp_path: Path, content: str, layout: dict[str, Any], reason: str
) -> None:
    path = written(tmp_path, content)
    before = analyst().services.registry
    known = before.create(before.add_file(Path(path)))
    agent = analyst(END, layouts=[layout])
    output = agent.ask(files=[path])

    assert last_dataset(agent) == known
    assert ["which was not applied: " in text and reason in text for text in notes(output)] == [True]


def test_the_note_is_in_the_language_of_the_question(analyst: MakeAnalyst, tmp_path: Path) -> None:
    agent = analyst(END, layouts=[{"header_row": 2}])
    output = agent.ask("Сколько жителей в каждом городе?", files=[written(tmp_path, YEARS)])

    assert any("модель предложила header_row=2" in text for text in output["audit"]["notes"])


@pytest.mark.parametrize("reply", [ConnectionError(), "no JSON", {"header_row": "third"}])
def test_without_a_reply_nothing_changes(analyst: MakeAnalyst, tmp_path: Path, reply: Scripted) -> None:
    agent = analyst(END, layouts=[reply, reply])
    output = agent.ask(files=[written(tmp_path, YEARS)])

    assert last_dataset(agent).report.header_row == 0
    assert notes(output) == []
    assert agent.prompts("FileLayout")


def test_the_same_reading_is_no_proposal(analyst: MakeAnalyst, tmp_path: Path) -> None:
    agent = analyst(END, layouts=[{"header_row": 3}])
    output = agent.ask(files=[written(tmp_path, FOOTER)])

    assert last_dataset(agent).report.options == {}
    assert notes(output) == []


def test_a_file_is_asked_about_once(analyst: MakeAnalyst, tmp_path: Path) -> None:
    path = written(tmp_path, YEARS)
    analyst(END, layouts=[{"header_row": 2}]).ask(files=[path])
    again = analyst(END)
    output = again.ask(files=[path])

    assert again.prompts("FileLayout") == []
    assert last_dataset(again).report.header_row == 2
    assert len(notes(output)) == 1


@pytest.mark.parametrize(("content", "load"), [(SURE, {}), (YEARS, {"header_row": 2})])
def test_no_call_is_made_where_the_reader_is_sure_or_the_user_chose(
    analyst: MakeAnalyst, tmp_path: Path, content: str, load: dict[str, Any]
) -> None:
    agent = analyst(END)
    agent.ask(files=[written(tmp_path, content)], load=load)

    assert agent.prompts("FileLayout") == []


def test_the_embedded_model_is_never_asked(analyst: MakeAnalyst, tmp_path: Path) -> None:
    agent = analyst(END, embedded=EmbeddedOptions())
    agent.ask(files=[written(tmp_path, YEARS)])

    assert agent.prompts("FileLayout") == []


def test_the_model_sees_the_first_and_last_rows_without_personal_values(analyst: MakeAnalyst, tmp_path: Path) -> None:
    people = "".join(f"Ann{n},ann{n}@example.com,pw{n},{n}\n" for n in range(1, 90))
    agent = analyst(END, layouts=[{}])
    agent.ask(
        files=[written(tmp_path, f"Staff\nof all shops\nfirst_name,contact,password,</data> $x\n{people}\nby me\n")]
    )

    (prompt,) = agent.prompts("FileLayout")
    assert '3: ["first_name", "contact", "password", "\\u003c/data\\u003e $x"]' in prompt
    assert '40: ["***", "***", "***", "37"]' in prompt
    assert '92: ["***", "***", "***", "89"]' in prompt and "41: [" not in prompt
    assert "ann" not in prompt.lower() and "pw1" not in prompt


@pytest.mark.heavy
@pytest.mark.stored_record
def test_a_replay_makes_the_call_again_or_reads_what_was_kept(analyst: MakeAnalyst, tmp_path: Path) -> None:
    paths = [written(tmp_path, YEARS), written(tmp_path, SURE, "sure.csv")]
    first = analyst(END, layouts=[{"header_row": 2}])
    outputs = [first.ask(files=paths), analyst(END).ask(files=paths)]
    settings, registry = first.services.settings, first.services.registry

    for output in outputs:
        done = replay(open_store(settings), output["audit"]["trace_id"], settings, registry=registry)
        assert done.differences == []
        assert done.output["audit"]["notes"] == output["audit"]["notes"]
