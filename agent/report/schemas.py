"""Schemas of the answers of a model that plans, reviews and writes a report."""

from pydantic import Field

from datasphinx.agent.llm.schemas import Lenient, QuestionLanguage


class SubQuestion(Lenient):
    """A question that one query answers."""

    question: str = Field(description="complete in itself: measure, period, filters and grouping named")
    purpose: str = Field("", description="what the report needs it for, a few words")


class ReportPlan(Lenient):
    """The questions whose answers make up a report."""

    language: QuestionLanguage = None
    questions: list[SubQuestion] = Field(default_factory=list, description="at most eight, in the order of the report")
    reason: str = Field("", description="without questions: what the tables lack, one sentence")


class ReportReview(Lenient):
    """What is missing in the answers, as further questions."""

    questions: list[SubQuestion] = Field(default_factory=list, description="at most three; mostly none")


class WrittenSection(Lenient):
    """A section of a report."""

    title: str = Field(description="a few words, no figures")
    text: str = Field(description="one to five sentences with references")
    questions: list[str] = Field(default_factory=list, description="ids of the questions whose rows it shows: q1, q3")


class WrittenReport(Lenient):
    """A report in words."""

    title: str = Field(description="a few words, no figures")
    summary: str = Field(description="two to five sentences with references: what matters most")
    sections: list[WrittenSection] = Field(default_factory=list, description="in the order of reading")
    limits: list[str] = Field(
        default_factory=list, description="contradictions between the answers, and what was not found; mostly empty"
    )
