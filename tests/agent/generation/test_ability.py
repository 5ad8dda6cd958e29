"""The measurement of what a model can do."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import ModelRejected
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.ability import load_ability
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.support.fake_openai import FakeOpenAI, Reply

QUESTION = "How many customers are there?"
ANSWERS = {
    "ferries": "SELECT COUNT(id) FROM boats WHERE length_m > 40 AND kind = 'ferry'",
    "the most boats": "SELECT name FROM harbours WHERE id = 2",
    "no boats": "SELECT h.name FROM harbours h LEFT JOIN boats b ON b.harbour_id = h.id WHERE b.id IS NULL",
    QUESTION: "SELECT COUNT(*) FROM customers",
}


def model(
    wrong: str = "", *, verdict: Callable[[str], bool] | None = None, in_json: bool = True
) -> Callable[[dict[str, Any]], Any]:
    """Return the behaviour of a model: `wrong` is the part of a question that it answers wrongly in JSON.

    `verdict` judges the prompt of a validation, by default correctly; without `in_json` the model writes plain text.
    """

    def is_right(prompt: str) -> bool:
        return "ASC LIMIT 1" not in prompt and "kind = 'ferry'\n" not in f"{prompt}\n"

    def answer(request: dict[str, Any]) -> Any:
        prompt = "\n".join(message["content"] for message in request["messages"])
        schema = request.get("response_format", {}).get("json_schema", {}).get("name", "")
        part = next((part for part in ANSWERS if part in prompt), "")
        if schema == "SQLValidation":
            return {"is_valid": (verdict or is_right)(prompt)}
        if schema == "GeneratedSQL":
            sql = "SELECT 7" if part == wrong else ANSWERS[part]
            return {"sql": sql} if in_json else "I do not know."
        return ANSWERS[part].removeprefix("SELECT") if part else "24"

    return answer


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def services(server: FakeOpenAI, cache_dir: Path, tmp_path: Path) -> Callable[..., Services]:
    """A maker of services that measure the model of the server, with a cache of the test."""

    def make(**overrides: Any) -> Services:
        endpoint = {"llm_base_url": server.base_url, "llm_model": "small", "llm_profile": "auto"}
        return Services(load_settings(cache_dir=tmp_path, **{**endpoint, **overrides}))

    return make


def abilities(services: Services) -> tuple[bool, bool]:
    """Whether the model words answers, and whether it checks statements."""
    roles = services.roles
    return services.models.of().words_answers, roles.checks_sql


def test_a_model_that_answers_in_json_and_judges_does_all(
    server: FakeOpenAI, services: Callable[..., Services]
) -> None:
    server.default = model()
    assert abilities(services()) == (True, True)
    assert len(server.requests) == 6


def test_a_model_that_errs_when_it_words_answers_is_not_asked_for_their_form(
    server: FakeOpenAI, services: Callable[..., Services]
) -> None:
    behaviour = model()

    def answer(request: dict[str, Any]) -> Any:
        answered = behaviour(request)
        asked = request.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
        return {**answered, "sql": "SELECT 7"} if "empty_answer" in asked and "sql" in answered else answered

    server.default = answer
    connected = services()
    output = build_graph(connected).invoke({"question": QUESTION})

    assert (abilities(connected), output["value"]) == ((False, True), 1184)


@pytest.mark.parametrize("wrong", ["ferries", "the most boats", "no boats"])
def test_after_a_wrong_answer_in_json_the_model_writes_statements_alone(
    server: FakeOpenAI, services: Callable[..., Services], wrong: str
) -> None:
    server.default = model(wrong)
    assert abilities(services()) == (False, False)


def test_an_answer_that_a_question_is_off_topic_is_wrong_and_breaks_no_question(
    server: FakeOpenAI, services: Callable[..., Services]
) -> None:
    behaviour = model()

    def answer(request: dict[str, Any]) -> Any:
        answered = behaviour(request)
        is_measured = QUESTION not in request["messages"][-1]["content"]
        return {**answered, "sql": "", "off_topic": True} if "sql" in answered and is_measured else answered

    server.default = answer
    connected = services()
    assert abilities(connected) == (False, False)
    assert build_graph(connected).invoke({"question": QUESTION})["value"] == 1184


@pytest.mark.heavy
@pytest.mark.parametrize("verdict", [True, False])
def test_a_model_that_misjudges_does_not_validate(
    server: FakeOpenAI, services: Callable[..., Services], verdict: bool
) -> None:
    server.default = model(verdict=lambda prompt: verdict)
    connected = services()
    assert abilities(connected) == (True, False)
    output = build_graph(connected).invoke({"question": QUESTION})
    assert output["value"] == 1184
    assert output["audit"]["llm_calls"] == 1


@pytest.mark.heavy
def test_the_measurement_is_made_once_and_belongs_to_no_question(
    server: FakeOpenAI, services: Callable[..., Services], tmp_path: Path
) -> None:
    server.default = model("ferries")
    first = build_graph(services(max_llm_calls=1)).invoke({"question": QUESTION})
    assert (first["value"], first["audit"]["llm_calls"]) == (1184, 1)
    result = load_ability(tmp_path, server.base_url, "small")
    assert result and (result.handles_json, result.validates) == (False, None)
    server.requests.clear()
    assert build_graph(services()).invoke({"question": QUESTION})["value"] == 1184
    assert len(server.requests) == 1


def test_an_endpoint_that_fails_is_measured_later(
    server: FakeOpenAI, services: Callable[..., Services], tmp_path: Path
) -> None:
    server.default = Reply(status=401)
    with pytest.raises(ModelRejected):
        abilities(services())
    assert len(server.requests) == 1 and load_ability(tmp_path, server.base_url, "small") is None
    server.default = model("ferries")
    assert abilities(services()) == (False, False)
