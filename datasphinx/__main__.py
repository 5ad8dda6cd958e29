"""The command line: `datasphinx`, also as `python -m datasphinx`."""

import sys


def main() -> None:
    """Run the command line; the version alone is printed without importing it."""
    if sys.argv[1:] == ["--version"]:
        from importlib.metadata import version

        sys.stdout.write(f"{version('datasphinx')}\n")
        return
    from datasphinx.agent.cli import main as run

    run()


if __name__ == "__main__":
    main()
