"""pandas accessor: after `import datasphinx.pandas`, `df.sphinx.chat("...")` works. Requires the extra `pandas`.

`enable_chat()` also adds `df.chat("...")`.
"""

from typing import Any

from datasphinx.agent.chat import chat
from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.responses import Response
from datasphinx.agent.types import OutputType

try:
    from pandas import DataFrame
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


class _Chat:
    """The method `chat` of a DataFrame."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __call__(self, question: str, output_type: OutputType | None = None) -> Response:
        """Return the answer to a question about the frame. See `Sphinx.chat`."""
        sphinx: Sphinx = self._frame.sphinx
        return sphinx.chat(question, output_type)


def enable_chat() -> None:
    """Add `df.chat("...")`, short for `df.sphinx.chat("...")`, to all DataFrames.

    A column named `chat` is then found as `df["chat"]` only.
    """
    if not hasattr(DataFrame, "chat"):
        register_dataframe_accessor("chat")(_Chat)


register_dataframe_accessor("sphinx")(Sphinx)
