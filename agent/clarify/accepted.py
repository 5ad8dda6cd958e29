"""An accepted answer as a few-shot example."""

from agent.audit.step import note
from agent.catalog.source import Source
from agent.clarify.types import Clarification, Turn
from agent.errors import ExampleInvalid, ExamplesUnavailable, StatementError
from agent.examples.checked import checked_example
from agent.examples.store import ExampleStore
from agent.services import Services


def keep_as_example(turn: Turn, source: Source, services: Services) -> None:
    """Keep the question of `turn` with its statement and what the user said, unless it shows a secret or is too long.

    Where it cannot be kept, a note says why: the answer is accepted all the same.
    """
    said = [Clarification(question=each["question"], answer=each["answer"]) for each in turn["clarifications"]]
    try:
        example = checked_example(turn["question"], turn["sql"], source, said)
        ExampleStore(services.settings.data_dir).add([example])
    except (ExampleInvalid, ExamplesUnavailable, StatementError) as error:
        note(f"the question was not kept as an example: {error}")
    else:
        note(f"kept as the example {example.id}")
