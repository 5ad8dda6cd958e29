"""`import agent.accessor` gives each pandas DataFrame `df.sphinx.chat("...")`. Needs the extra `pandas`."""

from typing import Any

from agent.chat import chat
from agent.errors import DriverMissing
from agent.responses import Response
from agent.state import OutputType

try:
    from pandas.api.extensions import register_dataframe_accessor
except ModuleNotFoundError as error:
    raise DriverMissing("pandas", "pandas") from error


class Sphinx:
    """Questions to one DataFrame."""

    def __init__(self, frame: Any) -> None:
        """Ask `frame`, as it is when the question comes."""
        self._frame = frame

    def chat(self, question: str, output_type: OutputType | None = None) -> Response:
        """Return the answer to a question about the frame; all that `agent.chat.chat` says holds."""
        return chat(question, self._frame, output_type=output_type)


register_dataframe_accessor("sphinx")(Sphinx)
