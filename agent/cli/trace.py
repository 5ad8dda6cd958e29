"""`datasphinx trace`: list, show, verify, prune and replay recorded runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from datasphinx.agent.cli.options import AsJson, delete_old, writing
from datasphinx.agent.cli.text import echo, json_text

if TYPE_CHECKING:
    from datasphinx.agent.record.events import StoredEvent
    from datasphinx.agent.record.store import Store
    from datasphinx.agent.record.verify import Anchor

_SAME, _DIFFERENT = 0, 3

trace_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Inspect and verify the run record, and replay runs."
)

TraceId = Annotated[str, typer.Argument(help="Trace id of the run, or a unique prefix.")]


@trace_app.command("list")
def list_runs(limit: Annotated[int, typer.Option(min=1, help="Number of runs.")] = 20, as_json: AsJson = False) -> None:
    """List the last runs, newest first: time, trace id, status and question.

    Exit codes: 0 listed, 5 the record cannot be read.
    """
    runs = [_summary(started, output) for started, output in _store().newest(limit)]
    if as_json:
        echo(json_text({"runs": runs}))
        return
    for run in runs:
        echo(f"{run['time'][:19]}  {run['trace_id']}  {run['status']:<20}  {_line(run['question'], 100)}")


@trace_app.command()
def show(trace: TraceId, as_json: AsJson = False) -> None:
    """Show the events of a run, one per line; with --json complete, including prompts.

    Exit codes: 0 shown, 2 there is no such run, 5 the record cannot be read.
    """
    events = _store().run(trace)
    if as_json:
        echo(json_text({"trace_id": events[0].trace_id, "events": [event.as_json() for event in events]}))
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
            help="File outside the record's database. Compare the record with the chain end that an earlier check "
            "wrote there, and write the current chain end to it if nothing is wrong.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check whether events were changed, removed, inserted or reordered after they were written, and where.

    Without --anchor, the removal of the last events is not detected if datasphinx_head was changed too. Exit codes: 0
    the record is intact, 2 the anchor cannot be read or written, 3 the record is not intact, 5 it cannot be read.
    """
    from datasphinx.agent.record.verify import verify as verify_store
    from datasphinx.agent.record.verify import write_anchor

    earlier = _read_anchor(anchor) if anchor else None
    result = verify_store(_store(), earlier)
    if anchor and not result.findings:
        with writing(anchor, "--anchor"):
            write_anchor(result.anchor, anchor)
    if as_json:
        echo(json_text({**result.as_json(), **({"anchor": vars(earlier) if earlier else None} if anchor else {})}))
    else:
        for finding in result.findings:
            run = f" (trace {finding.trace_id})" if finding.trace_id else ""
            echo(f"{finding.problem}: {finding.explanation}{run}")
        state = f"{len(result.findings)} findings" if result.findings else "intact"
        echo(f"{result.events} events, {state}; the last has position {result.position} and hash {result.head}")
        if anchor:
            compared = f"compared with event {earlier.position}" if earlier else "no earlier anchor"
            update = "unchanged" if result.findings else f"now event {result.position}"
            echo(f"anchor {anchor}: {compared}; {update}")
    raise typer.Exit(_DIFFERENT if result.findings else _SAME)


@trace_app.command()
def prune(
    days: Annotated[
        int | None, typer.Option(min=1, max=36_500, help="Age of the events in days; default: DATASPHINX_RECORD_DAYS.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Delete the events of all tenants that are older than a number of days; print how many.

    Exit codes: 0 deleted, 2 the days are neither an option nor a setting, 5 the record cannot be used.
    """
    from datasphinx.agent.conversation.retention import prune_record

    delete_old(prune_record, "events", "record_days", days, as_json)


def _read_anchor(path: Path) -> "Anchor | None":
    """Return the anchor in a file; None if there is no file."""
    from datasphinx.agent.record.verify import read_anchor

    try:
        return read_anchor(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise typer.BadParameter(f"{path} cannot be read: {reason}.", param_hint="--anchor") from error


@trace_app.command()
def replay(
    trace: TraceId,
    source: Annotated[
        str | None,
        typer.Option(
            help="Name or URL of the database to use instead of the recorded one, such as a URL with its password."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a question again with the recorded model outputs, and compare each step with the record.

    No model is called; the statements run on the source or the datasets. Exit codes: 0 no differences, 2 there is no
    such run, source, file or dataset, 3 differences, 5 the record or the source is unreachable.
    """
    from datasphinx.agent.record.store import open_store
    from datasphinx.agent.replay import replay as replay_run
    from datasphinx.agent.settings import load_settings

    settings = load_settings()
    result = replay_run(open_store(settings), trace, settings, source)
    if as_json:
        echo(json_text(result.as_json()))
    else:
        for difference in result.differences:
            echo(f"step {difference.step} {difference.node}: {difference.what}")
            echo(f"  recorded  {_line(str(difference.recorded), 200)}")
            echo(f"  replayed  {_line(str(difference.replayed), 200)}")
        state = f"{len(result.differences)} differences" if result.differences else "nothing differs"
        echo(f"trace {result.trace_id}: {result.steps} steps, {state}")
    raise typer.Exit(_DIFFERENT if result.differences else _SAME)


def _store() -> "Store":
    from datasphinx.agent.record.store import open_store
    from datasphinx.agent.settings import load_settings

    return open_store(load_settings())


def _summary(started: "StoredEvent", output: "StoredEvent | None") -> dict[str, Any]:
    content = output.content if output else {}
    error = content.get("error")
    status = (error["code"] if error else "answered") if output else "not ended"
    return {
        "trace_id": started.trace_id,
        "time": started.time,
        "question": _subject(started.content),
        "status": status,
        "sql": content.get("sql"),
        "llm_calls": content.get("llm_calls"),
        "llm_cost_usd": content.get("llm_cost_usd"),
        "latency_ms": content.get("latency_ms"),
    }


def _subject(start: dict[str, Any]) -> str:
    """Return the question of a run, or the statement of a run without a question."""
    inputs = start.get("input", {})
    return str(inputs.get("question", inputs.get("sql", "")))


def _gist(event: "StoredEvent") -> str:
    """Return a one-line summary of an event."""
    body = event.content
    error = body.get("error")
    if isinstance(error, dict):
        return f"{error.get('code')}: {body.get('sql') or body.get('schema') or body.get('answer') or ''}"
    if event.kind == "run":
        return _subject(body)
    if event.kind == "llm":
        tokens = f"{body.get('prompt_tokens')} + {body.get('completion_tokens')} tokens"
        return f"{body.get('schema')}, {body.get('latency_ms')} ms, {tokens}: {body.get('output')}"
    if event.kind == "statement":
        return f"{body.get('rows')} rows, {body.get('latency_ms')} ms: {body.get('sql')}"
    fields = ("latency_ms", "tool", "arguments", "type", "examples", "verified", "answer", "failure", "validation")
    return ", ".join(f"{name} {body[name]}" for name in fields if body.get(name) is not None)


def _line(text: str, longest: int) -> str:
    from datasphinx.agent.schema.describe import one_line

    return one_line(text, longest)
