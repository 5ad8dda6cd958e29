"""`datasphinx doctor`: what questions need, checked at once, with the fix of each finding."""

import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from datasphinx.agent.cli.options import AsJson, services_of
from datasphinx.agent.cli.text import echo, json_text
from datasphinx.agent.errors import ANSWERED, DOMAIN

if TYPE_CHECKING:
    from datasphinx.agent.services import Services
    from datasphinx.agent.settings import Settings

_READABLE_BY_OTHERS = 0o077


@dataclass(frozen=True)
class Finding:
    """The result of one check; `text` says what is wrong and what to do, or what was found to be right."""

    name: str
    ok: bool
    text: str


def doctor(as_json: AsJson = False) -> None:
    """Check versions, permissions of files, the model, the sources and the stores; print the fix for each problem.

    Each configured model is called once, and each source is opened. Weights are not downloaded.

    Exit codes: 0 all is well, 2 a setting is wrong, 3 there are problems.
    """
    services = services_of()
    findings = []
    for finding in examine(services):
        findings.append(finding)
        if not as_json:
            mark, color = ("ok  ", "green") if finding.ok else ("FAIL", "red")
            lines = finding.text.replace("\n", "\n      ")
            echo(f"{mark}  {finding.name}: {lines}", color=color)
    is_well = all(finding.ok for finding in findings)
    if as_json:
        echo(json_text({"ok": is_well, "findings": list(map(asdict, findings))}))
    raise typer.Exit(ANSWERED if is_well else DOMAIN)


def examine(services: "Services") -> Iterator[Finding]:
    """Yield the results of all checks, as soon as each is known."""
    from datasphinx.agent.conversation.threads import open_threads
    from datasphinx.agent.server.readiness import check, readiness

    settings = services.settings
    yield _versions()
    yield _private_files(settings)
    model = check(partial(_use_model, services), settings)
    works = f"{settings.llm_model} answers"
    if settings.uses_embedded_model:
        works = f"the embedded model {settings.embedded_model} is loaded"
    yield _finding("model", model, works)
    threads = open_threads(settings, must_persist=False)
    report = readiness(services, threads, {name: [services] for name in services.choices}, model)
    for name, result in report["sources"].items():
        yield _finding(f"source {name}", result, "it answers, and the account is as the settings allow")
    for name, result in report["stores"].items():
        yield _finding(f"store {name}", result, "it can be used")


def _finding(name: str, result: dict[str, Any], well: str) -> Finding:
    """Return the result of a check of `readiness`."""
    if not result["ok"]:
        return Finding(name, False, result["error"]["message"])
    knowledge = result.get("knowledge", {})
    if problems := knowledge.get("problems"):
        count = knowledge["problem_count"]
        text = f"mistakes in its business knowledge: {count}. Correct them: datasphinx knowledge check"
        return Finding(name, False, "\n".join([text, *problems]))
    return Finding(name, True, well)


def _versions() -> Finding:
    """Compare the installed packages with the versions that datasphinx is tested with."""
    from importlib.metadata import PackageNotFoundError, requires, version

    from packaging.requirements import Requirement

    from datasphinx.agent.core.version import package_version

    wrong = []
    for requirement in map(Requirement, requires("datasphinx") or ()):
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            continue  # An extra: what needs it says how to install it.
        if not requirement.specifier.contains(installed, prereleases=True):
            wanted = f"{requirement.name}{requirement.specifier}"
            wrong.append(f"{requirement.name} {installed} does not fit. Run: pip install '{wanted}'")
    if wrong:
        return Finding("versions", False, "\n".join(wrong))
    return Finding("versions", True, f"datasphinx {package_version()}, Python {platform.python_version()}")


def _private_files(settings: "Settings") -> Finding:
    """Check that files with passwords or keys can only be read by their owner."""
    from datasphinx.agent.record.credentials import secrets_of
    from datasphinx.agent.settings import CONFIG_FILE

    open_files = []
    for path in filter(Path.is_file, map(Path, (CONFIG_FILE, ".env"))):
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.stat().st_mode & _READABLE_BY_OTHERS and any(secret in text for secret in secrets_of(settings)):
            open_files.append(f"{path} has a password or key, and others can read it. Run: chmod 600 {path}")
    text = "\n".join(open_files) or "no file with a password or key is readable by others"
    return Finding("permissions", not open_files, text)


def _use_model(services: "Services") -> None:
    """Open the embedded model, or call each configured one.

    Raises:
        DatasphinxError: a model cannot be used.
    """
    from datasphinx.agent.cli.model import check_models
    from datasphinx.agent.embedded.tiers import TIERS
    from datasphinx.agent.embedded.weights import weights_path
    from datasphinx.agent.errors import Unavailable
    from datasphinx.agent.messages import Message
    from datasphinx.agent.server.readiness import open_model

    settings = services.settings
    name = settings.embedded_model
    if not settings.uses_embedded_model:
        for _ in check_models(settings, fresh=False):
            pass
    elif not weights_path(settings.cache_dir, TIERS[name].weights).is_file():
        raise Unavailable("embedded_model_unavailable", reason=Message("weights_missing", name=name))
    open_model(services)
