"""Schemas of the inputs that clients may send."""

from functools import cache
from typing import Annotated, Any, Self

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
from pydantic_core import PydanticCustomError

from datasphinx.agent.clarify.feedback import LONGEST_ANSWER
from datasphinx.agent.conversation.threads import THREAD_ID
from datasphinx.agent.core.text import MAX_QUESTION_CHARS
from datasphinx.agent.report.plan import MAX_PLANNED
from datasphinx.agent.server.statements import listed_sources
from datasphinx.agent.server.tenants import current_tenant
from datasphinx.agent.services import Services
from datasphinx.agent.types import Clarify, ClarifyingQuestion, Effort, Feedback, OutputType

_MAX_BATCH = 100
_MAX_DATASETS = 20
_DATASETS = "Ids of the datasets; default on a thread: those of the previous question."


def _storable(value: Any) -> Any:
    """Refuse integers of more than 64 bits, which threads cannot store."""
    parts = [value]
    while parts:
        part = parts.pop()
        parts += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        if isinstance(part, int) and not -(2**63) <= part < 2**63:
            raise ValueError("a number in it is too large")
    return value


ThreadId = Annotated[str, StringConstraints(pattern=THREAD_ID)]
_Answer = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_ANSWER)]
_DatasetId = Annotated[str, StringConstraints(pattern=r"^ds_[0-9a-f]{16}$")]
_Question = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUESTION_CHARS)]
_SourceName = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class _Request(BaseModel):
    """An input: a question, the answer to a clarifying question, or feedback on an answer."""

    model_config = ConfigDict(extra="forbid")

    question: _Question | None = Field(None, description="The question, in English, German, Russian or Chinese.")
    thread_id: ThreadId | None = Field(
        None, description="Id of the thread to continue, from an earlier output; default: a new thread."
    )
    clarification_answer: _Answer | None = Field(
        None, description="Instead of a question: the answer to the thread's clarifying question."
    )
    clarification: Annotated[ClarifyingQuestion, AfterValidator(_storable)] | None = Field(
        None, description="The clarifying question, unchanged, if the answer has no thread_id."
    )
    clarify: Clarify | None = Field(None, description="When to ask clarifying questions.")

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        """Check that the combination of fields is allowed."""
        present = {name for name in type(self).model_fields if getattr(self, name) is not None}
        kinds = present & {"question", "clarification_answer", "feedback"}
        context = present & {"thread_id", "clarification"}
        if len(kinds) != 1:
            names = [name for name in ("question", "clarification_answer", "feedback") if hasattr(self, name)]
            raise ValueError(f"exactly one of {', '.join(names)} is needed")
        if "question" in kinds and "clarification" in present:
            raise ValueError("clarification comes with clarification_answer alone")
        if "clarification_answer" in kinds and len(context) != 1:
            raise ValueError("clarification_answer needs thread_id, or else clarification")
        if "feedback" in kinds and context != {"thread_id"}:
            raise ValueError("feedback needs thread_id, and no clarification")
        if "question" not in kinds and "thread_id" in present and present & {"source", "datasets"}:
            raise ValueError("source and datasets come with a question only; otherwise the thread determines them")
        return self


class _Input(_Request):
    """An input whose answer is one result."""

    output_type: OutputType | None = Field(None, description="Form of the answer; default: chosen from the result.")


def agent_question(services: Services) -> type[BaseModel]:
    """Return the input schema of the SQL agent."""
    fields: dict[str, Any] = {
        "feedback": (
            Feedback | None,
            Field(None, description="Instead of a question: whether the last answer on the thread is accepted."),
        ),
        "enable_sql_validation": (bool | None, Field(None, description="Whether the model checks the statement.")),
        "effort": (Effort | None, Field(None, description="How many model calls the question may cost.")),
        "sql_only": (bool | None, Field(None, description="Whether to write and check the statement only.")),
    }
    fields["source"] = _named_source(services, "Name of the source; default: chosen by the question.")
    return create_model("Question", __base__=_Input, **fields)


