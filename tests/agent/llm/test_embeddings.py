"""Vectors from an endpoint, also from one that behaves badly."""

import pytest
from pydantic import SecretStr

from datasphinx.agent.errors import ModelRejected, ModelUnreachable
from datasphinx.agent.llm.embeddings import EndpointEmbedder
from datasphinx.agent.retrieval.index import SchemaIndex
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from tests.fake_openai import FakeOpenAI, Reply, vectors


def embedder(server: FakeOpenAI) -> EndpointEmbedder:
    return EndpointEmbedder(base_url=server.base_url, model="bge-m3", api_key=SecretStr("sk-1"), timeout_s=5)


def test_vectors_come_in_the_order_of_the_texts() -> None:
    with FakeOpenAI(default=vectors) as server:
        found = embedder(server).embed(["other", "doctors"])

        assert found.tolist() == [[0.0, 1.0], [1.0, 0.0]]
        assert server.requests[0]["model"] == "bge-m3"
        assert {name.lower(): value for name, value in server.headers[0].items()}["authorization"] == "Bearer sk-1"


def test_no_text_is_sent_twice() -> None:
    with FakeOpenAI(default=vectors) as server:
        asked = embedder(server)
        asked.embed(["doctors", "doctors", "a"])
        again = asked.embed(["a", "b", "doctors"])

        assert [request["input"] for request in server.requests] == [["doctors", "a"], ["b"]]
        assert again.tolist() == [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
        assert asked.embed([]).shape[0] == 0


def test_a_schema_is_searched_with_it() -> None:
    names = ("physician", "invoice", "planet")
    catalog = Catalog("sqlite", {name: Table(name, (Column("x", "TEXT"),)) for name in names})
    with FakeOpenAI(default=vectors) as server:
        assert SchemaIndex(catalog, embedder(server)).rank("the doctors") == ["physician"]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(status=401), ModelRejected),
        (Reply(status=404), ModelRejected),
        (Reply(status=503, headers={"retry-after": "0"}), ModelUnreachable),
        (Reply(body="no JSON"), ModelUnreachable),
        (Reply(body='{"object": "list", "data": [], "model": "m"}'), ModelUnreachable),
    ],
)
def test_what_goes_wrong_has_a_type(reply: Reply, error: type[Exception]) -> None:
    with FakeOpenAI(default=reply) as server, pytest.raises(error) as raised:
        embedder(server).embed(["doctors"])

    assert server.base_url in str(raised.value)


def test_nobody_listens() -> None:
    with FakeOpenAI() as server:
        gone = embedder(server)

    with pytest.raises(ModelUnreachable):
        gone.embed(["doctors"])
