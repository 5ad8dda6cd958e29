"""`datasphinx trace` as users run it: what it prints, and exit codes that scripts can use."""

import json
from pathlib import Path

import pytest

from datasphinx.agent import errors
from tests.support.commands import Run
from tests.support.databases import change, make_table, url
from tests.support.fake_openai import FakeOpenAI

SUM = {"sql": "SELECT SUM(amount) AS total FROM things", "assumptions": [], "off_topic": False}
VALID = {"is_valid": True, "reason": "fine", "issues": [], "corrected_sql": None}
QUESTION = "What is the total amount of things?"


@pytest.fixture
def things(tmp_path: Path, model: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = make_table(tmp_path, "thing TEXT, amount INTEGER", [("bolt", 3), ("nut", 4)])
    monkeypatch.setenv("DATASPHINX_SOURCE", url(path))
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("DATASPHINX_ENABLE_SQL_VALIDATION", "true")
    return path


@pytest.fixture
def trace_id(things: Path, model: FakeOpenAI, run: Run) -> str:
    """The trace of one question that was answered."""
    model.answers = [SUM, VALID]
    _, out, _ = run("ask", QUESTION, "--json")
    return str(json.loads(out)["audit"]["trace_id"])


def test_list_has_when_how_it_ended_the_id_and_the_question(trace_id: str, run: Run) -> None:
    code, out, _ = run("trace", "list")
    (line,) = out.splitlines()
    assert code == errors.ANSWERED
    assert trace_id in line and "answered" in line and line.endswith(QUESTION)
    listed = json.loads(run("trace", "list", "--json")[1])
    assert [(each["trace_id"], each["sql"], each["llm_calls"]) for each in listed["runs"]] == [
        (trace_id, SUM["sql"], 2)
    ]


def test_a_question_cannot_move_the_cursor_of_the_terminal(things: Path, model: FakeOpenAI, run: Run) -> None:
    model.default = SUM
    run("ask", "total \x1b[2J\x1b[H amount\nof things", "--json")
    (listed,) = json.loads(run("trace", "list", "--json")[1])["runs"]
    for arguments in (["list"], ["show", listed["trace_id"]]):
        assert "\x1b" not in run("trace", *arguments)[1]


def test_show_has_a_line_an_event_and_takes_the_beginning_of_an_id(trace_id: str, run: Run) -> None:
    code, out, _ = run("trace", "show", trace_id[:8])
    assert code == errors.ANSWERED
    head, *lines = out.splitlines()
    assert head == trace_id
    assert [line.split()[2] for line in lines].count("llm") == 2
    assert any("1 rows" in line and SUM["sql"] in line for line in lines)
    shown = json.loads(run("trace", "show", trace_id, "--json")[1])
    assert len(shown["events"]) == len(lines)
    (prompt,) = [each["body"]["messages"] for each in shown["events"] if each["body"].get("schema") == "GeneratedSQL"]
    assert QUESTION in prompt[-1]["content"]


def test_an_unknown_trace_is_a_usage_error(trace_id: str, run: Run) -> None:
    code, out, err = run("trace", "show", "no-such-id")
    assert (code, out) == (errors.USAGE, "")
    assert "datasphinx trace list" in err


def test_verify_reports_an_intact_record_or_the_damage(trace_id: str, run: Run, tmp_path: Path) -> None:
    code, out, _ = run("trace", "verify")
    assert code == errors.ANSWERED
    assert "intact" in out
    change(tmp_path / "data" / "record.sqlite", "UPDATE datasphinx_events SET body = '{}' WHERE position = 4")
    code, out, _ = run("trace", "verify")
    assert code == errors.DOMAIN
    assert out.splitlines()[0] == f"changed: event 4 (step) is not as it was written (trace {trace_id})"
    code, out, _ = run("trace", "verify", "--json")
    found = json.loads(out)["findings"]
    assert (code, [(each["problem"], each["position"]) for each in found]) == (errors.DOMAIN, [("changed", 4)])


def test_verify_compares_with_an_anchor_and_moves_it_forward(trace_id: str, run: Run, tmp_path: Path) -> None:
    anchor, record = tmp_path / "anchor.json", tmp_path / "data" / "record.sqlite"
    code, out, _ = run("trace", "verify", "--anchor", str(anchor))
    assert (code, "no earlier anchor" in out) == (errors.ANSWERED, True)
    kept = json.loads(anchor.read_text(encoding="utf-8"))
    assert set(kept) == {"position", "hash"} and kept["hash"] in out
    code, out, _ = run("trace", "verify", "--anchor", str(anchor), "--json")
    assert (code, json.loads(out)["anchor"], json.loads(out)["position"]) == (
        errors.ANSWERED,
        kept,
        kept["position"],
    )

    last = kept["position"] - 1
    change(record, f"DELETE FROM datasphinx_events WHERE position > {last}")
    change(
        record,
        f"""UPDATE datasphinx_head SET position = {last},
        hash = (SELECT hash FROM datasphinx_events WHERE position = {last})""",
    )
    assert run("trace", "verify")[0] == errors.ANSWERED
    code, out, _ = run("trace", "verify", "--anchor", str(anchor))
    assert code == errors.DOMAIN
    assert out.splitlines()[0] == f"removed: event {last + 1} is missing"
    assert json.loads(anchor.read_text(encoding="utf-8")) == kept


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"position": "1", "hash": "00"}', '{"position": -1, "hash": "00"}']
)
def test_a_file_that_is_no_anchor_is_a_usage_error_and_stays(run: Run, tmp_path: Path, content: str) -> None:
    anchor = tmp_path / "anchor.json"
    anchor.write_text(content, encoding="utf-8")
    code, _, err = run("trace", "verify", "--anchor", str(anchor))
    assert (code, "--anchor" in err) == (errors.USAGE, True)
    assert anchor.read_text(encoding="utf-8") == content


