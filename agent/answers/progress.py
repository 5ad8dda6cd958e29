"""Progress in words: one line for each completed step, for terminals and clients."""

from typing import Any

from rich.text import Text

from datasphinx.agent.schema.describe import one_line

_DETAIL_CHARS = 300


def step_line(node: str, update: dict[str, Any]) -> Text | None:
    """Return one line about the step of `node`: status, name, seconds and detail.

    A tool call is shown under the name of the tool. None for planning and for a check of a statement without a model
    call.
    """
    (step,) = update["audit"]["steps"]
    if node in ("plan", "validate_sql") and not step["calls"] and not update.get("failure"):
        return None
    failed = bool(update.get("failure") or update.get("sql_error_info") or update.get("used_stop_words"))
    failed = failed or bool(step.get("error"))
    name = one_line(str(step.get("tool") or node))
    line = Text.assemble(("✗ " if failed else "✓ ", "red" if failed else "green"), (f"{name} ", "bold"))
    planned = _counted(len(update["plan"]), "question") if "plan" in update else ""
    detail = one_line(planned or _detail(update, step), _DETAIL_CHARS)
    return line.append(f"{step['latency_ms'] / 1000:.1f} s  {detail}".rstrip(), style="dim")


def _detail(update: dict[str, Any], step: dict[str, Any]) -> str:
    """Return the most relevant part of `update`: the error if there is one, else the result."""
    if update.get("failure"):
        return str(update["failure"]["code"])
    if "tool" in step:
        return str(step["error"] or _tool_result(step["tool"], step["rows"], update["observations"][-1]["content"]))
    if step["node"] == "plan":
        if update.get("call"):
            return str(update["call"]["tool"])
        if update.get("conclusion"):
            return "finish"
        return "ask_user" if update.get("clarification") else "told what is wrong"
    for name in ("error", "sql_error_info", "used_stop_words", "relevant_tables"):
        if isinstance(update.get(name), str):
            return str(update[name])
        if update.get(name):
            return ", ".join(update[name])
    if "validation" in update:
        return str(update["validation"]["reason"]) if update["validation"] else "no verdict"
    return _counted(len(update["result"]["rows"]), "row") if update.get("result") else ""


def _tool_result(tool: str, rows: int, content: dict[str, Any]) -> str:
    """Return a summary of a tool's result; for a file also the sheet and header row of its table."""
    if tool == "create_dataset":
        sheet = f", sheet {content['sheet']}" if content.get("sheet") else ""
        header = f", header in row {content['header_row']}" if content.get("header_row") else ""
        return f"{content['file']}{sheet}{header}, {_counted(rows, 'row')}"
    if tool == "plot":
        return f"{content['chart_type']} of {content['result_id']}"
    return _counted(rows, "column" if tool in ("get_schema", "resolve_fields") else "row")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
