"""Commands, options and values of settings that no longer exist name their replacement."""

import pytest

from tests.support.commands import Run


@pytest.mark.parametrize(
    ("words", "replacement"),
    [
        ("source test shop", "source check"),
        ("examples list", "verified queries"),
        ("model use small", "DATASPHINX_EMBEDDED_MODEL"),
        ("knowledge draft --source shop", "without an entry"),
        ("knowledge export osi", "YAML files"),
        ("eval compare a.json b.json", "benchmarks.experiments"),
        ("admin eval clarification", "benchmarks.clarification"),
        ("eval run --without training", "--candidates 1"),
        ("eval run --dataset spider", "benchmarks.experiments"),
        ("admin eval run --shots 3", "benchmarks.experiments"),
        ("eval run --match exact", "benchmarks.experiments"),
        ("eval run --out report.json", "standard output"),
        ("eval replay --out=report.json", "standard output"),
        ("ask question --sheet=Sales", "--load sheet=NAME"),
        ("ask question --header-row 3", "--load header_row=NUMBER"),
        ("ask question --type day=date", "--load types=VALUE"),
    ],
)
def test_what_is_removed_names_its_replacement(run: Run, words: str, replacement: str) -> None:
    code, out, err = run(*words.split())

    assert (code, out) == (2, "")
    assert "is no longer" in err and replacement in " ".join(err.split())


def test_an_option_that_never_existed_is_told_as_before(run: Run) -> None:
    code, _, err = run("ask", "question", "--sheet-name", "Sales")

    assert code == 2 and "No such option" in err


def test_a_removed_command_is_not_listed(run: Run) -> None:
    assert "examples" not in run("--help")[1] and "export" not in run("knowledge", "--help")[1]


@pytest.mark.parametrize(
    ("setting", "value", "replacement"),
    [
        ("EMBEDDED_MODEL", "small", "use base"),
        ("LLM_PROFILE", "plain", "use auto"),
        ("MCP_RUN_SQL", "true", "use DATASPHINX_RUN_SQL"),
    ],
)
def test_a_removed_value_or_setting_names_its_replacement(
    run: Run, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, replacement: str
) -> None:
    monkeypatch.setenv(f"DATASPHINX_{setting}", value)
    code, _, err = run("model", "list")

    assert code == 2 and f"DATASPHINX_{setting}" in err and replacement in err
