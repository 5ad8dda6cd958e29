"""`datasphinx knowledge`: import, check, show and review business knowledge."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from datasphinx.agent.cli.options import AsJson, OfSource, knowledge_folder_of, services_of
from datasphinx.agent.cli.text import echo, json_text
from datasphinx.agent.errors import ANSWERED, DOMAIN

if TYPE_CHECKING:
    from datasphinx.agent.knowledge.imports import LeftOut

knowledge_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Check, show and import business knowledge: terms, metrics, joins and facts about columns in YAML files.",
)
review_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Review proposals: answers that users have accepted."
)
knowledge_app.add_typer(review_app, name="review")
ProposalId = Annotated[str, typer.Argument(metavar="ID", help="Id of the proposal.", show_default=False)]


@knowledge_app.command("import")
def import_files(
    format_name: Annotated[
        str, typer.Argument(metavar="FORMAT", help="`dbt`, `osi`, or the name of an importer that is installed.")
    ],
    files: Annotated[list[Path], typer.Argument(help="File to import; for dbt, also `semantic_manifest.json`.")],
    source: OfSource = None,
    as_json: AsJson = False,
) -> None:
    """Import business knowledge into the folder of a source, into one generated file for each project or file.

    `dbt` reads `target/manifest.json` of a dbt project, schema versions 10 to 12: descriptions, tests, semantic models
    and metrics. `osi` reads a semantic model of Open Semantic Interchange 1.0, as YAML or JSON.

    Every entry passes the checks of `knowledge check`; hand-written entries take precedence. The report lists the
    imported entries, those that were kept because they are hand-written, and what was not imported.

    Exit codes: 0 imported, 2 the files do not have the format, or there is no such source or folder, 3 nothing can be
    imported, 5 the source is unreachable.
    """
    from datasphinx.agent.errors import Refused
    from datasphinx.agent.knowledge.importers import Importer, importers
    from datasphinx.agent.knowledge.imports import import_entries
    from datasphinx.agent.knowledge.references import Unresolved
    from datasphinx.agent.knowledge.yaml_text import YamlError

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
    present = services.knowledge(name)
    report = import_entries(imported, folder, present, opened.base_catalog, opened.execute, opened.complete_values)
    if as_json:
        echo(json_text(report.as_json()))
    else:
        for id in report.imported:
            echo(f"imported: {id}")
        for id in report.hand_written:
            echo(f"kept because hand-written: {id}")
        _echo_reasons("not imported", report.left_out)
        _echo_reasons("warning", report.warnings)
        counts = {
            "imported": report.imported, "hand-written": report.hand_written, "not imported": report.left_out,
        }  # fmt: skip
        echo(f"{report.file}: {', '.join(f'{len(ids)} {title}' for title, ids in counts.items())}")
    raise typer.Exit(ANSWERED if report.imported else DOMAIN)


def _echo_reasons(title: str, left_out: "tuple[LeftOut, ...]") -> None:
    """Print what is left out, the subjects of one reason together."""
    subjects: dict[str, list[str]] = {}
    for each in left_out:
        subjects.setdefault(each.reason, []).append(each.subject)
    for reason, names in subjects.items():
        echo(f"{title}: {', '.join(names)}: {reason}")


@knowledge_app.command()
def check(
    source: Annotated[str | None, typer.Argument(help="Name of a source; default: all with knowledge.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check every entry against the schema and the data of its source; print each problem with file and line.

    The SQL of entries passes the guard and runs without returning rows; declared cardinalities are checked on the data.
    Warnings do not change the exit code.

    Exit codes: 0 no problem, 2 there is no such source, 3 an entry is wrong, 5 a source is unreachable.
    """
    services = services_of()
    names = [source] if source else [name for name in services.choices if services.settings_of(name).knowledge]
    reports, has_errors = [], False
    for name in names:
        opened = services.source(name)
        knowledge = opened.knowledge.knowledge
        problems = opened.check_knowledge()
        errors = sum(not problem.is_warning for problem in problems)
        has_errors |= errors > 0
        proposals = len(knowledge.items) - len(knowledge.used)
        reports.append(
            {
                "source": name,
                "hash": knowledge.hash,
                "entries": len(knowledge.items),
                "proposals": proposals,
                "errors": errors,
                "warnings": len(problems) - errors,
                "problems": [problem.as_json() for problem in problems],
            }
        )
        if not as_json:
            for problem in problems:
                echo(str(problem), color=None if problem.is_warning else "red")
            proposed = f" (proposals: {proposals})" if proposals else ""
            warned = f", warnings: {len(problems) - errors}" if len(problems) > errors else ""
            echo(f"{name}: entries: {len(knowledge.items)}{proposed}, errors: {errors}{warned}")
    if as_json:
        echo(json_text({"sources": reports}))
    elif not names:
        echo("No source has business knowledge: set `knowledge` in its settings.")
    raise typer.Exit(DOMAIN if has_errors else ANSWERED)


