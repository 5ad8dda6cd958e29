"""The Python face on the sample shop, on files and on frames, with the scripted model and a stand-in analyst."""

import asyncio
import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas
import pyarrow
import pytest
from sqlalchemy import create_engine, make_url, text

import datasphinx.pandas  # noqa: F401
from datasphinx.agent.charts.default import default_chart
from datasphinx.agent.charts.echarts import draw
from datasphinx.agent.chat import Agent, ChartResponse, DataFrameResponse, NumberResponse, StringResponse, chat
from datasphinx.agent.datasets.limits import LoadLimits
from datasphinx.agent.datasets.options import LoadOptions
from datasphinx.agent.errors import (
    InputInvalid,
    InvalidOutputType,
    InvalidQuestion,
    NotFound,
    Refused,
    SourceNotFound,
    TooLarge,
    Unanswered,
)
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.settings import load_settings
from datasphinx.agent.types import Result
from tests.agent.record.stores import fresh_url
from tests.agent.walk import COUNT, HOW_MANY, JOKE, OFF_TOPIC
from tests.conftest import NO_AMBIGUITY, VALID
from tests.support.analyst import FRAME, Analyst
from tests.support.databases import make_table, url
from tests.support.errors import of_code
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

Asking = Callable[..., "Asked"]

BY_STATUS = {"sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY status"}
ONE_TEXT = {"sql": "SELECT name FROM regions ORDER BY name LIMIT 1"}


class Asked(Agent):
    """An agent that remembers its model."""

    model: ScriptedModel

    def prompts(self, schema: str = "GeneratedSQL") -> list[str]:
        return [call.prompt for call in self.model.calls if call.schema_name == schema]


@pytest.fixture
def asking(cache_dir: Path) -> Asking:
    """A maker of agents: the statements that the model writes, and what is asked."""

    def make(
        *statements: Any, sources: Any = (), configured: Any = None, answers: Any = None, **overrides: Any
    ) -> Asked:
        model = ScriptedModel(
            {
                "GeneratedSQL": statements,
                "SQLValidation": [VALID] * 5,
                "AmbiguityReview": [NO_AMBIGUITY] * 5,
                **(answers or {}),
            }
        )
        made = Asked(sources, settings=load_settings(cache_dir=cache_dir, sources=configured, **overrides), model=model)
        made.model = model
        return made

    return make


@pytest.mark.heavy
@pytest.mark.process
def test_optional_packages_are_imported_only_when_they_are_needed() -> None:
    optional = ("pandas", "quickjs", "resvg_py", "duckdb", "python_calamine", "charset_normalizer", "fsspec")
    blocked = f"import sys; sys.modules.update(dict.fromkeys({optional!r}))"
    program = f"{blocked}; from datasphinx.agent.chat import Agent; print(Agent('sample').last_sql)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout.strip() == "None", done.stderr


# Databases: what comes back


def test_number(asking: Asking) -> None:
    agent = asking(COUNT)
    response = agent.chat(HOW_MANY)

    assert isinstance(response, NumberResponse)
    assert isinstance(response.value, int)
    assert response.value == response.tables[0]["rows"][0][0]
    assert response.sql == agent.last_sql == COUNT["sql"]
    assert response.audit == agent.trace
    assert str(response) == response.answer
    assert f"{response.value:,}" in response.answer


@pytest.mark.parametrize(
    ("cell", "value"), [("9007199254740993", 9007199254740993), ("-0.1000000000000000055511", None), ("2.50", None)]
)
def test_number_that_a_float_cannot_keep_is_exact(cell: str, value: int | None) -> None:
    response = NumberResponse(cell, None, {}, [], None, cell)  # type: ignore[arg-type]

    assert str(response.value) == cell
    assert value is None or response.value == value


def test_a_database_is_a_url_an_engine_or_a_file(asking: Asking, tmp_path: Path) -> None:
    path = make_table(tmp_path, "title TEXT", [("Emma",), ("Ulysses",)], table="books")
    count = {"sql": "SELECT COUNT(*) AS books FROM books"}
    for source in (path, str(path), make_url(url(path)), create_engine(url(path))):
        assert asking(count, sources=source).chat("How many books are there?").value == 2


