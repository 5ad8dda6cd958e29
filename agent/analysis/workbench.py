"""The workbench of a question, made of the state in one place, and what the model sees of a call."""

import json
from collections.abc import Callable
from contextlib import suppress

from datasphinx.agent.analysis.earlier_results import last_number, readable_results
from datasphinx.agent.datasets.limits import LoadProgress, ignore_progress
from datasphinx.agent.errors import NotFound
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.messages import language_in
from datasphinx.agent.services import Services
from datasphinx.agent.state import AnalystState, Observation
from datasphinx.agent.tools.tool import Workbench
from datasphinx.agent.tools.toolbox import CallResult, error_content


def workbench(
    state: AnalystState,
    services: Services,
    loading: LoadProgress = ignore_progress,
    layout_model: Callable[[], ModelClient | None] | None = None,
) -> Workbench:
    """Return the data that the tools may use for this question: those of a source, or files and datasets.

    A file of a dataset may be read again with other options as long as it is stored.
    """
    name, registry = state.get("source"), services.registry
    file_ids = list(state["file_ids"])
    for dataset_id in () if name else state["dataset_ids"]:
        with suppress(NotFound):
            file_ids.append(registry.file(registry.dataset(dataset_id).file_id).file_id)
    return Workbench(
        registry=registry,
        open_source=(lambda _: services.source(name)) if name else services.datasets,
        asks_database=name is not None,
        file_ids=tuple(dict.fromkeys(file_ids)),
        dataset_ids=tuple(state["dataset_ids"]),
        results=state["results"],
        earlier_results=readable_results(state["earlier_results"], state["dataset_ids"]),
        earlier_number=last_number(state["earlier_results"]),
        language=language_in(state),
        layout_model=layout_model,
        loading=loading,
    )


def observation_of(call: CallResult) -> Observation:
    """Return what the model sees of a call: the content of its outcome, or its error."""
    content = error_content(call.error) if call.error else dict(call.outcome.content) if call.outcome else {}
    plain = json.loads(json.dumps(content, default=str))
    return Observation(tool=call.tool, arguments=dict(call.arguments), content=plain, failed="error" in content)
