"""Syntax trees of the project's modules. Each is parsed and walked once."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def trees(*folders: str) -> dict[str, ast.Module]:
    """Return the syntax trees of all modules in `folders`, by path from the root of the project."""
    files = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): _tree(path) for path in files}


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return `tree` and all nodes below it."""
    return tuple(ast.walk(tree))
