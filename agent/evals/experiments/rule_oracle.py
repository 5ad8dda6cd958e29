"""An oracle that needs no model: it compares results where it can, and else words."""

from collections.abc import Sequence

from sqlglot import exp

from agent.catalog.source import Source
from agent.catalog.words import spelt_words, stem
from agent.clarify.types import ClarifyingQuestion
from agent.errors import DatasphinxError
from agent.evals.datasets.dataset import Question
from agent.evals.experiments.entries import Said
from agent.evals.experiments.oracle import NONE_OF_THESE, Feedback
from agent.evals.match import execution_match
from agent.evals.match_rule import MatchRule
from agent.sql.guard import parse
from agent.sql.named_in import Names, names_in


class RuleOracle:
    """Answers with the number of an option, or that it is none of them.

    It is the first option whose statement gives the result of the reference. Where none is known to, it is the one
    whose words name most of the tables, columns and values of the reference beyond what they name besides, if there is
    one such and it names any.
    """

    def __init__(self, rule: MatchRule) -> None:
        """Take the rule by which results are the same."""
        self._rule = rule

    def answer(
        self, question: Question, asked: ClarifyingQuestion, statements: Sequence[str | None], source: Source
    ) -> Feedback:
        """Return the answer; no statement that cannot run ends anything."""
        number = self._by_result(question.sql, statements, source) or _by_words(question.sql, asked, source)
        answer = str(number) if number else NONE_OF_THESE
        label = asked["options"][number - 1]["label"] if number else ""
        return Feedback(answer, Said("", f"{answer}) {label}" if number else answer))

    def _by_result(self, reference: str, statements: Sequence[str | None], source: Source) -> int | None:
        for number, statement in enumerate(statements, 1):
            try:
                if statement and execution_match(source, reference, statement, self._rule):
                    return number
            except DatasphinxError:
                return None
        return None


def _by_words(reference: str, asked: ClarifyingQuestion, source: Source) -> int | None:
    wanted = _phrases(names_in(reference, source.catalog)) | _values(reference, source.catalog.dialect)
    columns = (f"{table.key}.{name}" for table in source.catalog.tables.values() for name in table.column_names)
    others = _phrases(Names(frozenset(source.catalog.tables), frozenset(columns))) - wanted
    scores = []
    for option in asked["options"]:
        words = _stems(f"{option['label']} {option['reading']}")
        named = [{phrase for phrase in phrases if phrase <= words} for phrases in (wanted, others)]
        scores.append((len(named[0]) - len(named[1]), len(named[0])))
    best = max(scores, default=(0, 0))
    return scores.index(best) + 1 if best[1] and scores.count(best) == 1 else None


def _phrases(names: Names) -> set[frozenset[str]]:
    """Return the words of each name; of a column without its table."""
    plain = {*names.tables, *(name.rpartition(".")[2] for name in names.columns)}
    return {phrase for phrase in map(_stems, plain) if phrase}


def _values(sql: str, dialect: str) -> set[frozenset[str]]:
    try:
        trees = parse(sql, dialect)
    except ValueError:
        return set()
    literals = (literal.this for tree in trees for literal in tree.find_all(exp.Literal))
    return {phrase for phrase in map(_stems, map(str, literals)) if phrase}


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, spelt_words(text.replace("_", " "))))
