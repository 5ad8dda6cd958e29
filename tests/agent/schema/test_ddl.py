"""A schema as CREATE TABLE statements."""

from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table
from datasphinx.agent.schema.ddl import create_statements


def quote(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'


CATALOG = Catalog(
    "postgres",
    {
        "teams": Table("teams", (Column("id", "INTEGER"), Column("name", "TEXT", distinct=500)), primary_key=("id",)),
        "hr.staff": Table(
            "staff",
            (
                Column("team id", "INTEGER"),
                Column("nr", "INTEGER", comment="within\nthe team"),
                Column("grade", "TEXT", distinct=3, examples=("senior",)),
                Column("city", "TEXT", distinct=2, examples=("Kazan", "L'Aquila")),
                Column("note", "TEXT", distinct=2, examples=("x" * 90, "y")),
                Column("born", "DATE", distinct=2, examples=("1990-01-01",)),
            ),
            schema="hr",
            primary_key=("team id", "nr"),
            foreign_keys=(ForeignKey(("team id",), "teams", ("id",)),),
            comment="All people",
        ),
    },
    values={("hr.staff", "grade"): ("junior", "senior", "trainee")},
)


def test_keys_comments_and_few_values_are_shown() -> None:
    assert (
        create_statements(CATALOG, CATALOG.selection(), quote)
        == """CREATE TABLE teams (
  id INTEGER PRIMARY KEY,
  name TEXT
);

-- All people
CREATE TABLE hr.staff (
  "team id" INTEGER,
  nr INTEGER, -- within the team
  grade TEXT, -- 'junior', 'senior', 'trainee'
  city TEXT, -- 'Kazan', 'L''Aquila'
  note TEXT,
  born DATE,
  PRIMARY KEY ("team id", nr),
  FOREIGN KEY ("team id") REFERENCES teams (id)
);"""
    )


def test_only_selected_columns_and_their_keys_are_shown() -> None:
    selection = {"hr.staff": ["nr", "grade"], "gone": ["id"]}
    assert (
        create_statements(CATALOG, selection, quote)
        == """-- All people
CREATE TABLE hr.staff (
  nr INTEGER, -- within the team
  grade TEXT -- 'junior', 'senior', 'trainee'
);"""
    )


def test_values_that_look_personal_and_doubtful_keys_are_left_out() -> None:
    keys = (
        ForeignKey(("boss",), "t", ("id",), inferred=True, likely=False),
        ForeignKey(("team",), "t", ("id",), inferred=True),
    )
    columns = (
        Column("id", "INTEGER"),
        Column("boss", "INTEGER"),
        Column("team", "INTEGER"),
        Column("email", "TEXT", distinct=2, examples=("ann@example.org", "bob@example.org")),
        Column("pin", "TEXT", distinct=1, examples=("4711",), secret=True),
    )
    catalog = Catalog("sqlite", {"t": Table("t", columns, foreign_keys=keys)})

    assert (
        create_statements(catalog, catalog.selection(), quote)
        == """CREATE TABLE t (
  id INTEGER,
  boss INTEGER,
  team INTEGER,
  email TEXT,
  pin TEXT,
  FOREIGN KEY (team) REFERENCES t (id) -- inferred
);"""
    )