def test_a_duckdb_file_is_a_database(asking: Asking, tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE books AS SELECT 'Emma' AS title")
    count = {"sql": "SELECT COUNT(*) AS books FROM books"}
    assert asking(count, sources=path, allow_writable_account=True).chat("How many books are there?").value == 1


@pytest.mark.heavy
@pytest.mark.postgres
def test_the_end_of_the_block_closes_the_connections(asking: Asking, tmp_path: Path) -> None:
    count = {"sql": "SELECT COUNT(*) AS books FROM books"}
    sessions = text("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()")
    with fresh_url("postgres", tmp_path) as database:
        own = create_engine(database, isolation_level="AUTOCOMMIT")
        with own.connect() as connection:
            connection.execute(text("CREATE TABLE books (title TEXT)"))

            def are_closed() -> bool:
                return connection.execute(sessions).scalar_one() == 1

            with asking(count, sources=database, allow_writable_account=True) as agent:
                assert agent.chat("How many books are there?").value == 0
                assert not are_closed()
            eventually(are_closed)

            async def ask() -> None:
                async with asking(count, sources=database, allow_writable_account=True) as agent:
                    await agent.aask("How many books are there?")
                    assert not are_closed()

            asyncio.run(ask())
            eventually(are_closed)
        own.dispose()


def test_text(asking: Asking) -> None:
    response = asking(ONE_TEXT).chat("Which region comes first?")

    assert isinstance(response, StringResponse)
    assert response.value == response.tables[0]["rows"][0][0]


def test_table(asking: Asking) -> None:
    response = asking(BY_STATUS).chat("Orders by status")

    assert isinstance(response, DataFrameResponse)
    assert isinstance(response.value, pandas.DataFrame)
    assert list(response.value.columns) == ["status", "orders"]
    assert response.value.to_numpy().tolist() == response.tables[0]["rows"]
    assert response.plain == response.tables[0]


@pytest.mark.parametrize(("proposed", "wanted"), [pytest.param("plot", None, marks=pytest.mark.heavy), (None, "plot")])
def test_chart(asking: Asking, tmp_path: Path, proposed: str | None, wanted: Any) -> None:
    response = asking({**BY_STATUS, "output_type": proposed}).chat("Plot the orders by status", output_type=wanted)

    assert isinstance(response, ChartResponse)
    assert response.value["type"] == "bar"
    assert json.loads(response.save(tmp_path / "a.json").read_text("utf-8")) == response.value["option"]
    assert response.save(str(tmp_path / "a.PNG")).read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"\.png, \.html or \.json"):
        response.save(tmp_path / "a.svg")


def test_forced_form_that_cannot_be_had_is_a_typed_error(asking: Asking) -> None:
    agent = asking(BY_STATUS, BY_STATUS)

    with pytest.raises(InvalidOutputType) as caught:
        agent.chat("Покажи заказы по статусам", output_type="number")

    assert caught.value.wanted == "number"
    assert "orders (integer)" in caught.value.shape
    assert agent.last_sql == BY_STATUS["sql"]
    assert agent.trace and agent.trace["llm_calls"] == len(agent.model.calls)
    (note,) = caught.value.__notes__
    assert note.startswith("Результат нельзя вернуть в виде number")


def test_validation_is_requested_per_question(asking: Asking) -> None:
    found = []
    for setting in (True, False):
        agent = asking(*[COUNT] * 3, enable_sql_validation=setting)
        for validate in (None, True, False):
            before = len(agent.prompts("SQLValidation"))
            agent.chat(HOW_MANY, validate=validate)
            found.append((setting, validate, len(agent.prompts("SQLValidation")) - before))

    # A repeated validation of the same statement is answered from the cache.
    assert found == [
        (True, None, 1), (True, True, 0), (True, False, 0), (False, None, 0), (False, True, 1), (False, False, 0),
    ]  # fmt: skip
    assert "validate" in inspect.signature(chat).parameters


