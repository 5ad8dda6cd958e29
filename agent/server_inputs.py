"""What a client of the server may send, and how what it may not send is refused."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, create_model

from agent.settings import Settings
from agent.state import Clarify, OutputType

if TYPE_CHECKING:
    from fastapi import Request
    from fastapi.responses import JSONResponse

_MAX_BATCH = 100
_MAX_DATASETS = 20

_SHARED: dict[str, Any] = {
    "output_type": (
        OutputType | None,
        Field(None, description="Form of the answer; left out: chosen from the result."),
    ),
    "clarify": (Clarify | None, Field(None, description="When to ask back.")),
    "clarification_answer": (str | None, Field(None, description="The answer to the last clarifying question.")),
}
_DatasetId = Annotated[str, StringConstraints(pattern=r"^ds_[0-9a-f]{16}$")]


def agent_question(settings: Settings) -> type[BaseModel]:
    """Return the schema of an input of the SQL agent; a source can be named if any is."""
    fields: dict[str, Any] = {
        "enable_sql_validation": (bool | None, Field(None, description="Whether the model checks the statement."))
    }
    if settings.sources:
        fields["source"] = _named_source(settings, "Which source to ask; left out: chosen.")
    return _schema("Question", settings, fields)


def analyst_question(settings: Settings) -> type[BaseModel]:
    """Return the schema of an input of the analyst: datasets by id, and no files, since paths name those too.

    In place of datasets a source can be named if any is.
    """
    ids: Any = Annotated[list[_DatasetId], Field(min_length=1, max_length=_MAX_DATASETS)]
    if not settings.sources:
        return _schema(
            "AnalystQuestion", settings, {"datasets": (ids, Field(description="Ids of the datasets to ask."))}
        )
    fields = {
        "datasets": (ids | None, Field(None, description="Ids of the datasets to ask, or else `source`.")),
        "source": _named_source(settings, "Which source to ask, in place of datasets."),
    }
    return _schema("AnalystQuestion", settings, fields)


def _named_source(settings: Settings, description: str) -> Any:
    """Return the field for the name of a configured source."""
    named: Any = Literal[tuple(settings.sources)]
    return named | None, Field(None, description=description)


def body_check(question: type[BaseModel]) -> Any:
    """Return a dependency that holds the body of a request against the schema of an input.

    LangServe does so too, but answers 500 for some of what a client may get wrong, in /batch above all.
    """
    from fastapi import Depends, Request
    from fastapi.exceptions import RequestValidationError

    questions: Any = (list[question], Field(max_length=_MAX_BATCH))  # type: ignore[valid-type]
    one = create_model("One", input=(question, ...))
    many = create_model("Many", inputs=questions)

    async def check(request: Request) -> None:
        if request.method != "POST":
            return
        expected = many if request.url.path.endswith("/batch") else one
        try:
            expected.model_validate_json(await request.body())
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from error

    return Depends(check)


async def refused(request: "Request", error: Exception) -> "JSONResponse":
    """Say what is wrong with an input without repeating it: it may be long, or hold what UTF-8 cannot."""
    from fastapi.responses import JSONResponse

    found = cast("ValidationError", error).errors()
    detail = [
        {key: item.get(key) for key in ("type", "loc", "msg")} if isinstance(item, dict) else item for item in found
    ]
    return JSONResponse({"detail": detail}, 422)


def _schema(name: str, settings: Settings, fields: dict[str, Any]) -> type[BaseModel]:
    """Return the schema of an input: a question that is not too long, `fields`, and nothing unknown."""
    length = StringConstraints(strip_whitespace=True, min_length=1, max_length=settings.max_question_chars)
    asked: Any = (Annotated[str, length], Field(description="The question, in English, Russian or Chinese."))
    return create_model(name, __config__=ConfigDict(extra="forbid"), question=asked, **_SHARED, **fields)
