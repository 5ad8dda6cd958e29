"""Seconds and peak memory of loading a workbook of 100,000 rows and a CSV of a given size.

    python -m tests.benchmarks.datasets --rows 100000 --megabytes 100

Each is loaded in a process of its own, so that its peak is its own.
The reader of workbooks is a process too, and has a peak of its own.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from random import Random

import openpyxl

from agent.datasets.limits import LoadLimits
from agent.datasets.registry import Registry

CITIES = ("Kazan", "Tver", "Omsk", "Sochi", "北京", "Москва")
MEMORY_MB = 512


def line(random: Random, number: int) -> list[object]:
    day = f"{random.randint(1, 28):02}.{random.randint(1, 12):02}.2024"
    price, share = round(random.uniform(1, 9999), 2), random.randint(0, 1000) / 10
    return [number, random.choice(CITIES), day, price, f"{share} %", random.randint(0, 500), f"note {number % 977}"]


HEADER = ["id", "city", "day", "price", "share", "units", "note"]


def write_workbook(path: Path, rows: int) -> None:
    random, book = Random(1), openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("data")
    sheet.append(HEADER)
    for number in range(rows):
        sheet.append(line(random, number))
    book.save(path)


def write_csv(path: Path, megabytes: float) -> None:
    """Repeat a block of rows until the file is as large as wanted."""
    random = Random(2)
    block = "".join(",".join(map(str, line(random, number))) + "\n" for number in range(20_000)).encode()
    with path.open("wb") as file:
        file.write((",".join(HEADER) + "\n").encode())
        while file.tell() < megabytes * 1e6:
            file.write(block)


def load(path: Path, data_dir: Path) -> None:
    registry = Registry(data_dir, LoadLimits(memory_mb=MEMORY_MB))
    started = time.perf_counter()
    file_id = registry.add_file(path)
    kept = time.perf_counter()
    dataset = registry.create(file_id, progress=show)
    took = time.perf_counter() - kept
    own, child = (resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"\r{path.name}: {path.stat().st_size / 1e6:.1f} MB, {dataset.row_count:,} rows: {took:.2f} s "
          f"(and {kept - started:.2f} s to keep the file), peak {own:.0f} MB, its reader {child:.0f} MB")  # fmt: skip
    print("  " + ", ".join(f"{column.name} {column.type}" for column in dataset.schema))


def show(stage: str, share: float) -> None:
    if sys.stderr.isatty():
        print(f"\r{stage} {share:4.0%}", end="", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the workbook")
    parser.add_argument("--megabytes", type=float, default=1000, help="size of the CSV")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        book, text = Path(folder, "book.xlsx"), Path(folder, "big.csv")
        write_workbook(book, options.rows)
        write_csv(text, options.megabytes)
        for path in (book, text):
            process = get_context("spawn").Process(target=load, args=(path, Path(folder, "data")))
            process.start()
            process.join()
            if process.exitcode:
                sys.exit(f"{path.name} could not be loaded")
    print(f"memory limit {MEMORY_MB} MB, {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
