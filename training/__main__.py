"""`python -m training`: the command `datasphinx train`, from a source checkout."""

import sys

from datasphinx.agent.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["train"]
    main()
