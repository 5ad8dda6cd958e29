"""Errors of specs as users see them: reasons are for models and English, so other languages name only the places."""

import re

from datasphinx.agent.errors import PlotSpecInvalid, QuerySpecInvalid, SpecProblem, ToolCallInvalid

PROBLEMS = (SpecProblem("group_by[0]", "there is no column citi", ("город",)), SpecProblem("", "it is no JSON"))


def test_users_read_no_english_reasons() -> None:
    for error in (QuerySpecInvalid(PROBLEMS), PlotSpecInvalid(PROBLEMS), ToolCallInvalid("run_query", PROBLEMS)):
        for language in ("ru", "zh"):
            text = error.message(language)
            assert "group_by[0]" in text and "город" in text
            assert not set(re.findall("[A-Za-z_]+", text)) - {"group_by", "run_query"}
        assert "there is no column citi (nearest: город)" in error.message("en")
