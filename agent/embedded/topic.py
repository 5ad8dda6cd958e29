"""Questions that are about something else than the data of a source.

Two things have to agree, because neither tells alone: that nothing in the question is known in the source, which is so
for many questions in another language than its names, and that the model's statement is improbable, which is so for
many difficult questions.
"""

from collections.abc import Mapping, Sequence
from itertools import chain

from datasphinx.agent.embedded.candidates import Candidate
from datasphinx.agent.knowledge.source_knowledge import RelevantKnowledge
from datasphinx.agent.retrieval.synonyms import Concept, concepts
from datasphinx.agent.schema.words import readable
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.validation import names_missing_value

_MIN_LOGPROB = -2.6
"""The least natural logarithm of the probability of a statement for a question about the data.

From here on the calibration of `base` finds a statement more probably wrong than right.
"""


def mentions_source(
    question: str, source: Source, selection: Mapping[str, Sequence[str]], relevant: RelevantKnowledge
) -> bool:
    """Return whether `question` has a word for a name or comment of `source`, in any language of the glossary.

    `relevant` is the business knowledge that it refers to.
    """
    if relevant != RelevantKnowledge() or source.index.mentions(question):
        return True
    names = tuple(chain(selection, chain.from_iterable(selection.values())))
    known: Concept = source.memoized(
        ("concepts", names), lambda: frozenset(chain.from_iterable(concepts(" ".join(map(readable, names)))))
    )
    return any(not known.isdisjoint(senses) for senses in concepts(question))


def is_improbable(candidate: Candidate, source: Source) -> bool:
    """Return whether the statement for a question that mentions nothing of `source` is a guess.

    It is improbable, or compares with a text that no row has.
    """
    if candidate.logprob is not None and candidate.logprob < _MIN_LOGPROB:
        return True
    return bool(candidate.sql) and any(map(names_missing_value, source.warnings_about(candidate.sql)))
