"""Evidence, from catalog and stored values alone, that a question may be read in more than one way.

The four types are Sphinteract's (Zhao et al., VLDB 2025). Evidence does not say that readings differ in result: it says
where it is worth a call of the model to look.
"""

from agent.catalog.describe import Selection
from agent.catalog.source import Source
from agent.clarify.columns import ambiguous_columns
from agent.clarify.types import Ambiguity
from agent.clarify.values import ambiguous_values
from agent.clarify.wording import ambiguous_wording

_MOST = 6


def find_ambiguities(question: str, source: Source, selection: Selection) -> list[Ambiguity]:
    """Return up to six ambiguities of `question` over the columns in `selection`, those of stored values first."""
    by_values = ambiguous_values(question, source.values, source.catalog, selection)
    by_columns = ambiguous_columns(question, source.catalog, selection)
    return [*by_values, *by_columns, *ambiguous_wording(question, source.catalog, selection)][:_MOST]
