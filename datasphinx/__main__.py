"""The command line: `python -m datasphinx`, the same as `datasphinx`."""

from datasphinx.agent.cli import main

if __name__ == "__main__":
    main()
