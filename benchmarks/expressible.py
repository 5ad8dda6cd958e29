"""How many reference statements of Spider's dev part the grammars of their questions allow.

Run with: `python -m benchmarks.expressible`. A reference counts if the model may write it in compact form. Where
only the case of texts differs, it may write those of the question, if the rows are the same.
"""

import re
from collections.abc import Iterator

from benchmarks.common import read_lines
from benchmarks.spider import DEV
from datasphinx.agent.embedded.expand import expand
from datasphinx.agent.embedded.grammar.statement import statement_grammar
from datasphinx.agent.evals.match import matches
from datasphinx.agent.linking import IndexLinker
from datasphinx.agent.retrieval.linked_values import linked_values
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.agent.embedded.grammar.gbnf_reader import Gbnf
from tests.support.databases import open_url
from training.compact import compact

_TEXT = re.compile(r"'((?:[^']|'')*)'")


def main() -> None:
    """Print the number, and the references that are refused, up to where the grammar allows them."""
    sources = {
        path.stem: open_url(f"sqlite:///{path}", Limits(10, 1000)) for path in (DEV / "databases").glob("*.sqlite")
    }
    questions = read_lines(DEV / "questions.jsonl")
    allowed = 0
    for question in questions:
        problem = problem_of(question["question"], question["sql"].rstrip("; "), sources[question["db_id"]])
        allowed += not problem
        if problem:
            print(f"{question['id']}: {problem}")
    print(f"{allowed} of {len(questions)} references are expressible")


def problem_of(question: str, sql: str, source: Source) -> str:
    """Return what of the reference `sql` cannot be written for `question`, or an empty text."""
    reference = compact(sql, source.catalog)
    if reference is None:
        return f"no compact form: {sql}"
    linker = IndexLinker()
    keys = linker.link_tables(question, source, 1).keys
    selection = linker.link_columns(
        question, source, {key: list(source.catalog.tables[key].column_names) for key in keys}
    )
    values = linked_values(question, source.values, selection)
    grammar = Gbnf(statement_grammar(source.catalog, selection, question, values).text)
    if any(grammar.accepts(statement) for statement in _spellings(reference, question, source)):
        return ""
    end = grammar.reads_up_to(reference)
    return f"{question} | {reference[:end]} >>> {reference[end:]}"


def _spellings(reference: str, question: str, source: Source) -> Iterator[str]:
    """Yield `reference`, and with its texts in the case of `question` if that gives the same rows."""
    yield reference

    def spelt(match: re.Match[str]) -> str:
        at = question.casefold().find(match[1].casefold())
        return f"'{question[at : at + len(match[1])]}'" if at >= 0 else match[0]

    other = _TEXT.sub(spelt, reference)
    if other != reference:
        rows, other_rows = (source.execute(expand(text, source.catalog)) for text in (reference, other))
        if matches(rows, other_rows, ordered=False):
            yield other


if __name__ == "__main__":
    main()
