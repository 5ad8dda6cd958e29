import pytest
import sqlglot

from datasphinx.agent.embedded.compact import quoted


@pytest.mark.parametrize(
    "name", ["singer", "Singer_ID", "_x1", "größe", "with space", "1st", "Order", "rank", 'a"b', ""]
)
def test_bare_only_where_it_can_stand_so(name):
    plain = name in ("singer", "Singer_ID", "_x1")
    assert quoted(name) == (name if plain else '"' + name.replace('"', '""') + '"')


@pytest.mark.parametrize("name", ["singer", "größe", "a b", "select", "Group", 'the "best"', "a.b"])
def test_what_is_written_reads_as_one_name(name):
    assert sqlglot.parse_one(f"FROM t SELECT {quoted(name)}", dialect="sqlite").expressions[0].name == name
