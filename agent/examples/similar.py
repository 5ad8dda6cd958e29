"""Ranking of few-shot examples by the semantic similarity of their questions."""

from collections.abc import Iterator, Sequence
from typing import cast

from langchain_core.embeddings import Embeddings
from langchain_core.example_selectors import SemanticSimilarityExampleSelector
from langchain_core.vectorstores import InMemoryVectorStore

from datasphinx.agent.examples.example import Example
from datasphinx.agent.retrieval.semantic import Embedder

_FIRST_RANKED = 20
"""Number of examples ranked at first; all are ranked only if the caller reads on."""


class SimilarExamples:
    """The examples of one source, ranked by langchain-core's `SemanticSimilarityExampleSelector`."""

    def __init__(self, examples: Sequence[Example], embedder: Embedder) -> None:
        """Compute the vectors of the questions."""
        self.examples = examples
        self._selector = SemanticSimilarityExampleSelector.from_examples(
            [{"question": example.question, "position": str(position)} for position, example in enumerate(examples)],
            _Embeddings(embedder),
            InMemoryVectorStore,
            input_keys=["question"],
        )

    def ranked(self, question: str) -> Iterator[Example]:
        """Yield all examples, most similar to `question` first."""
        yielded = 0
        for count in (_FIRST_RANKED, len(self.examples)):
            # Copied because threads share the selector.
            selector = self._selector.model_copy(update={"k": count})
            for match in selector.select_examples({"question": question})[yielded:]:
                yielded += 1
                yield self.examples[int(match["position"])]


class _Embeddings(Embeddings):
    """Adapter of an embedder to langchain-core's `Embeddings`."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        # Arrays instead of lists: thousands of vectors would have to be converted for every question.
        return cast(list[list[float]], list(self._embedder.embed(texts)))

    def embed_query(self, text: str) -> list[float]:
        return cast(list[float], self._embedder.embed([text])[0])
