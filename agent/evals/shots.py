"""Few-shot examples in an evaluation: none of them may answer a question of the test set."""

from collections.abc import Sequence

from sqlalchemy import URL

from datasphinx.agent.evals.datasets import Dataset, find_databases
from datasphinx.agent.examples.example import Example
from datasphinx.agent.examples.selection import StoredExamples
from datasphinx.agent.examples.store import ExampleStore
from datasphinx.agent.services import Services


def without_examples(dataset: Dataset, examples: Sequence[Example]) -> Dataset:
    """Return `dataset` without the questions whose text or reference one of `examples` has.

    The paper leaves out the questions of its user study, which are its examples.
    """
    known = {_normalised(text) for example in examples for text in (example.question, example.sql)}
    kept = [
        question
        for question in dataset.questions
        if known.isdisjoint(map(_normalised, (question.question, question.prompt, question.sql)))
    ]
    return Dataset(kept, dataset.databases)


def show_examples_of_others(services: Services) -> None:
    """Let `services` show examples of other databases where a database has fewer than the setting `shots`.

    The databases of published test sets have no examples of their own.
    """
    settings = services.settings
    store = ExampleStore(settings.data_dir)
    services.examples = StoredExamples(store, services.embedder, settings.shots, of_others=True)


def databases_with_few(dataset: Dataset, services: Services) -> list[str]:
    """Return the ids of the databases of `dataset` with fewer stored examples of their own than the setting `shots`.

    Raises:
        DatasetInvalid: see `find_databases`.
        Terminal: a database cannot be opened.
    """
    store, few = ExampleStore(services.settings.data_dir), []
    for db_id, file in find_databases(dataset).items():
        url = URL.create("sqlite", database=str(file.absolute())).render_as_string()
        if len(store.examples(services.source(url).database.identity)) < services.settings.shots:
            few.append(db_id)
    return few


def _normalised(text: str) -> str:
    return " ".join(text.rstrip("; \n").casefold().split())
