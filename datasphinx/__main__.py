"""The command line: `datasphinx` and `python -m datasphinx`."""

import sys
from pathlib import Path

import datasphinx


def main() -> None:
    """Run the command line in any directory, also in one with packages named `agent`, `nodes` or `prompts`."""
    folder = str(Path(__file__).resolve().parents[1])
    sys.path[:] = [entry for entry in sys.path if entry and Path(entry).resolve() != Path.cwd() or entry == folder]
    try:
        datasphinx.check_packages()
    except ImportError as error:
        raise SystemExit(f"datasphinx: {error}") from None
    from agent.cli import main as run

    run()


if __name__ == "__main__":
    main()
