import subprocess
import sys
import threading
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from datasphinx.agent.errors import ModelUnreachable
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.formats import json_schema_options
from datasphinx.agent.llm.schemas import GeneratedSQL
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.settings import load_settings

MESSAGES: list[BaseMessage] = [SystemMessage("You write SQL."), HumanMessage("How many?")]
ONE = {"sql": "SELECT 1"}


@pytest.mark.heavy
@pytest.mark.process
def test_a_model_of_another_package_is_used_without_the_packages_of_openai() -> None:
    code = (
        "from datasphinx.agent.llm.client import ModelClient; from datasphinx.agent.llm.scripted import ScriptedModel\n"
        "from datasphinx.agent.settings import load_settings\n"
        "from datasphinx.agent.llm.schemas import GeneratedSQL\n"
        "model = ScriptedModel({'GeneratedSQL': [{'sql': 'SELECT 1'}]})\n"
        "answer = ModelClient(model, load_settings(), name='scripted').ask(GeneratedSQL, [])\n"
        "import sys; print(answer.sql == 'SELECT 1', 'openai' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)

    assert done.stdout.split() == ["True", "False"], done.stderr


def client(model: ScriptedModel, **overrides: Any) -> ModelClient:
    return ModelClient(model, load_settings(**overrides), name="scripted")


@pytest.mark.parametrize("error", [TimeoutError("slow"), ConnectionRefusedError("nobody there"), ConnectionError()])
def test_a_network_error_is_unreachable(error: Exception) -> None:
    with pytest.raises(ModelUnreachable) as caught:
        client(ScriptedModel({"GeneratedSQL": [error]})).ask(GeneratedSQL, MESSAGES)
    assert caught.value.reason == (str(error) or "ConnectionError")
    assert caught.value.endpoint == "scripted"


def test_another_error_is_raised_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        client(ScriptedModel({"GeneratedSQL": [ZeroDivisionError()]})).ask(GeneratedSQL, MESSAGES)


def test_a_broken_body_is_repaired() -> None:
    model = ScriptedModel({"GeneratedSQL": [ValueError("half a body"), ONE]})
    assert client(model).ask(GeneratedSQL, MESSAGES).sql == "SELECT 1"
    assert "cut off or malformed" in model.calls[1].prompt


def test_without_a_schema_the_queue_is_called_text() -> None:
    model = ScriptedModel({"text": [ONE, "SELECT 2"]})
    assert client(model, llm_structured_output="text").ask(GeneratedSQL, MESSAGES).sql == "SELECT 1"
    assert client(model).write(MESSAGES, grammar="root ::= .*").text == "SELECT 2"


def test_threads_get_each_answer_once() -> None:
    model = ScriptedModel({"GeneratedSQL": [{"sql": f"SELECT {number}"} for number in range(40)]})
    asked, said = client(model), list[str]()

    def ask() -> None:
        said.extend(asked.ask(GeneratedSQL, MESSAGES).sql for _ in range(5))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == sorted(f"SELECT {number}" for number in range(40))


async def _ask(model: ScriptedModel) -> str:
    answer = await model.bind(**json_schema_options("GeneratedSQL", {})).ainvoke(MESSAGES)
    return str(answer.content)


def test_it_answers_async_calls_too() -> None:
    import asyncio

    assert asyncio.run(_ask(ScriptedModel({"GeneratedSQL": [ONE]}))) == '{"sql": "SELECT 1"}'
