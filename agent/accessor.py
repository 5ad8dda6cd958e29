"""The former name of `datasphinx.pandas`."""

from datasphinx.pandas import Sphinx

__all__ = ["Sphinx"]
