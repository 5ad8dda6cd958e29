"""pandas accessor: after `import datasphinx.pandas`, `df.sphinx.chat("...")` works. Requires the extra `pandas`."""

from typing import Any

from datasphinx.agent.chat import chat
from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.responses import Response
from datasphinx.agent.types import OutputType

try:
    from pandas.api.extensions import register_dataframe_accessor
except ModuleNotFoundError as error:
    raise DriverMissing("pandas", "pandas") from error


class Sphinx:
    """Questions about one DataFrame."""

    def __init__(self, frame: Any) -> None:
        """Create an accessor for `frame`; a question sees the content at the time of the call."""
        self._frame = frame

    def chat(self, question: str, output_type: OutputType | None = None) -> Response:
        """Return the answer to a question about the frame. See `datasphinx.agent.chat.chat`."""
        return chat(question, self._frame, output_type=output_type)


register_dataframe_accessor("sphinx")(Sphinx)