@knowledge_app.command()
def show(
    word: Annotated[str, typer.Argument(help="A word, a phrase or a question.")],
    source: OfSource = None,
    as_json: AsJson = False,
) -> None:
    """Show the entries that a word refers to, with file and line, and the text that it adds to a prompt.

    Exit codes: 0 shown, 2 there is no such source, 3 no entry has this name, 5 the source is unreachable.
    """
    from datasphinx.agent.knowledge.prompt import knowledge_paragraphs, shown_entries
    from datasphinx.agent.schema.describe import estimate_tokens

    opened = services_of().source(source)
    knowledge = opened.knowledge
    relevant = knowledge.relevant(word)
    items = shown_entries(relevant)
    invalid = [
        problem
        for match in knowledge.knowledge.matches(word)
        for item in match.items
        for problem in knowledge.problems_of(item)
    ]
    codes = [
        {"column": name.item.name, "code": name.code, "phrase": match.phrase}
        for match in relevant.mentions
        for name in match.names
        if name.code is not None
    ]
    text = "\n\n".join(knowledge_paragraphs(relevant, knowledge, relevant.tables))
    tokens = estimate_tokens(text) if text else 0
    if as_json:
        entries = [{"id": item.id, "file": item.place.file, "line": item.place.line} for item in items]
        problems = [problem.as_json() for problem in invalid]
        shown = {"entries": entries, "codes": codes, "prompt": text, "tokens": tokens, "problems": problems}
        echo(json_text(shown))
    else:
        for item in items:
            echo(f"{item.place}: {item.kind} {item.name}")
        for code in codes:
            echo(f"{code['phrase']}: {code['column']} = {code['code']!r}")
        for problem in invalid:
            echo(str(problem), color="red")
        if text:
            echo(f"\n{text}\n\n(about {tokens} tokens)")
        if not items and not invalid:
            echo("no entry has this name")
    raise typer.Exit(ANSWERED if items else DOMAIN)


@review_app.command("list")
def list_proposals(
    source: Annotated[str | None, typer.Option("--source", help="Name of a source; default: all.")] = None,
    status: Annotated[Literal["open", "accepted", "rejected"], typer.Option(help="Status of the proposals.")] = "open",
    as_json: AsJson = False,
) -> None:
    """List the proposals: id, source, day, user, and the question or the meaning of a word.

    Exit codes: 0 listed, 5 the record cannot be read.
    """
    from datasphinx.agent.proposals import all_proposals

    found = all_proposals(services_of(), status, source)
    if as_json:
        echo(json_text({"proposals": [proposal.as_json() for proposal in found]}))
        return
    for each in found:
        what = f"{each.choice['word']} = {each.choice['means']}" if each.choice else each.question
        echo(f"{each.id}  {each.source}  {each.proposed_at[:10]}  {each.proposed_by}  {what}")
    if not found:
        echo(f"There is no proposal with the status {status}.")


@review_app.command("show")
def show_proposal(proposal_id: ProposalId, as_json: AsJson = False) -> None:
    """Show a proposal with its statement and trace id.

    Exit codes: 0 shown, 2 there is no such proposal, 5 the record cannot be read.
    """
    from datasphinx.agent.proposals import find_proposal

    proposal, _ = find_proposal(services_of(), proposal_id)
    if as_json:
        echo(json_text(proposal.as_json()))
        return
    facts = {
        "source": proposal.source,
        "question": proposal.question,
        "clarified": "; ".join(proposal.clarifications),
        "means": f"{proposal.choice['word']} = {proposal.choice['means']}" if proposal.choice else "",
        "proposed": f"{proposal.proposed_at} by {proposal.proposed_by}",
        "trace": proposal.trace_id,
        "status": proposal.status + (f" by {proposal.reviewed_by}" if proposal.reviewed_by else ""),
        "entry": proposal.place,
    }
    for name, value in facts.items():
        if value:
            echo(f"{name}: {value}")
    echo(f"\n{proposal.sql}")


@review_app.command("accept")
def accept_proposal(
    proposal_id: ProposalId,
    author: Annotated[str | None, typer.Option(help="Who has verified the query; default: the current user.")] = None,
    note: Annotated[str | None, typer.Option(help="Note of the entry.")] = None,
    file: Annotated[
        str, typer.Option(help="Name of a YAML file in the knowledge folder of the source.")
    ] = "verified.yml",
    as_json: AsJson = False,
) -> None:
    """Check the entry of a proposal as `knowledge check` does, and add it to a file of the knowledge folder.

    The rest of the file, comments included, stays as it is.

    Exit codes: 0 accepted, 2 there is no such proposal, 3 the entry is wrong or the proposal was reviewed before, 5 the
    source is unreachable or the file cannot be written.
    """
    from datasphinx.agent.proposals import accept, user_of

    if Path(file).name != file or not file.endswith((".yml", ".yaml")):
        raise typer.BadParameter(f"{file!r} is not the name of a YAML file.", param_hint="--file")
    services = services_of()
    accepted = accept(services, proposal_id, author or user_of(services), note, file)
    echo(json_text(accepted.as_json()) if as_json else f"accepted: {accepted.place}")


@review_app.command("reject")
def reject_proposal(proposal_id: ProposalId, as_json: AsJson = False) -> None:
    """Close a proposal without an entry.

    Exit codes: 0 rejected, 2 there is no such proposal, 3 it was reviewed before, 5 the record cannot be written.
    """
    from datasphinx.agent.proposals import reject, user_of

    services = services_of()
    rejected = reject(services, proposal_id, user_of(services))
    echo(json_text(rejected.as_json()) if as_json else f"rejected: {rejected.id}")
