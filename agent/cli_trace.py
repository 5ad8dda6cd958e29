"""`datasphinx trace`: parsing and printing only."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli_options import AsJson
from agent.terminal_text import echo

if TYPE_CHECKING:
    from agent.audit.events import StoredEvent
    from agent.audit.store import Store
    from agent.audit.verify import Anchor, Verification

_SAME, _DIFFERENT = 0, 3

trace_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Look at the record of runs, verify it, replay a run."
)

TraceId = Annotated[str, typer.Argument(help="Trace id of the run, or its beginning.")]


@trace_app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(min=1, help="How many of the last runs.")] = 20, as_json: AsJson = False
) -> None:
    """List the last runs, the newest first: when, how it ended, the trace id, the question.

    Exit codes: 0 listed, 5 the record cannot be read.
    """
    runs = [_summary(begun, output) for begun, output in _store().newest(limit)]
    if as_json:
        _print_json({"runs": runs})
        return
    for run in runs:
        echo(f"{run['time'][:19]}  {run['trace_id']}  {run['status']:<20}  {_line(run['question'], 100)}")


@trace_app.command()
def show(trace: TraceId, as_json: AsJson = False) -> None:
    """Show what a run did, an event a line; with --json everything that was recorded of it, prompts too.

    Exit codes: 0 shown, 2 there is no such run, 5 the record cannot be read.
    """
    events = _store().run(trace)
    if as_json:
        _print_json({"trace_id": events[0].trace_id, "events": [event.as_json() for event in events]})
        return
    echo(events[0].trace_id)
    for event in events:
        node, gist = event.content.get("node", ""), _line(_gist(event), 160)
        echo(f"{event.sequence:>4}  {event.time[11:23]}  {event.kind:<9}  {node:<17}  {gist}".rstrip())


@trace_app.command()
def verify(
    anchor: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="File outside the record's database. Compare the record with the end of the chain that an earlier "
            "check wrote there, and write the present end to it if nothing is wrong.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that no event was changed, removed, inserted or reordered since it was written, and say where.

    Without --anchor, events missing at the end are not found if datasphinx_head was corrected too. Exit codes: 0 the
    record is whole, 2 the anchor cannot be read or written, 3 the record is not whole, 5 it cannot be read.
    """
    from agent.audit.verify import verify as verify_store

    known = _anchor_in(anchor) if anchor else None
    found = verify_store(_store(), known)
    if anchor and not found.findings:
        _write_anchor(found, anchor)
    if as_json:
        _print_json({**found.as_json(), **({"anchor": vars(known) if known else None} if anchor else {})})
    else:
        for each in found.findings:
            run = f" (trace {each.trace_id})" if each.trace_id else ""
            echo(f"{each.problem}: {each.explanation}{run}")
        state = f"{len(found.findings)} findings" if found.findings else "whole"
        echo(f"{found.events} events, {state}; the last has the position {found.position} and the hash {found.head}")
        if anchor:
            compared = f"compared with event {known.position}" if known else "there was none to compare with"
            kept = "left as it is" if found.findings else f"now event {found.position}"
            echo(f"anchor {anchor}: {compared}; {kept}")
    raise typer.Exit(_DIFFERENT if found.findings else _SAME)


def _anchor_in(path: Path) -> "Anchor | None":
    """Return the anchor in a file; None if there is no file."""
    from agent.audit.verify import read_anchor

    try:
        return read_anchor(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise typer.BadParameter(f"{path} cannot be read: {reason}.", param_hint="--anchor") from error


def _write_anchor(found: "Verification", path: Path) -> None:
    from agent.audit.verify import write_anchor

    try:
        write_anchor(found.anchor, path)
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be written: {error.strerror}.", param_hint="--anchor") from error


@trace_app.command()
def replay(
    trace: TraceId,
    source: Annotated[
        str | None,
        typer.Option(help="Name or URL of the database to ask in place of the recorded one, for one with a password."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a question again with the recorded outputs of the model, and compare each step with the record.

    No model is asked; the statements run on the source, or on the datasets. Exit codes: 0 nothing differs, 2 there is
    no such run, source, file or dataset, 3 something differs, 5 the record or the source cannot be reached.
    """
    from agent.audit.store import open_store
    from agent.replay import replay as replay_run
    from agent.settings import load_settings

    settings = load_settings()
    done = replay_run(open_store(settings), trace, settings, source)
    if as_json:
        _print_json(done.as_json())
    else:
        for each in done.differences:
            echo(f"step {each.step} {each.node}: {each.what}")
            echo(f"  recorded  {_line(str(each.recorded), 200)}")
            echo(f"  replayed  {_line(str(each.replayed), 200)}")
        state = f"{len(done.differences)} differences" if done.differences else "nothing differs"
        echo(f"trace {done.trace_id}: {done.steps} steps, {state}")
    raise typer.Exit(_DIFFERENT if done.differences else _SAME)


def _store() -> "Store":
    from agent.audit.store import open_store
    from agent.settings import load_settings

    return open_store(load_settings())


def _summary(begun: "StoredEvent", output: "StoredEvent | None") -> dict[str, Any]:
    ended = output.content if output else {}
    error = ended.get("error")
    status = (error["code"] if error else "answered") if output else "not ended"
    return {
        "trace_id": begun.trace_id,
        "time": begun.time,
        "question": str(begun.content.get("input", {}).get("question", "")),
        "status": status,
        "sql": ended.get("sql"),
        "llm_calls": ended.get("llm_calls"),
        # Runs that were recorded before it had this name have it under `cost_usd`.
        "llm_cost_usd": ended.get("llm_cost_usd", ended.get("cost_usd")),
        "latency_ms": ended.get("latency_ms"),
    }


def _gist(event: "StoredEvent") -> str:
    """Return the facts of an event that fit on a line."""
    body = event.content
    error = body.get("error")
    if isinstance(error, dict):
        return f"{error.get('code')}: {body.get('sql') or body.get('schema') or body.get('answer') or ''}"
    if event.kind == "run":
        return str(body.get("input", {}).get("question", ""))
    if event.kind == "llm":
        tokens = f"{body.get('prompt_tokens')} + {body.get('completion_tokens')} tokens"
        return f"{body.get('schema')}, {body.get('latency_ms')} ms, {tokens}: {body.get('output')}"
    if event.kind == "statement":
        return f"{body.get('rows')} rows, {body.get('latency_ms')} ms: {body.get('sql')}"
    shown = ("latency_ms", "tool", "arguments", "type", "examples", "answer", "failure", "validation")
    return ", ".join(f"{name} {body[name]}" for name in shown if body.get(name) is not None)


def _line(text: str, longest: int) -> str:
    from agent.catalog.describe import one_line

    return one_line(text, longest)


def _print_json(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=True) + "\n")
