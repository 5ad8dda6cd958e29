"""What a client of the server may send."""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    create_model,
    model_validator,
)

from agent.clarify.hearing import LONGEST_ANSWER
from agent.clarify.types import Clarify, ClarifyingQuestion, Feedback
from agent.conversation.threads import THREAD_ID
from agent.service.tenant import asking
from agent.settings import Settings
from agent.state import OutputType

_MAX_BATCH = 100
_MAX_DATASETS = 20
_DATASETS = "Ids of the datasets to ask; on a thread left out: those asked before."


def _storable(asked: Any) -> Any:
    """Refuse what no thread can keep: whole numbers of more than 64 bits."""
    parts = [asked]
    while parts:
        part = parts.pop()
        parts += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        if isinstance(part, int) and not -(2**63) <= part < 2**63:
            raise ValueError("a number in it is too large")
    return asked


_ThreadId = Annotated[str, StringConstraints(pattern=THREAD_ID)]
_Answer = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_ANSWER)]
_SHARED: dict[str, Any] = {
    "thread_id": (
        _ThreadId | None,
        Field(None, description="The thread to go on with, as an output named it; left out: a new one begins."),
    ),
    "clarification_answer": (
        _Answer | None,
        Field(None, description="In place of a question: the answer to the one that came back on the thread."),
    ),
    "clarification": (
        Annotated[ClarifyingQuestion, AfterValidator(_storable)] | None,
        Field(None, description="The question that came back, as it came, where the answer names no thread."),
    ),
    "output_type": (
        OutputType | None,
        Field(None, description="Form of the answer; left out: chosen from the result."),
    ),
    "clarify": (Clarify | None, Field(None, description="When to ask back.")),
}
_DatasetId = Annotated[str, StringConstraints(pattern=r"^ds_[0-9a-f]{16}$")]


_SourceName = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class _Said(BaseModel):
    """An input: a question, or the answer to one that came back, or feedback on an answer."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="after")
    def _is_one_of_them(self) -> Self:
        """Hold what came together against what goes together."""
        given = {name for name in type(self).model_fields if getattr(self, name) is not None}
        said = given & {"question", "clarification_answer", "feedback"}
        begun = given & {"thread_id", "clarification"}
        if len(said) != 1:
            raise ValueError(f"exactly one of {_either(self)} is needed")
        if "question" in said and "clarification" in given:
            raise ValueError("clarification comes with clarification_answer alone")
        if "clarification_answer" in said and len(begun) != 1:
            raise ValueError("clarification_answer needs thread_id, or else clarification")
        if "feedback" in said and begun != {"thread_id"}:
            raise ValueError("feedback needs thread_id, and no clarification")
        if "question" not in said and "thread_id" in given and given & {"source", "datasets"}:
            raise ValueError("what the thread asks is settled: source and datasets come with a question")
        if "thread_id" not in given and _only_datasets(self) and "datasets" not in given:
            raise ValueError("datasets are needed, where no thread names them")
        return self


def _only_datasets(said: _Said) -> bool:
    return hasattr(said, "datasets") and not hasattr(said, "source")


def _either(said: _Said) -> str:
    return ", ".join(name for name in ("question", "clarification_answer", "feedback") if hasattr(said, name))


def agent_question(settings: Settings) -> type[BaseModel]:
    """Return the schema of an input of the SQL agent; a source can be named if any is."""
    fields: dict[str, Any] = {
        "feedback": (
            Feedback | None,
            Field(None, description="In place of a question: whether the last answer on the thread is accepted."),
        ),
        "enable_sql_validation": (bool | None, Field(None, description="Whether the model checks the statement.")),
    }
    if settings.sources:
        fields["source"] = _named_source(settings, "Which source to ask; left out: chosen.")
    return _schema("Question", settings, fields)


def analyst_question(settings: Settings) -> type[BaseModel]:
    """Return the schema of an input of the analyst: datasets by id, and no files, since paths name those too.

    In place of datasets a source can be named if any is.
    """
    ids: Any = Annotated[list[_DatasetId], Field(min_length=1, max_length=_MAX_DATASETS)]
    fields: dict[str, Any] = {"datasets": (ids | None, Field(None, description=_DATASETS))}
    if settings.sources:
        fields["source"] = _named_source(settings, "Which source to ask, in place of datasets.")
    return _schema("AnalystQuestion", settings, fields)


def _named_source(settings: Settings, description: str) -> Any:
    """Return the field for the name of a configured source; where tenants ask, each has names of its own."""
    named: Any = _SourceName if settings.api_keys else Literal[tuple(settings.sources)]
    return named | None, Field(None, description=description)


def body_check(question: type[BaseModel]) -> Any:
    """Return a dependency that holds the body of a request against the schema of an input, and counts its questions.

    LangServe does so too, but answers 500 for some of what a client may get wrong, in /batch above all.
    """
    from fastapi import Depends, Request
    from fastapi.exceptions import RequestValidationError

    questions: Any = (list[question], Field(max_length=_MAX_BATCH))  # type: ignore[valid-type]
    one = create_model("One", input=(question, ...))
    options: Any = (dict[str, Any], {})
    many = create_model("Many", inputs=questions, kwargs=options)

    async def check(request: Request) -> None:
        if request.method != "POST":
            return
        expected = many if request.url.path.endswith("/batch") else one
        try:
            read = expected.model_validate_json(await request.body())
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from error
        await asking().admit(len(getattr(read, "inputs", (read,))))

    return Depends(check)


def _schema(name: str, settings: Settings, fields: dict[str, Any]) -> type[BaseModel]:
    """Return the schema of an input: a question that is not too long, `fields`, and nothing unknown."""
    length = StringConstraints(strip_whitespace=True, min_length=1, max_length=settings.max_question_chars)
    asked: Any = (
        Annotated[str, length] | None,
        Field(None, description="The question, in English, Russian or Chinese."),
    )
    return create_model(name, __base__=_Said, question=asked, **_SHARED, **fields)
