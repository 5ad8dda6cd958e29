"""The examples in tests/fixtures/load_options.md give what they show, and there is one of everything."""

import pytest

from datasphinx.agent.datasets.options import COLUMN_KINDS, LoadOptions, Unpivot
from tests.agent.datasets.documented import documented_examples


@pytest.mark.heavy
def test_the_examples_give_what_the_page_shows(load) -> None:
    examples = documented_examples()
    made = [load(example.name, example.content, **example.options) for example in examples]
    wrong = [
        (example.options, list(each.schema), each.rows)
        for example, each in zip(examples, made, strict=True)
        if [list(each.schema), *each.rows] != example.rows
    ]

    assert wrong == []


def test_there_is_an_example_of_every_option_and_type() -> None:
    given = [example.options for example in documented_examples()]
    types = {kind for options in given for kind in options.get("types", {}).values()}

    assert {name for options in given for name in options} == set(LoadOptions.model_fields)
    assert {name for options in given for name in options.get("unpivot", {})} == set(Unpivot.model_fields)
    assert types == {*COLUMN_KINDS, "timestamp+02:00"}
    for name in ("drop_totals", "sections"):
        assert {options[name] for options in given if name in options} == {True, False}