def test_an_anchor_that_cannot_be_written(trace_id: str, run: Run, tmp_path: Path) -> None:
    code, _, err = run("trace", "verify", "--anchor", str(tmp_path / "none" / "anchor.json"))
    assert (code, "cannot be written" in err) == (errors.USAGE, True)


def test_what_somebody_wrote_into_the_record_cannot_move_the_cursor(trace_id: str, run: Run, tmp_path: Path) -> None:
    change(tmp_path / "data" / "record.sqlite", "UPDATE datasphinx_events SET kind = char(27) || '[2J' || char(8238)")
    for arguments in (["verify"], ["show", trace_id]):
        out = run("trace", *arguments)[1]
        assert "[2J" in out and not {"\x1b", "\u202e"} & set(out)


def test_replay_finds_nothing_and_then_what_has_changed(trace_id: str, run: Run, things: Path) -> None:
    code, out, err = run("trace", "replay", trace_id)
    assert (code, err) == (errors.ANSWERED, "")
    assert out.strip() == f"trace {trace_id}: 8 steps, nothing differs"
    change(things, "UPDATE things SET amount = 70 WHERE thing = 'bolt'")
    code, out, _ = run("trace", "replay", trace_id[:10])
    assert code == errors.DOMAIN
    assert "step 7 execute_sql: statement result_hash" in out
    code, out, _ = run("trace", "replay", trace_id, "--json")
    report = json.loads(out)
    assert (code, report["same"], report["steps"]) == (errors.DOMAIN, False, 8)
    assert {"step", "node", "what", "recorded", "replayed"} == set(report["differences"][0])


def test_replay_without_its_source(trace_id: str, run: Run, things: Path) -> None:
    things.unlink()
    code, _, err = run("trace", "replay", trace_id)
    assert code == errors.USAGE
    assert things.name in err


def test_a_record_that_cannot_be_reached(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_RECORD_URL", "postgresql://auditor:long-password@127.0.0.1:1/record")
    for arguments in (["list"], ["show", "ab"], ["verify"], ["replay", "ab"]):
        code, out, err = run("trace", *arguments)
        assert (code, out) == (errors.UNREACHABLE, "")
        assert "DATASPHINX_RECORD_URL" in err and "long-password" not in err


def test_a_server_with_a_dead_record_does_not_start(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_RECORD_URL", "postgresql://auditor@127.0.0.1:1/record")
    code, _, err = run("serve", "--port", "0")
    assert code == errors.UNREACHABLE
    assert "DATASPHINX_RECORD_URL" in err
