"""Time zone of a session: the one in which today, days of moments and times without a zone are meant."""

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.record.step import not_recorded
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sql.database import Database
from datasphinx.agent.sql.execute import execute
from datasphinx.agent.sql.names import resolved_query
from datasphinx.agent.sql.selects import RANGES, operands_of
from datasphinx.agent.sql.summary import constant, days_in
from datasphinx.agent.types import Limits

_TIMEOUT_S = 3.0
_NOW = (exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtime, exp.Localtimestamp)
_PLAIN = (
    exp.Select, exp.Alias, exp.Count, exp.Distinct, exp.Is, exp.Max, exp.Min, exp.Ordered, exp.Group, exp.AtTimeZone,
)  # fmt: skip
"""What shows, counts or sorts moments, or names their zone."""
_COMPARISONS = (exp.EQ, exp.NEQ, *RANGES, exp.Between)
_STEPS = (exp.Paren, exp.Cast, exp.TryCast, exp.Date, exp.TsOrDsToDate, exp.Add, exp.Sub, exp.DateAdd, exp.DateSub)
"""What returns another date or moment."""
_PERIODS = frozenset({"year", "quarter", "month", "epoch"})
_PERIOD_DIRECTIVES = frozenset("YymbBq")


def session_zone(database: Database) -> str:
    """Return the time zone of sessions: a name of the IANA database or an offset such as UTC+02:00; "" if unknown.

    An engine without time zones has UTC.
    """
    query = database.kind.zone
    if query is None:
        return "" if database.kind.has_time_zones else "UTC"
    table = Table(query.table, tuple(Column(name, "TEXT") for name in query.columns), schema=query.schema)
    catalog = Catalog(database.dialect, {table.key: table} if query.table else {})
    try:
        with not_recorded():
            rows = execute(query.sql, database, catalog, Limits(_TIMEOUT_S, 1))["rows"]
    except DatasphinxError:
        return ""
    zone = rows[0][0] if rows else ""
    return timezone(timedelta(minutes=zone)).tzname(None) if isinstance(zone, int) else str(zone or "")


def today_in(zone: str) -> date:
    """Return the current date in `zone`, as returned by `session_zone`; that of this machine if it is not known."""
    return datetime.now(_tzinfo(zone)).date() if zone else date.today()


def _tzinfo(zone: str) -> tzinfo | None:
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        pass
    try:
        return datetime.strptime(zone, "UTC%z").tzinfo
    except ValueError:
        return UTC


def is_zone_of_machine(zone: str) -> bool:
    """Return whether days in `zone`, as returned by `session_zone`, are those of this machine in winter and summer."""
    year = date.today().year
    moments = [datetime(year, month, 1, tzinfo=UTC) for month in (1, 7)]
    return all(each.astimezone(_tzinfo(zone)).utcoffset() == each.astimezone().utcoffset() for each in moments)


def depends_on_zone(sql: str, catalog: Catalog) -> bool:
    """Return whether `sql` takes a day, week or hour of the current time or a moment, or compares it with a day.

    Years and months, and the first days of months, are the same but for a few hours at their ends.
    """
    query = resolved_query(sql, catalog)
    if query is None:
        return False
    if any(not _is_of_period(node) for scope in query.scopes for node in query.find_all(scope, *_NOW)):
        return True

    def is_moment(node: exp.Expr, scope: Scope) -> bool:
        reference = query.column_of(node, scope) if isinstance(node, exp.Column) else None
        return reference is not None and _is_moment(reference.column, query.engine.moment_type)

    def is_plain(column: exp.Column, scope: Scope) -> bool:
        parent = column.parent
        if isinstance(parent, exp.Sub) and query.engine.has_exact_distances:
            return is_moment(parent.this, scope) and is_moment(parent.expression, scope)
        if isinstance(parent, _COMPARISONS) and all(is_moment(each, scope) for each in operands_of(parent)):
            return True
        return isinstance(parent, _PLAIN) or _is_of_period(column)

    columns = ((column, scope) for scope, _ in query.selects() for column in query.find_all(scope, exp.Column))
    return any(is_moment(column, scope) and not is_plain(column, scope) for column, scope in columns)


def _is_of_period(node: exp.Expr) -> bool:
    """Return whether only the year or month of `node` is used, or it is compared with the first days of months."""
    while isinstance(node.parent, _STEPS):
        node = node.parent
    user = node.parent
    if isinstance(user, _COMPARISONS):
        return all(_begins_period(each) for each in operands_of(user) if each is not node)
    if isinstance(user, exp.TimeToStr):
        return _PERIOD_DIRECTIVES.issuperset(re.findall(r"%-?(.)", user.args["format"].name))
    if isinstance(user, exp.Extract):
        return user.this.name.lower() in _PERIODS
    return isinstance(user, exp.Year | exp.Quarter | exp.Month) or _truncates_to_period(user)


def _truncates_to_period(node: exp.Expr | None) -> bool:
    unit = node.args.get("unit") if isinstance(node, exp.TimestampTrunc | exp.DateTrunc) else None
    return unit is not None and unit.name.lower() in _PERIODS


def _begins_period(node: exp.Expr) -> bool:
    """Return whether `node` is the first moment of a month, or one that is some intervals from such a moment."""
    value = constant(node)
    while isinstance(node, _STEPS):
        node = node.this
    # The rest of a text is the time of day.
    days = days_in(value[:10]) if isinstance(value, str) and not value[10:].strip(" T0:.") else None
    return _truncates_to_period(node) or (days is not None and days[0].day == 1)


def _is_moment(column: Column, other: str) -> bool:
    """Return whether values of `column` are moments, whose day depends on the time zone of the session.

    The names of their types say so, or begin with `other`.
    """
    name = column.type.lower()
    if column.type_class != "datetime":
        return False
    return "with time zone" in name or "timestamptz" in name or bool(other and name.startswith(other))
