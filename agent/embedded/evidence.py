"""Evidence for and against a candidate of the embedded model."""

from collections.abc import Sequence
from typing import Any

from datasphinx.agent.embedded.selection import Selection
from datasphinx.agent.retrieval.linked_values import LinkedValue
from datasphinx.agent.types import Evidence


def evidence_of(
    text: str,
    logprob: float | None,
    violations: int,
    values: Sequence[LinkedValue],
    selection: Selection[Any] | None,
) -> Evidence:
    """Return the evidence about the candidate with this text; `values` are linked to the question.

    `selection` is that of several candidates, if they were compared.
    """
    used = {link.phrase for link in values if link.value in text or link.value.replace("'", "''") in text}
    evidence = Evidence(
        violations=violations,
        unused_values=list(dict.fromkeys(link.phrase for link in values if link.phrase not in used)),
    )
    if logprob is not None:
        evidence["logprob"] = logprob
    if selection:
        evidence |= {"agreement": round(selection.agreement, 4), "gives_rows": selection.best.gives_rows}
    return evidence
