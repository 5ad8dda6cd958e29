"""Results of earlier questions of a conversation: kept without rows, as queries that later queries can read."""

from collections.abc import Collection, Mapping

from datasphinx.agent.core.prompt_data import block, shortened
from datasphinx.agent.queryspec.check_sources import all_sources
from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.spec import read_spec
from datasphinx.agent.types import EarlierResult, KeptResult

MAX_EARLIER_RESULTS = 8
_SHOWN_COLUMNS = 40


def keep_results(
    earlier: Mapping[str, EarlierResult], results: Mapping[str, KeptResult], question: str
) -> dict[str, EarlierResult]:
    """Return `earlier` and the results of `question` for later ones: the newest, each with all results that it reads.

    The oldest is the first.
    """
    known = dict(earlier)
    for name, kept in results.items():
        if query := kept.get("query"):
            columns, repeated = kept["result"]["columns"], kept.get("repeated", [])
            known[name] = EarlierResult(question=question, columns=columns, query=query, repeated=repeated)
    chosen, sources = set[str](), sources_of_results(known)
    for name in reversed(known):
        needed = chosen | {name} | sources[name] & known.keys()
        if len(needed) <= MAX_EARLIER_RESULTS:
            chosen = needed
    return {name: result for name, result in known.items() if name in chosen}


def readable_results(results: Mapping[str, EarlierResult], dataset_ids: Collection[str]) -> dict[str, EarlierResult]:
    """Return the results that read no other datasets than `dataset_ids` and are not named like one of them."""
    readable, sources = {*results, *dataset_ids}, sources_of_results(results)
    return {name: result for name, result in results.items() if name not in dataset_ids and sources[name] <= readable}


def last_number(results: Mapping[str, EarlierResult]) -> int:
    """Return the largest number in the ids of `results`, or 0."""
    return max((int(name.removeprefix("r")) for name in results), default=0)


def earlier_results_text(results: Mapping[str, EarlierResult]) -> str:
    """Return the part of a prompt that lists `results`; empty if there are none."""
    if not results:
        return ""
    listed = [
        block(shortened({"question": result["question"], "columns": result["columns"][:_SHOWN_COLUMNS]}), result=name)
        for name, result in results.items()
    ]
    title = "Results of earlier questions, which a query may read by id; compute anew what the answer needs of them:"
    return "\n".join([title, *listed, ""])


def sources_of_results(results: Mapping[str, EarlierResult | KeptResult]) -> dict[str, set[str]]:
    """Return the names of the datasets and results that each of `results` reads, directly or through others."""
    specs = {name: read_spec(query) for name, result in results.items() if (query := result.get("query"))}
    datasets = Datasets("", {}, specs)
    return {name: set(all_sources(spec, datasets)) for name, spec in specs.items()}
