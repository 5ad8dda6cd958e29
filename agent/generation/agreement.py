"""The agreement of the statements that a model wrote for one question: how many of them return the same rows."""

from collections.abc import Hashable, Sequence

from datasphinx.agent.errors import StatementError
from datasphinx.agent.generation.attempts import attempts_with, candidates_of, current, with_facts
from datasphinx.agent.generation.result_summary import summary_of
from datasphinx.agent.record.step import note
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import comparison_key
from datasphinx.agent.types import Attempt, Evidence, Result


def with_agreement(attempts: list[Attempt], source: Source) -> list[Attempt]:
    """Return the attempts with the statement with which most candidates agree as the current one.

    It has its agreement, and a doubt for each different result. The attempts are unchanged if there are no candidates,
    or none of the statements can be executed.
    """
    candidates = candidates_of(attempts)
    written = {each["sql"]: each for each in [*candidates, current(attempts)]}
    statements = [current(attempts)["sql"], *(each["sql"] for each in candidates)]
    groups = _groups(statements, source) if candidates else []
    if not groups:
        return attempts
    (_, (sql, *same)), *others = groups
    agreement = sum(each in (sql, *same) for each in statements) / len(statements)
    evidence = Evidence({**current(attempts).get("evidence", {}), "agreement": round(agreement, 4)})
    if not others:
        return with_facts(attempts, evidence=evidence)
    evidence["rivals"] = [first for _, (first, *_) in others]
    told = [(summary_of(result, first, source), first) for result, (first, *_) in groups]
    doubts = [f"this query returns {told[0][0]}"]
    doubts += [f"another query returns {text}: {other}" for text, other in told[1:]]
    form = written[sql].get("form", {})
    return attempts_with(attempts, sql, "model", form=form, doubts=doubts, evidence=evidence)


def _groups(statements: Sequence[str], source: Source) -> list[tuple[Result, list[str]]]:
    """Execute `statements` under the limits of `source`; return the results with their statements, most of them first.

    A statement that fails is left out.
    """
    groups: dict[Hashable, tuple[Result, list[str]]] = {}
    for sql in dict.fromkeys(statements):
        try:
            result = source.execute(sql)
        except StatementError as error:
            note(f"a statement was not compared: {error}")
            continue
        groups.setdefault(comparison_key(result, ordered=False), (result, []))[1].append(sql)
    return sorted(groups.values(), key=lambda group: -len(group[1]))
