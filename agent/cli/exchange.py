"""`datasphinx knowledge import`: business knowledge of other systems."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasphinx.agent.cli.options import AsJson, OfSource, knowledge_folder_of, services_of
from datasphinx.agent.cli.text import echo, json_text
from datasphinx.agent.errors import ANSWERED, DOMAIN

if TYPE_CHECKING:
    from datasphinx.agent.knowledge.imports import LeftOut


def import_files(
    format_name: Annotated[
        str, typer.Argument(metavar="FORMAT", help="`dbt`, `osi`, `csv`, or the name of an importer that is installed.")
    ],
    files: Annotated[list[Path], typer.Argument(help="File to import; for dbt, also `semantic_manifest.json`.")],
    source: OfSource = None,
    as_json: AsJson = False,
) -> None:
    """Import business knowledge into the folder of a source, into one generated file for each project or file.

    `dbt` reads `target/manifest.json` of a dbt project, schema versions 10 to 12: descriptions, tests, semantic models,
    metrics and saved queries, which become proposals of verified queries. `osi` reads a semantic model of Open Semantic
    Interchange 1.0, as YAML or JSON. `csv` reads a glossary with one entry in each row.

    Every entry passes the checks of `knowledge check`; hand-written entries take precedence. The report lists added,
    changed and removed entries, those that were kept because they are hand-written, and what was not imported.

    Exit codes: 0 imported, 2 the files do not have the format, or there is no such source or folder, 3 nothing can be
    imported, 5 the source is unreachable.
    """
    from datasphinx.agent.errors import Refused
    from datasphinx.agent.knowledge.importers import Importer, importers
    from datasphinx.agent.knowledge.references import Unresolved
    from datasphinx.agent.knowledge.yaml_text import YamlError
    from datasphinx.agent.sources.source import import_knowledge

    if format_name not in importers():
        raise typer.BadParameter(f"the formats are {', '.join(importers())}.", param_hint="FORMAT")
    importer: Importer = importers()[format_name].load()
    services = services_of()
    name = source or services.choices[0]
    folder = knowledge_folder_of(services, name)
    opened = services.source(name)
    try:
        imported = importer(files, opened.base_catalog)
    except (OSError, UnicodeError, YamlError) as error:
        raise Refused("knowledge_file_invalid", path=str(files[0]), reason=str(error)) from None
    except Unresolved as error:
        raise Refused(
            "knowledge_file_invalid", path=str(files[0]), reason=f"{error}. {error.suggestion}".rstrip(". ")
        ) from None
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