def test_error_of_the_graph_is_raised_by_its_class(asking: Asking) -> None:
    agent = asking({**OFF_TOPIC, "reason": "no table has jokes"}, COUNT)

    with pytest.raises(Unanswered, match="no table has jokes"):
        agent.chat(JOKE)
    with pytest.raises(InvalidQuestion):
        agent.chat("  ")
    with pytest.raises(InvalidQuestion):
        agent.chat(None)  # type: ignore[arg-type]
    assert isinstance(agent.chat(HOW_MANY), NumberResponse)


# Conversations


def test_before_the_first_question_there_is_nothing(asking: Asking) -> None:
    agent = asking()

    assert (agent.last_sql, agent.trace) == (None, None)
    for ask in (agent.follow_up, agent.clarify):
        with pytest.raises(InvalidQuestion, match="begin with chat"):
            ask("and by month?")


def test_follow_up_is_read_with_the_questions_before_it(asking: Asking) -> None:
    alone = "How many orders are there by status?"
    agent = asking(COUNT, {**BY_STATUS, "standalone": alone}, COUNT)
    agent.chat(HOW_MANY)

    assert isinstance(agent.follow_up("And by status?"), DataFrameResponse)
    agent.follow_up("Only the largest")
    first, second, third = agent.prompts()
    assert "conversation" not in first
    assert (
        f"The last question: {HOW_MANY}" in second and COUNT["sql"] in second and "Question: And by status?" in second
    )
    assert f"The last question: {alone}" in third and f"- {HOW_MANY}" in third and COUNT["sql"] not in third


# What is asked


