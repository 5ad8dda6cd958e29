"""Schemas of the answers of a model that plans, reviews and writes a report."""

from pydantic import Field

from datasphinx.agent.llm.schemas import Day, Lenient, QuestionLanguage
from datasphinx.agent.types import PlannedChange


class Change(Lenient):
    """A change of a sum, a count or a ratio of them, whose parts are computed by each dimension."""

    metric: str = Field("", description="name of a defined metric")
    expression: str = Field("", description="without one: an aggregate such as SUM(orders.total_amount)")
    date_column: str = Field("", description="with an expression: the date of a row, as table.column")
    first_from: Day = Field(description="first day of the earlier period, as 2024-12-31")
    first_until: Day = Field(description="day after its last one")
    second_from: Day = Field(description="first day of the later period")
    second_until: Day = Field(description="day after its last one")
    dimensions: list[str] = Field(
        default_factory=list, description="table.column; the one that explains most is shown; empty for all that fit"
    )
    filters: list[str] = Field(default_factory=list, description="SQL conditions on such columns")

    def planned(self) -> PlannedChange:
        """Return the change as a plain value."""
        return PlannedChange(
            metric=self.metric,
            expression=self.expression,
            date_column=self.date_column,
            first=(self.first_from.isoformat(), self.first_until.isoformat()),
            second=(self.second_from.isoformat(), self.second_until.isoformat()),
            dimensions=self.dimensions,
            filters=self.filters,
        )


class SubQuestion(Lenient):
    """A question that one query answers."""

    question: str = Field(description="complete in itself: measure, period, filters and grouping named")
    purpose: str = Field("", description="what the report needs it for, a few words")
    change: Change | None = Field(None, description="to a why: the change to be broken down, instead of a query")


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
