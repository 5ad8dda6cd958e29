"""BigQuery."""

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from datasphinx.agent.engines.base import Engine, print_at_time_zone, timeout_of
from datasphinx.agent.types import Limits

if TYPE_CHECKING:
    from sqlalchemy import Connection


class BigQuery(Engine):
    """BigQuery."""

    name = "bigquery"
    dialect = "bigquery"
    driver = "bigquery"
    packages = ("sqlalchemy_bigquery",)
    folds_with = True
    system_columns = frozenset({"_file_name"})
    quotes_make_columns = True
    row_functions = frozenset({"unnest"})
    transforms = {exp.AtTimeZone: print_at_time_zone}
    double_quotes_are_text = True
    compares_strictly = True
    rejects_number_for_text = True
    groups_strictly = True
    confusion_rank = 5
    checks_url = True
    needs_parameters_for_options = True
    # Results are read over HTTP, without another package.
    driver_arguments = {"prefer_bqstorage_client": False}
    routines = "SELECT routine_name FROM INFORMATION_SCHEMA.ROUTINES"
    read_only_account = """Give a service account the roles roles/bigquery.jobUser on the project
and roles/bigquery.dataViewer on the dataset {database}, and no other role."""

    def period(self, day: exp.Expr, by: str) -> exp.Expr:
        """Return the first day of the period of a date; weeks begin on Monday."""
        truncated = super().period(day, "isoweek" if by == "week" else by)
        return exp.func("DATE_TRUNC", truncated.this, truncated.args["unit"], dialect=self.dialect)

    def limit_driver(self, connection: "Connection", limits: Limits) -> dict[str, Any]:
        """Limit the time and the bytes of the job."""
        from google.cloud.bigquery import QueryJobConfig

        job = QueryJobConfig(use_legacy_sql=False, job_timeout_ms=int(timeout_of(limits) * 1000))
        job.maximum_bytes_billed = limits.max_bytes_billed
        return {"job_config": job}
