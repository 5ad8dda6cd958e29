"""How long the guard takes for one statement, in milliseconds of one core.

python -m benchmarks.guard
"""

import statistics
import time

from datasphinx.agent.sql.guard import check
from tests.fixtures import read_pairs

DIALECTS = ("sqlite", "postgres", "mysql", "duckdb")


def main() -> None:
    """Print the median and the slowest of the ordinary statements of each dialect."""
    for dialect in DIALECTS:
        taken = []
        for number, pair in enumerate(read_pairs(f"guard/allowed_{dialect}.sql") * 5):
            # White space at the end keeps the guard's cache from answering.
            sql = pair.sql + " " * (1 + number)
            started = time.perf_counter()
            check(sql, dialect, None)
            taken.append((time.perf_counter() - started) * 1000)
        print(f"{dialect}: median {statistics.median(taken):.2f} ms, slowest {max(taken):.1f} ms, n = {len(taken)}")


if __name__ == "__main__":
    main()