def test_of_several_databases_of_one_engine_the_one_that_fits_is_asked(asking: Asking, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    words = url(make_table(folders[0], "word TEXT", [("a",), ("b",)], table="words"))
    ships = url(make_table(folders[1], "ship TEXT", [("c",)], table="ships"))
    agent = asking({"sql": "SELECT COUNT(*) AS n FROM ships"}, sources=[words, ships])

    assert agent.chat("How many ships?").value == 1


@pytest.mark.parametrize(
    ("sources", "first", "second"),
    [
        (["postgresql://reader:secret@db/a", "sqlite:///b.db"], "postgresql://reader:***@db/a", "sqlite:///b.db"),
        (["sample", "sales.csv"], "sample", "sales.csv"),
        ([FRAME, "sqlite:///b.db"], "a DataFrame in memory", "sqlite:///b.db"),
    ],
    ids=["two engines", "database and file", "frame and database"],
)
def test_sources_that_cannot_be_asked_together(asking: Asking, sources: Any, first: str, second: str) -> None:
    Path("sales.csv").write_text("a,b\n1,2\n")

    with pytest.raises(Refused) as caught:
        asking(sources=sources)

    assert caught.value.details() == {"first": first, "second": second}
    assert "secret" not in str(caught.value)
    assert "Ask about them separately" in str(caught.value)


@pytest.mark.parametrize("source", ["sales.xlsx", Path("nowhere.csv"), 7, None, "sqlite:///nowhere.db"])
def test_source_that_does_not_exist(asking: Asking, source: Any) -> None:
    with pytest.raises(SourceNotFound):
        asking(COUNT, sources=[source]).chat(HOW_MANY)


# Files and frames, with a stand-in for the analyst


def test_files_are_read_with_options(analyst: Analyst, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    Agent(path, load={"header_row": 0}).chat("How many rows?")
    Agent(path, load=LoadOptions(fill_down=("a",))).chat("How many rows?")

    assert [asked.get("load") for asked in analyst.asked] == [{"header_row": 0}, {"fill_down": ["a"]}]
    with pytest.raises(InputInvalid, match="header_row"):
        Agent(path, load={"header_row": "top"})
    with pytest.raises(InputInvalid):
        Agent(load={"header_row": 1})


def test_frame_becomes_a_dataset(analyst: Analyst) -> None:
    response = chat("How many rows?", FRAME)

    assert isinstance(response, NumberResponse)
    assert (response.value, response.sql) == (2, None)
    (asked,) = analyst.asked
    assert asked["files"] == []
    assert [column.name for column in analyst.registry.dataset(asked["datasets"][0]).schema] == ["city", "sales"]


TABLE: Any = pyarrow.table({"Order Date": [date(2025, 1, 2)], "amount": [Decimal("12.50")], 'say "hi"': ["\u00e9"]})


@pytest.mark.parametrize(
    "table",
    [TABLE, TABLE.to_batches()[0], duckdb.from_arrow(TABLE)],
    ids=["table", "batch", "relation"],
)
def test_a_table_that_arrow_can_read_becomes_a_dataset(analyst: Analyst, table: Any) -> None:
    assert chat("How many rows?", table).value == 1
    dataset = analyst.registry.dataset(analyst.asked[0]["datasets"][0])
    types = {column.name: column.type for column in dataset.schema}
    assert types == {"Order Date": "DATE", "amount": "DECIMAL(4,2)", 'say "hi"': "VARCHAR"}


def test_file_is_kept_and_asked_by_its_id(analyst: Analyst) -> None:
    Path("sales.csv").write_text("city,sales\nOslo,3\nRome,4\nBern,5\n")

    assert chat("How many rows?", "sales.csv", output_type="number").value == 3
    assert analyst.asked[0]["output_type"] == "number"
    assert analyst.registry.file(analyst.asked[0]["files"][0]).name == "sales.csv"


def test_accessor_asks_the_frame_as_it_is(analyst: Analyst) -> None:
    frame = FRAME.copy()
    assert frame.sphinx.chat("How many rows?").value == 2
    frame.loc[2] = ["Bern", 5]
    assert frame.sphinx.chat("How many rows?", output_type="number").value == 3


def test_question_back_is_a_text_with_options_and_is_answered_on_the_thread(analyst: Analyst) -> None:
    talk = Agent(FRAME)
    asked_back = talk.chat("which rows?")

    assert isinstance(asked_back, StringResponse)
    assert asked_back.value == "Which?"
    assert asked_back.clarification
    assert "<li>&lt;b&gt;</li>" in asked_back._repr_html_()
    assert talk.clarify("all").value == 2
    assert analyst.asked[1]["clarification_answer"] == "all"
    assert analyst.asked[1]["question"] == "which rows?"


def test_tables_that_cannot_be_kept_are_a_typed_error_each_time(
    analyst: Analyst, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("sales.csv").write_text("city,sales\nOslo,3\n")
    monkeypatch.setattr(LoadLimits, "of", lambda settings: LoadLimits(max_bytes=5))
    talk = Agent("sales.csv")

    for _ in range(2):
        with pytest.raises(TooLarge):
            talk.chat("How many rows?")
    assert analyst.asked == []


def test_facts_of_an_error_come_from_the_graph(analyst: Analyst, monkeypatch: pytest.MonkeyPatch) -> None:
    failure = {"code": "dataset_unknown", "facts": {"dataset_id": "ds_1"}}
    ends = {"answer": "-", "error": {"code": "dataset_unknown", "message": "-"}, "failure": failure}
    monkeypatch.setattr(analyst, "count", lambda state: ends)

    with pytest.raises(NotFound, check=of_code("dataset_unknown")) as caught:
        chat("How many rows?", FRAME)
    assert caught.value.dataset_id == "ds_1"


RANKING = {"sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY orders DESC"}


@pytest.mark.heavy
def test_a_ranking_has_the_chart_of_the_page(asking: Asking) -> None:
    agent = asking(RANKING, COUNT)
    response = agent.chat("Number of orders by status")
    agent.chat(HOW_MANY)
    rows = response.tables[0]

    assert isinstance(response, DataFrameResponse) and len(rows["rows"]) >= 3
    result: Result = {
        "columns": rows["columns"], "types": ["string", "integer"], "rows": rows["rows"], "truncated": False,
    }  # fmt: skip
    selection = default_chart(result, "Number of orders by status")
    assert selection and response.chart
    assert response.chart["option"] == draw(selection.result, selection.spec, "en", selection.notes).option
    page = response._repr_html_()
    assert page.count("<img ") == 1 and page.index("<img ") < page.index("<table>")


def test_a_chart_by_default_needs_the_extra_only_for_the_picture(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    response = asking(RANKING).chat("Number of orders by status")

    assert response.chart and response.chart["type"] == "bar"
    assert "<img " not in response._repr_html_() and "<table>" in response._repr_html_()
