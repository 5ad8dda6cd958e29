"""Vectors of texts from an OpenAI-compatible endpoint."""

import threading
from collections.abc import Sequence

import numpy as np
import openai
from cachetools import LRUCache
from langchain_openai import OpenAIEmbeddings
from numpy.typing import NDArray
from pydantic import SecretStr

from agent.errors import ModelRejected, ModelUnreachable

_BATCH = 256
_KEPT = 50_000
_NO_KEY = "none"


class EndpointEmbedder:
    """An embeddings endpoint. Vectors are kept, so that no text is sent twice; safe to share between threads."""

    def __init__(self, *, base_url: str, model: str, api_key: SecretStr | None = None, timeout_s: float = 30.0) -> None:
        """Take the endpoint's URL (as for chat, it ends with `/v1`), the model's name and the key, if it wants one."""
        self._endpoint = base_url
        self.identity = f"{base_url} {model}"
        self._client = OpenAIEmbeddings(
            openai_api_base=base_url,
            model=model,
            openai_api_key=api_key or SecretStr(_NO_KEY),
            request_timeout=timeout_s,
            chunk_size=_BATCH,
            # Token counting would load an OpenAI tokenizer over the network, and other servers want plain text.
            check_embedding_ctx_length=False,
        )
        self._lock = threading.Lock()
        self._kept: LRUCache[str, NDArray[np.float32]] = LRUCache(maxsize=_KEPT)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text.

        Raises:
            ModelUnreachable: the endpoint does not answer, or with errors of its own or nonsense.
            ModelRejected: the endpoint refused the request.
        """
        with self._lock:
            known = {text: self._kept[text] for text in texts if text in self._kept}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        fresh = dict(zip(missing, self._fetch(missing), strict=True)) if missing else {}
        with self._lock:
            self._kept.update(fresh)
        found = known | fresh
        return np.stack([found[text] for text in texts]) if texts else np.zeros((0, 0), np.float32)

    def _fetch(self, texts: list[str]) -> NDArray[np.float32]:
        try:
            vectors = np.asarray(self._client.embed_documents(texts), np.float32)
        except openai.APIStatusError as error:
            refused = error.status_code < 500 and error.status_code not in (408, 429)
            raise (ModelRejected if refused else ModelUnreachable)(self._endpoint, str(error.message)[:300]) from error
        except (openai.APIError, ValueError, TypeError, KeyError, AttributeError) as error:
            reason = str(error).strip() or type(error).__name__
            raise ModelUnreachable(self._endpoint, reason[:300]) from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ModelUnreachable(self._endpoint, f"{len(texts)} texts were sent and {len(vectors)} vectors came back")
        return vectors
