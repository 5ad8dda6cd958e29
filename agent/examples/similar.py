"""Ranking of few-shot examples by the semantic similarity of their questions."""

import logging
from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.example_selectors import SemanticSimilarityExampleSelector
from langchain_core.vectorstores import InMemoryVectorStore

from datasphinx.agent.errors import Unavailable
from datasphinx.agent.examples.example import Example
from datasphinx.agent.examples.store import ExampleStore
from datasphinx.agent.retrieval.semantic import Embedder, identity_of

_log = logging.getLogger(__name__)
_FIRST_RANKED = 20
"""Number of examples ranked at first; all are ranked only if the caller reads on."""


class SimilarExamples:
    """The examples of one source, ranked by langchain-core's `SemanticSimilarityExampleSelector`."""

    def __init__(self, examples: Sequence[Example], embedder: Embedder, store: ExampleStore) -> None:
        """Load the vectors of the questions from `store`; compute missing vectors with `embedder` and store them.

        Raises:
            ModelUnreachable, ModelRejected: the embeddings endpoint failed.
        """
        self.examples = examples
        self._selector = SemanticSimilarityExampleSelector.from_examples(
            [{"question": example.question, "position": str(position)} for position, example in enumerate(examples)],
            _CachedEmbeddings(embedder, store),
            InMemoryVectorStore,
            input_keys=["question"],
        )

    def ranked(self, question: str) -> Iterator[Example]:
        """Yield all examples, most similar to `question` first.

        Raises:
            ModelUnreachable, ModelRejected: the embeddings endpoint failed.
        """
        yielded = 0
        for count in (_FIRST_RANKED, len(self.examples)):
            # Copied because threads share the selector.
            selector = self._selector.model_copy(update={"k": count})
            for match in selector.select_examples({"question": question})[yielded:]:
                yielded += 1
                yield self.examples[int(match["position"])]


class _CachedEmbeddings(Embeddings):
    """Adapter of an embedder to langchain-core's `Embeddings`, which stores the vectors of example questions."""

    def __init__(self, embedder: Embedder, store: ExampleStore) -> None:
        self._embedder, self._store = embedder, store

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        identity = identity_of(self._embedder)
        stored = self._store.vectors(identity) if identity else {}
        missing = [text for text in dict.fromkeys(texts) if text not in stored]
        new_vectors = dict(zip(missing, self._embedder.embed(missing), strict=True)) if missing else {}
        if identity and new_vectors:
            try:
                self._store.keep_vectors(identity, new_vectors)
            except Unavailable as error:
                # The file may be read-only; the next process then computes the vectors again.
                _log.warning("%s", error)
        # Arrays instead of lists: thousands of vectors would have to be converted for every question.
        return cast(list[list[float]], [(stored | new_vectors)[text] for text in texts])

    def embed_query(self, text: str) -> list[float]:
        return cast(list[float], np.asarray(self._embedder.embed([text]))[0])
