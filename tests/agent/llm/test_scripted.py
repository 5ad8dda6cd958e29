import subprocess
import sys
import threading
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from datasphinx.agent.errors import ModelAnswerUnreadable, ModelUnreachable
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.formats import json_schema_options
from datasphinx.agent.llm.schemas import GeneratedSQL, SQLValidation
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.record.step import Step, current_step, new_audit
from datasphinx.agent.settings import load_settings

MESSAGES: list[BaseMessage] = [SystemMessage("You write SQL."), HumanMessage("How many?")]
ONE = {"sql": "SELECT 1"}


@pytest.mark.process
def test_a_model_of_another_package_is_used_without_the_packages_of_openai() -> None:
    code = (
        "from datasphinx.agent.llm.client import ModelClient; from datasphinx.agent.llm.scripted import ScriptedModel\n"
        "from datasphinx.agent.settings import load_settings\n"
        "client = ModelClient(ScriptedModel({}), load_settings(), name='scripted')\n"
        "import sys; print(client.capabilities is not None, 'openai' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)

    assert done.stdout.split() == ["True", "False"], done.stderr


def client(model: ScriptedModel, **overrides: Any) -> ModelClient:
    return ModelClient(model, load_settings(**overrides), name="scripted")


@pytest.mark.parametrize(
    "answer",
    [
        ONE,
        GeneratedSQL(sql="SELECT 1"),
        '{"sql": "SELECT 1"}',
        "```sql\nSELECT 1;\n```",
        lambda messages: ONE,
        lambda messages: '{"sql": "SELECT 1"}',
        lambda messages: GeneratedSQL(sql="SELECT 1"),
    ],
    ids=["dict", "schema", "json", "text", "function to dict", "function to text", "function to schema"],
)
def test_every_kind_of_answer(answer: Any) -> None:
    assert client(ScriptedModel({"GeneratedSQL": [answer]})).ask(GeneratedSQL, MESSAGES).sql == "SELECT 1"


def test_a_function_sees_the_messages() -> None:
    model = ScriptedModel({"GeneratedSQL": [lambda messages: {"sql": f"SELECT {len(messages)}"}]})
    assert client(model).ask(GeneratedSQL, MESSAGES).sql == "SELECT 2"


def test_each_schema_has_its_queue_in_order() -> None:
    model = ScriptedModel(
        {"GeneratedSQL": [{"sql": "SELECT 1"}, {"sql": "SELECT 2"}], "SQLValidation": [{"is_valid": True}]}
    )
    asked = client(model)
    assert asked.ask(GeneratedSQL, MESSAGES).sql == "SELECT 1"
    assert asked.ask(SQLValidation, MESSAGES).is_valid
    assert asked.ask(GeneratedSQL, MESSAGES).sql == "SELECT 2"
    assert [call.schema_name for call in model.calls] == ["GeneratedSQL", "SQLValidation", "GeneratedSQL"]


def test_calls_keep_what_was_sent() -> None:
    model = ScriptedModel({"GeneratedSQL": [ONE]})
    client(model).ask(GeneratedSQL, MESSAGES)
    [call] = model.calls
    assert call.messages == MESSAGES
    assert call.prompt == "You write SQL.\nHow many?"


def test_an_empty_queue_is_unreachable() -> None:
    model = ScriptedModel({"GeneratedSQL": [ONE]})
    asked = client(model)
    asked.ask(GeneratedSQL, MESSAGES)
    for schema in (GeneratedSQL, SQLValidation):
        with pytest.raises(ModelUnreachable, match=f"no answer is left for {schema.__name__}"):
            asked.ask(schema, MESSAGES)


def test_the_last_answer_may_be_repeated() -> None:
    model = ScriptedModel({"GeneratedSQL": [{"sql": "SELECT 1"}, {"sql": "SELECT 2"}]}, repeat_last=True)
    assert [client(model).ask(GeneratedSQL, MESSAGES).sql[-1] for _ in range(4)] == ["1", "2", "2", "2"]


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


def test_unreadable_answers_are_repaired_once() -> None:
    model = ScriptedModel({"GeneratedSQL": ["talk", "more talk", ONE]})
    with pytest.raises(ModelAnswerUnreadable) as caught:
        client(model).ask(GeneratedSQL, MESSAGES)
    assert caught.value.text == "more talk"
    assert len(model.calls) == 2


def test_tokens_are_counted_by_characters() -> None:
    model = ScriptedModel({"GeneratedSQL": [ONE]})
    usage = model.bind(**json_schema_options("GeneratedSQL", {})).invoke(MESSAGES).usage_metadata
    assert usage is not None
    assert usage["input_tokens"] == len("You write SQL.How many?") // 4
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


def test_calls_are_on_the_record_without_a_price() -> None:
    step = Step("generate_sql", new_audit("t"))
    token = current_step.set(step)
    try:
        client(ScriptedModel({"GeneratedSQL": [ONE]})).ask(GeneratedSQL, MESSAGES)
    finally:
        current_step.reset(token)
    [call] = step.calls
    assert (call["schema"], call["model"], call["cost_usd"]) == ("GeneratedSQL", "scripted", None)
    assert call["prompt_tokens"] > 0


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


def test_a_queue_is_a_copy() -> None:
    queue: list[Any] = [ONE]
    client(ScriptedModel({"GeneratedSQL": queue})).ask(GeneratedSQL, MESSAGES)
    assert queue == [ONE]


async def _ask(model: ScriptedModel) -> str:
    answer = await model.bind(**json_schema_options("GeneratedSQL", {})).ainvoke(MESSAGES)
    return str(answer.content)


def test_it_answers_async_calls_too() -> None:
    import asyncio

    assert asyncio.run(_ask(ScriptedModel({"GeneratedSQL": [ONE]}))) == '{"sql": "SELECT 1"}'
