"""Ranking of questions by their semantic similarity to another one."""

from collections.abc import Iterator, Sequence
from typing import cast

from langchain_core.embeddings import Embeddings
from langchain_core.example_selectors import SemanticSimilarityExampleSelector
from langchain_core.vectorstores import InMemoryVectorStore

from datasphinx.agent.retrieval.semantic import Embedder

_FIRST_RANKED = 20
"""Number of questions ranked at first; all are ranked only if the caller reads on."""


class SimilarQuestions:
    """The questions of one source, ranked by langchain-core's `SemanticSimilarityExampleSelector`."""

    def __init__(self, questions: Sequence[str], embedder: Embedder) -> None:
        """Compute the vectors of the questions."""
        self.questions = questions
        self._selector = SemanticSimilarityExampleSelector.from_examples(
            [{"question": question} for question in questions],
            _Embeddings(embedder),
            InMemoryVectorStore,
            input_keys=["question"],
        )

    def ranked(self, question: str) -> Iterator[str]:
        """Yield all questions, most similar to `question` first."""
        yielded = 0
        for count in (_FIRST_RANKED, len(self.questions)):
            # Copied because threads share the selector.
            selector = self._selector.model_copy(update={"k": count})
            for match in selector.select_examples({"question": question})[yielded:]:
                yielded += 1
                yield match["question"]


class _Embeddings(Embeddings):
    """Adapter of an embedder to langchain-core's `Embeddings`."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        # Arrays instead of lists: thousands of vectors would have to be converted for every question.
        return cast(list[list[float]], list(self._embedder.embed(texts)))

    def embed_query(self, text: str) -> list[float]:
        return cast(list[float], self._embedder.embed([text])[0])
