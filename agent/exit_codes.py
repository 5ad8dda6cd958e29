"""Exit codes of the command line, and which errors each stands for."""

from collections.abc import Mapping
from typing import Any

ANSWERED, USAGE, DOMAIN, NEEDS_CLARIFICATION, UNREACHABLE = 0, 2, 3, 4, 5

_USAGE_CODES = {
    "configuration",
    "dataset_invalid",
    "source_not_found",
    "sources_not_together",
    "account_can_write",
    "row_rule_parameter_missing",
    "trace_unknown",
    "file_unreadable",
    "file_encrypted",
    "archive_suspicious",
    "file_too_large",
    "sheet_not_found",
    "header_not_found",
    "file_empty",
    "file_unknown",
    "dataset_unknown",
    "data_missing",
    "example_invalid",
    "example_unknown",
    "input_invalid",
    "nothing_answered",
    "nothing_asked",
    "option_unknown",
    "thread_unknown",
}
_UNREACHABLE_CODES = {
    "source_unreachable",
    "model_unreachable",
    "embedded_model_silent",
    "embedded_model_unavailable",
    "driver_missing",
    "record_unavailable",
    "examples_unavailable",
    "threads_unavailable",
}


def exit_code_of(code: str) -> int:
    """Return the exit code for an error with this code."""
    if code in _USAGE_CODES:
        return USAGE
    return UNREACHABLE if code in _UNREACHABLE_CODES else DOMAIN


def exit_code(output: Mapping[str, Any]) -> int:
    """Return the exit code for what came out of a graph; an error counts also where a question back is open still."""
    if output.get("error"):
        return exit_code_of(output["error"]["code"])
    return NEEDS_CLARIFICATION if output.get("clarification") else ANSWERED
