"""Clients for JavaScript, installed from the npm registry in pinned versions."""

import json
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest
from filelock import FileLock

from tests.support.generated_docs import ROOT

PROGRAMS = ROOT / "tests/fixtures/npm"


@cache
def installed() -> Path:
    """Return a folder with the packages and the programs; without them the test is skipped, and fails in CI.

    Packages that were installed once are kept, until the list of them changes.
    """
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        reason = "npm is not installed (apt-get install npm)"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    folder = Path(tempfile.gettempdir()) / f"datasphinx-npm-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    assert folder.stat().st_uid == os.getuid(), f"{folder} is another user's"
    # Workers of pytest-xdist share the folder.
    with FileLock(folder / "lock"):
        wanted, kept = (PROGRAMS / "package.json").read_text(encoding="utf-8"), folder / "installed.json"
        if not kept.exists() or kept.read_text(encoding="utf-8") != wanted:
            shutil.rmtree(folder / "node_modules", ignore_errors=True)
            kept.unlink(missing_ok=True)
            (folder / "package.json").write_text(wanted, encoding="utf-8")
            done = run(npm, "install", "--no-audit", "--no-fund", folder=folder)
            if done.returncode:
                pytest.fail(done.stderr) if os.environ.get("CI") else pytest.skip("the packages cannot be downloaded")
            kept.write_text(wanted, encoding="utf-8")
        for program in PROGRAMS.glob("*.*js*"):
            copied = folder / program.name
            if program.suffix != ".json" and not (copied.exists() and copied.read_bytes() == program.read_bytes()):
                shutil.copy(program, folder)
    return folder


def run(*command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command in a folder to its end."""
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def node(program: str, *arguments: str) -> dict[str, object]:
    """Return the JSON object that a program prints."""
    done = run("node", program, *arguments, folder=installed())
    assert done.returncode == 0, done.stderr
    shown: dict[str, object] = json.loads(done.stdout)
    return shown


def bundle(page: str) -> str:
    """Return a page with all that it imports as one script."""
    command = ("node_modules/.bin/esbuild", page, "--bundle", "--jsx=automatic", "--log-level=error")
    done = run(*command, '--define:process.env.NODE_ENV="production"', folder=installed())
    assert done.returncode == 0, done.stderr
    return done.stdout
