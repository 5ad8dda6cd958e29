"""Questions on the business schemas, written one by one as people ask them, with the statements that answer them."""

from collections import defaultdict
from importlib.resources import files

from agent.models.training.dataset import Asked


def written_questions() -> dict[str, list[Asked]]:
    """Return the questions by the name of their schema; their statements are in SQLite's dialect, some with QUALIFY."""
    text = files("agent.models.training").joinpath("business_questions.tsv").read_text(encoding="utf-8")
    found: dict[str, list[Asked]] = defaultdict(list)
    for line in text.splitlines():
        database, question, sql = line.split("\t")
        found[database].append(Asked(question, sql, "written"))
    return found