def analyst_question(services: Services) -> type[BaseModel]:
    """Return the input schema of the analyst: datasets by id, or a source.

    It has no `files`, which the analyst also accepts as paths on the server.
    """
    ids: Any = Annotated[list[_DatasetId], Field(min_length=1, max_length=_MAX_DATASETS)]
    fields: dict[str, Any] = {"datasets": (ids | None, Field(None, description=_DATASETS))}
    fields["source"] = _named_source(services, "Name of a source, instead of datasets.")
    return create_model("AnalystQuestion", __base__=_Input, **fields)


def report_request(services: Services) -> type[BaseModel]:
    """Return the input schema of the report graph: a request about a source or datasets."""
    ids: Any = Annotated[list[_DatasetId], Field(min_length=1, max_length=_MAX_DATASETS)]
    planned: Any = Annotated[list[str], Field(min_length=1, max_length=MAX_PLANNED)]
    fields: dict[str, Any] = {
        "datasets": (ids | None, Field(None, description="Ids of the datasets, instead of a source.")),
        "effort": (Effort | None, Field(None, description="How many model calls each question may cost.")),
        "approve_plan": (bool | None, Field(None, description="Whether to ask before the planned questions run.")),
        "questions": (planned | None, Field(None, description="The questions to answer, instead of a plan.")),
        "source": _named_source(services, "Name of the source; default: chosen by the request."),
    }
    return create_model("ReportRequest", __base__=_Request, **fields)


def _named_source(services: Services, description: str) -> Any:
    """Return the field for a source name.

    With API keys or tokens it is any text, because each tenant has its own sources. Otherwise it is one of those that
    are listed when it is validated.
    """
    if not services.settings.is_private:
        return _SourceName | None, Field(None, description=description)

    def check(name: str) -> str:
        names = listed_sources(services)
        if name not in names:
            raise PydanticCustomError("source_unknown", "Input should be one of {names}", {"names": ", ".join(names)})
        return name

    def describe(schema: dict[str, Any]) -> None:
        schema.clear()
        schema |= {"type": "string", "enum": list(listed_sources(services))}

    listed: Any = Annotated[_SourceName, AfterValidator(check), Field(json_schema_extra=describe)]
    return listed | None, Field(None, description=description)


def body_check(question: type[BaseModel]) -> Any:
    """Return a FastAPI dependency that validates the body of a request, counts its questions and returns the body.

    Bodies of /batch have `inputs`, all others `input`; that of /stream_events has filters as well.
    """
    from fastapi import Depends, Request
    from fastapi.exceptions import RequestValidationError

    # A model takes milliseconds to make, and most routes are never asked.
    @cache
    def body_of(route: str) -> type[BaseModel]:
        options: Any = (dict[str, Any], {})
        if route == "batch":
            questions: Any = (list[question], Field(max_length=_MAX_BATCH))  # type: ignore[valid-type]
            configs: Any = (dict[str, Any] | list[dict[str, Any]], {})
            return create_model("Many", __base__=_Batch, inputs=questions, config=configs, kwargs=options)
        if route == "stream_events":
            names: Any = (list[str] | None, None)
            filters = {f"{way}_{kind}": names for way in ("include", "exclude") for kind in ("names", "types", "tags")}
            return create_model("Filtered", __base__=body_of("invoke"), **filters)
        return create_model("One", input=(question, ...), config=options)

    async def check(request: Request) -> BaseModel:
        expected = body_of(request.url.path.rpartition("/")[2])
        try:
            body = expected.model_validate_json(await request.body())
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from error
        await current_tenant().admit(len(getattr(body, "inputs", (body,))))
        return body

    return Depends(check)


class _Batch(BaseModel):
    """A body of /batch: `config` is one configuration for all inputs, or a list with one for each."""

    @model_validator(mode="after")
    def _check_configs(self) -> Self:
        inputs, config = (getattr(self, name) for name in ("inputs", "config"))
        if isinstance(config, list) and len(config) != len(inputs):
            raise ValueError(f"{len(config)} configs for {len(inputs)} inputs")
        return self
