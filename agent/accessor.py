"""The former name of `datasphinx.pandas`."""

from datasphinx.pandas import Sphinx, enable_chat

__all__ = ["Sphinx", "enable_chat"]
