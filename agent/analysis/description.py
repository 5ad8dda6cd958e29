"""The analysis of a request to describe the data, which needs no model."""

import json
from typing import Any

from agent.answers.description import names_described
from agent.state import AnalystState, Conclusion, ToolCall
from agent.tools.tool import Workbench

_MAX_TABLES = 4


def description_step(state: AnalystState, bench: Workbench) -> dict[str, Any] | None:
    """Return the next state update: a description of each dataset, then the conclusion with the descriptions.

    Returns None if the question asks for anything else, if a number or chart is requested, or if no dataset could be
    described.
    """
    if state.get("output_type") in ("number", "plot"):
        return None
    ids = bench.dataset_ids
    if bench.asks_database:
        labels = dict(zip(ids, ids, strict=True))
    else:
        # Questions name files without the extension.
        files = (bench.registry.dataset(dataset_id).name for dataset_id in ids)
        labels = {name.rpartition(".")[0] or name: dataset_id for name, dataset_id in zip(files, ids, strict=True)}
    named = names_described(state["question"], labels)
    if named is None:
        return None
    described = [labels[name] for name in named] or ids
    done = [item["arguments"].get("dataset_id") for item in state["observations"] if item["tool"] == "describe_data"]
    for dataset_id in described[:_MAX_TABLES]:
        if dataset_id not in done:
            arguments = json.dumps({"dataset_id": dataset_id}, ensure_ascii=False)
            return {"call": ToolCall(tool="describe_data", arguments=arguments, is_given=False)}
    return {"conclusion": Conclusion(answer="", result_ids=list(state["results"]))} if state["results"] else None
