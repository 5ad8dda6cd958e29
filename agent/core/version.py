"""The version of the installed package."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def package_version() -> str:
    """Return the version of datasphinx; "unknown" if it runs from sources without being installed."""
    try:
        return version("datasphinx")
    except PackageNotFoundError:
        return "unknown"
