"""Tables that the tests of the embedded model share."""

from datetime import date

from datasphinx.agent.embedded.date_ranges import Days
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table


def _columns(*names: str) -> tuple[Column, ...]:
    return tuple(Column(*name.split(":")) for name in names)


TABLES = {
    table.key: table
    for table in (
        Table("teams", _columns("team_id:int", "name:text", "city:text"), primary_key=("team_id",)),
        Table(
            "matches",
            _columns("match_id:int", "home_id:int", "guest_id:int", "played_on:date", "goals:int"),
            primary_key=("match_id",),
            foreign_keys=(
                ForeignKey(("home_id",), "teams", ("team_id",)),
                ForeignKey(("guest_id",), "teams", ("team_id",)),
            ),
        ),
        Table(
            "players",
            (
                *_columns("player_id:int", "team_id:int", "Full Name:text", "born:date"),
                Column("position", "text", distinct=3, examples=("goal", "wing", "o'back")),
            ),
            primary_key=("player_id",),
            foreign_keys=(ForeignKey(("team_id",), "teams", ("team_id",)),),
        ),
    )
}
CATALOG = Catalog("sqlite", TABLES)
MARCH = Days(date(2025, 3, 1), date(2025, 4, 1))
_TYPES = {"name": "VARCHAR", "number": "DOUBLE", "date": "DATE"}


def table(**columns: str) -> Table:
    found = tuple(Column(name.replace("_", " "), _TYPES[kind]) for name, kind in columns.items())
    return Table("t", found)


STAFF = table(Name="name", Team="name", City="name", Salary="number", Hired_on="date", Badge_number="number")
