"""Text embeddings from an OpenAI-compatible endpoint."""

import threading
import time
from collections.abc import Sequence

import numpy as np
import openai
from cachetools import LRUCache
from langchain_openai.embeddings.base import OpenAIEmbeddings
from numpy.typing import NDArray
from pydantic import SecretStr

from datasphinx.agent.errors import ModelUnreachable
from datasphinx.agent.llm.failures import EndpointFailures
from datasphinx.agent.messages import Message
from datasphinx.agent.record.telemetry import record_model_call

_BATCH = 256
_CACHED_VECTORS = 50_000
_NO_KEY = "none"


class EndpointEmbedder:
    """Client of an embeddings endpoint with a cache of vectors. Safe to share between threads."""

    def __init__(self, *, base_url: str, model: str, api_key: SecretStr | None = None, timeout_s: float = 30.0) -> None:
        """Create a client for the endpoint at `base_url`, which ends with `/v1` as for chat models."""
        self._failures = EndpointFailures(base_url, api_key)
        self.identity = f"{base_url} {model}"
        self._client = OpenAIEmbeddings(
            openai_api_base=base_url,
            model=model,
            openai_api_key=api_key or SecretStr(_NO_KEY),
            request_timeout=timeout_s,
            max_retries=1,
            chunk_size=_BATCH,
            # Token counting would download a tokenizer of OpenAI, and other servers accept only plain text.
            check_embedding_ctx_length=False,
        )
        self._lock = threading.Lock()
        self._cache: LRUCache[str, NDArray[np.float32]] = LRUCache(maxsize=_CACHED_VECTORS)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a matrix with one row per text.

        Raises:
            ModelUnreachable: the endpoint does not respond, fails, or returns an invalid response.
            ModelRejected: the endpoint rejected the request.
        """
        with self._lock:
            vectors = {text: self._cache[text] for text in texts if text in self._cache}
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        new_vectors = dict(zip(missing, self._fetch(missing), strict=True)) if missing else {}
        with self._lock:
            self._cache.update(new_vectors)
        vectors |= new_vectors
        return np.stack([vectors[text] for text in texts]) if texts else np.zeros((0, 0), np.float32)

    def _fetch(self, texts: list[str]) -> NDArray[np.float32]:
        started, failure = time.perf_counter(), None
        try:
            vectors = np.asarray(self._client.embed_documents(texts), np.float32)
        except (openai.APIError, ValueError, TypeError, KeyError, AttributeError) as error:
            failure = self._failures.of(error)
            raise failure from error
        finally:
            record_model_call(
                "embeddings",
                self._client.model,
                started,
                provider=None,
                url=self._failures.url,
                usage=None,
                error=failure,
                request={},
            )
        if vectors.ndim != 2 or len(vectors) != len(texts):
            reason = Message("vectors_differ", texts=len(texts), vectors=len(vectors))
            raise ModelUnreachable(self._failures.url, reason)
        return vectors
