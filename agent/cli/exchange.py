"""`datasphinx knowledge import` and `export`: business knowledge of other systems."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli.options import AsJson, OfSource, services_of
from agent.cli.text import echo, json_text
from agent.errors import ANSWERED, DOMAIN

if TYPE_CHECKING:
    from agent.knowledge.imports import Imported, LeftOut
    from agent.sources.source import Source

import_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Import business knowledge into the folder of a source, into one generated file for each project or file.",
)
export_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Export business knowledge.")
ToImport = Annotated[Path, typer.Argument(help="File to import.")]


@import_app.command("dbt")
def import_dbt(
    manifest: Annotated[Path, typer.Argument(help="`target/manifest.json`, schema versions 9 to 12.")],
    semantic_manifest: Annotated[
        Path | None,
        typer.Argument(help="`target/semantic_manifest.json`, read instead of the metrics in the manifest."),
    ] = None,
    source: OfSource = None,
    as_json: AsJson = False,
) -> None:
    """Import descriptions, tests, semantic models, metrics and saved queries of a dbt project.

    Every entry passes the checks of `knowledge check`; hand-written entries take precedence. The report lists added,
    changed and removed entries, those that were kept because they are hand-written, and what was not imported. Saved
    queries become proposals of verified queries.

    Exit codes: 0 imported, 2 the file is not a manifest or there is no such source or folder, 3 nothing can be
    imported, 5 the source is unreachable.
    """
    from agent.knowledge.dbt import read_dbt

    def read(opened: "Source") -> "Imported":
        semantic = _json_file(semantic_manifest) if semantic_manifest else None
        return read_dbt(_json_file(manifest), semantic, opened.base_catalog)

    _import(read, manifest, source, as_json)


@import_app.command("osi")
def import_osi(file: ToImport, source: OfSource = None, as_json: AsJson = False) -> None:
    """Import a semantic model in the format of Open Semantic Interchange 1.0, as YAML or JSON.

    Datasets become tables, fields columns or terms, relationships joins, and metrics metrics. Checks, report and exit
    codes are those of `knowledge import dbt`.
    """
    from agent.knowledge.osi import read_osi
    from agent.knowledge.yaml_text import read_yaml

    def read(opened: "Source") -> "Imported":
        # JSON is YAML; with the reader of knowledge files, aliases cannot expand.
        return read_osi(read_yaml(_text(file)).value, file.stem, opened.base_catalog)

    _import(read, file, source, as_json)


@import_app.command("csv")
def import_csv(file: ToImport, source: OfSource = None, as_json: AsJson = False) -> None:
    """Import a glossary, a CSV file with one entry in each row.

    Its columns are `name` and any of `kind`, `definition`, `synonyms`, `tables`, `condition`, `expression`,
    `date_column`, `unit`, `dimensions`, `additivity` and `labels`. Semicolons separate several values in a cell.

    Checks, report and exit codes are those of `knowledge import dbt`.
    """
    from agent.knowledge.glossary import read_glossary

    def read(opened: "Source") -> "Imported":
        return read_glossary(_text(file), file.name, opened.catalog.dialect)

    _import(read, file, source, as_json)


@export_app.command("osi")
def export_osi(
    file: Annotated[Path | None, typer.Argument(help="File to write; default: standard output.")] = None,
    source: OfSource = None,
) -> None:
    """Write the business knowledge about a source in the format of Open Semantic Interchange 1.0, as YAML.

    Facts that the format cannot express are written as a custom extension and listed on standard error.

    Exit codes: 0 written, 2 there is no such source, 3 the source has no knowledge, 5 the source is unreachable or the
    file cannot be written.
    """
    from agent.knowledge.osi import export_osi as exported

    services = services_of()
    name = source or services.choices[0]
    knowledge = services.source(name).knowledge
    if not knowledge.knowledge.used:
        echo("the source has no business knowledge", error=True)
        raise typer.Exit(DOMAIN)
    text, left_out = exported(knowledge, name)
    if file:
        file.write_text(text, encoding="utf-8")
    else:
        echo(text.rstrip("\n"))
    for each in left_out:
        echo(f"not in the format: {each}", error=True)


def _import(read: Callable[["Source"], "Imported"], path: Path, source: str | None, as_json: bool) -> None:
    from agent.errors import KnowledgeFileInvalid
    from agent.knowledge.references import Unresolved
    from agent.knowledge.yaml_text import YamlError
    from agent.sources.source import import_knowledge

    services = services_of()
    name = source or services.choices[0]
    folder = services.knowledge_folder(name)
    opened = services.source(name)
    try:
        imported = read(opened)
    except (OSError, UnicodeError, YamlError) as error:
        raise KnowledgeFileInvalid(str(path), str(error)) from None
    except Unresolved as error:
        raise KnowledgeFileInvalid(str(path), f"{error}. {error.suggestion}".rstrip(". ")) from None
    report = import_knowledge(opened, imported, folder, services.knowledge(name))
    if as_json:
        echo(json_text(report.as_json()))
    else:
        for title, ids in (("added", report.added), ("changed", report.changed), ("removed", report.removed)):
            for id in ids:
                echo(f"{title}: {id}")
        for id in report.hand_written:
            echo(f"kept because hand-written: {id}")
        _echo_reasons("not imported", report.left_out)
        _echo_reasons("warning", report.warnings)
        counts = {
            "added": report.added, "changed": report.changed, "removed": report.removed,
            "unchanged": report.unchanged, "hand-written": report.hand_written, "not imported": report.left_out,
        }  # fmt: skip
        echo(f"{report.file}: {', '.join(f'{len(ids)} {title}' for title, ids in counts.items())}")
    raise typer.Exit(ANSWERED if report.added or report.changed or report.unchanged else DOMAIN)


def _echo_reasons(title: str, left_out: "tuple[LeftOut, ...]") -> None:
    """Print what is left out, the subjects of one reason together."""
    subjects: dict[str, list[str]] = {}
    for each in left_out:
        subjects.setdefault(each.reason, []).append(each.subject)
    for reason, names in subjects.items():
        echo(f"{title}: {', '.join(names)}: {reason}")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig")


def _json_file(path: Path) -> dict[str, Any]:
    import json

    from agent.errors import KnowledgeFileInvalid
    from agent.messages import Message

    try:
        content = json.loads(_text(path))
    except ValueError as error:
        raise KnowledgeFileInvalid(str(path), Message("not_json", error=str(error))) from None
    if not isinstance(content, dict):
        raise KnowledgeFileInvalid(str(path), Message("not_json_object"))
    return content
