"""The rules of the house that no single module can keep: directions, the choke point, texts, nodes."""

import ast
import re
import string
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_args

import pytest

import agent.errors
from agent.errors import DatasphinxError, Retryable, Terminal
from agent.messages import TEXTS, Language, render

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path for folder in ("agent", "nodes", "prompts") for path in (ROOT / folder).rglob("*.py"))
TREES = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
LANGUAGES: tuple[Language, ...] = get_args(Language)

every_file = pytest.mark.parametrize("name", TREES)


def test_source_is_found() -> None:
    assert {"agent/graph.py", "nodes/answer.py", "prompts/__init__.py", "agent/sql/execute.py"} <= set(TREES)


# Direction of imports

GRAPHS = {"agent.graph", "agent.analyst"}
FACES = {
    "agent.chat",
    "agent.accessor",
    "agent.server",
    "agent.served_graph",
    "agent.server_inputs",
    "agent.service",
    "agent.cli",
    "agent.cli_ask",
    "agent.cli_conversation",
    "agent.cli_eval",
    "agent.cli_eval_options",
    "agent.cli_examples",
    "agent.cli_key",
    "agent.cli_trace",
    "agent.cli_train",
    "agent.demo",
    "agent.demo_questions",
    "agent.replay",
    "agent.replay_analyst",
    "agent.studio",
    "agent.terminal",
    "agent.terminal_bars",
    "agent.terminal_steps",
    "agent.evals",
}
"""What stands in front of the graphs and runs them."""

LAYERS = ["prompts", "core", "nodes", "graphs", "faces"]
"""From the bottom: a layer imports itself and what is below."""


def module_of(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def layer_of(module: str) -> int:
    package = ".".join(module.split(".")[:2])
    if module.split(".")[0] in {"prompts", "nodes"}:
        return LAYERS.index(module.split(".")[0])
    if package in GRAPHS:
        return LAYERS.index("graphs")
    return LAYERS.index("faces" if package in FACES else "core")


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module of this project that `tree` imports, also inside functions and for type checkers alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (module for module in found if module.split(".")[0] in {"agent", "nodes", "prompts", "tests"})


@every_file
def test_imports_point_down(name: str) -> None:
    own = layer_of(module_of(name))
    wrong = [module for module in imports(TREES[name]) if layer_of(module) > own or module.startswith("tests")]

    assert wrong == []


@pytest.mark.parametrize("name", [name for name in TREES if layer_of(module_of(name)) == LAYERS.index("prompts")])
def test_prompts_know_nothing_of_the_agent(name: str) -> None:
    assert [module for module in imports(TREES[name]) if not module.startswith("prompts")] == []


@pytest.mark.parametrize(
    ("source", "upwards"),
    [
        ("from agent.graph import build_graph", True),
        ("def f():\n    from agent import server", True),
        ("import nodes.answer", True),
        ("from agent.evals.run import replay", True),
        ("from agent.sql.guard import check", False),
        ("import prompts", False),
    ],
)
def test_the_rule_sees_imports_upwards(source: str, upwards: bool) -> None:
    core = LAYERS.index("core")

    assert any(layer_of(module) > core for module in imports(ast.parse(source))) is upwards


# The choke point

RUNS_STATEMENTS = {"executemany", "executescript", "exec_driver_sql", "cursor", "scalar", "scalars", "read_sql"}
MAY_RUN_STATEMENTS = (
    "agent/sql/execute.py",
    "agent/sql/worker.py",
    "agent/sql/sessions.py",
    "agent/sql/grants.py",
    "agent/sql/routines.py",
    "agent/sql/storage.py",
    "agent/sql/spark_dialect.py",
    "agent/sample/",
    "agent/models/training/rows.py",
    "agent/catalog/value_store.py",
    "agent/datasets/workspace.py",
    "agent/audit/migrations.py",
    "agent/audit/store.py",
    "agent/examples/store.py",
    "agent/conversation/postgres_claims.py",
    "agent/conversation/postgres_threads.py",
    "agent/service/postgres_counts.py",
    "agent/shared/",
)
"""The choke point, its far end in a worker process, constants that open, reset and stop a session or ask for grants,
functions of users, tables and where their rows are stored, and the writers of files of the project's own:
the sample database, made-up rows to train on, the index of values, datasets in the making, the record of runs,
few-shot examples, threads, and what processes share beside them."""


def statement_calls(tree: ast.AST) -> Iterator[str]:
    """Every call that could run a statement, but for `Source.execute`, which goes through the choke point."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id == "text":
            yield ast.unparse(node)
        if isinstance(function, ast.Attribute):
            on_source = ast.unparse(function.value).split("(")[0].split(".")[-1] == "source"
            if function.attr in RUNS_STATEMENTS or (function.attr == "execute" and not on_source):
                yield ast.unparse(node)


@every_file
def test_only_the_choke_point_runs_statements(name: str) -> None:
    if not name.startswith(MAY_RUN_STATEMENTS):
        assert list(statement_calls(TREES[name])) == []


def test_the_choke_point_is_where_statements_run() -> None:
    assert list(statement_calls(TREES["agent/sql/execute.py"]))


@every_file
def test_only_the_choke_point_hands_statements_on(name: str) -> None:
    """The pool of workers and the sessions of servers are reached through it alone."""
    imported = {
        node.module: {alias.name for alias in node.names}
        for node in ast.walk(TREES[name])
        if isinstance(node, ast.ImportFrom) and node.module
    }
    if name != "agent/sql/execute.py":
        assert not imported.get("agent.sql.workers", set()) & {"shared_workers", "Workers", "Worker"}
        assert "agent.sql.worker" not in imported


MAY_CONNECT = {
    "agent/sql/database.py": {"sqlite3"},
    "agent/sql/sqlite_walls.py": {"sqlite3"},
    "agent/sql/duckdb_walls.py": {"duckdb"},
    "agent/sql/worker.py": {"sqlite3"},
    "agent/sql/sessions.py": set(),
    "agent/sql/grants.py": set(),
    "agent/sql/routines.py": set(),
    "agent/sql/execute.py": set(),
    "agent/sample/shop.py": {"sqlite3"},
    "agent/models/training/rows.py": {"sqlite3"},
    "agent/catalog/value_store.py": {"sqlite3"},
    "agent/datasets/workspace.py": {"duckdb"},
    "agent/audit/migrations.py": set(),
    "agent/audit/store.py": {"sqlite3"},
    "agent/examples/store.py": set(),
    "agent/conversation/sqlite_threads.py": {"sqlite3"},
    "agent/conversation/postgres_claims.py": {"psycopg"},
    "agent/conversation/postgres_threads.py": {"psycopg"},
    "agent/service/postgres_counts.py": set(),
    "agent/shared/database.py": set(),
}
"""Who may open or use a connection, and the drivers each may import."""

DRIVERS = {"sqlite3", "psycopg", "pymysql", "duckdb", "aiosqlite", "asyncpg", "MySQLdb"}


@every_file
def test_only_the_database_module_opens_databases(name: str) -> None:
    """Without a connection there is no cursor, whatever its method is called."""
    nodes = list(ast.walk(TREES[name]))
    attributes = {
        node.func.attr for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    imported = {alias.name for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names}

    assert imported & DRIVERS <= MAY_CONNECT.get(name, set())
    makes_engines = {"agent/sql/database.py", "agent/audit/store.py", "agent/examples/store.py"}
    assert name in makes_engines or not imported & {"create_engine", "create_async_engine"}
    assert name in MAY_CONNECT or "connect" not in attributes


@pytest.mark.parametrize(
    ("source", "runs"),
    [
        ("connection.execute(sql)", True),
        ("connection.cursor()", True),
        ("engine.connect().exec_driver_sql(sql)", True),
        ("session.execute(text(sql))", True),
        ("source.database.engine.connect().execute(sql)", True),
        ("source.connection.execute(sql)", True),
        ("pandas.read_sql(sql, connection)", True),
        ("services.source(name).execute(sql)", False),
        ("source.execute(sql)", False),
        ("execute(sql, database, catalog)", False),
    ],
)
def test_the_rule_sees_statements(source: str, runs: bool) -> None:
    assert bool(list(statement_calls(ast.parse(source)))) is runs


# No generated code runs

FORBIDDEN_NAMES = {"exec", "eval", "compile", "__import__", "breakpoint"}
FORBIDDEN_ATTRIBUTES = {
    "pickle.load", "pickle.loads", "marshal.loads", "os.system", "os.popen", "importlib.import_module", "yaml.load",
    "builtins.eval", "builtins.exec", "subprocess.getoutput", "subprocess.getstatusoutput", "shelve.open",
}  # fmt: skip


def code_runs(tree: ast.AST) -> Iterator[str]:
    """Every call that makes code of data, or hands a line to a shell."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        shell = any(keyword.arg == "shell" and ast.unparse(keyword.value) != "False" for keyword in node.keywords)
        if called in FORBIDDEN_NAMES | FORBIDDEN_ATTRIBUTES or shell:
            yield ast.unparse(node)


@every_file
def test_no_code_is_made_of_data(name: str) -> None:
    assert list(code_runs(TREES[name])) == []


@pytest.mark.parametrize(
    ("source", "runs"),
    [
        ("eval(text)", True),
        ("exec(text)", True),
        ("pickle.loads(data)", True),
        ("subprocess.run(line, shell=True)", True),
        ("subprocess.run(line, shell=wanted)", True),
        ("__import__(name)", True),
        ("re.compile(pattern)", False),
        ("subprocess.run([program])", False),
        ("builder.compile()", False),
    ],
)
def test_the_rule_sees_code(source: str, runs: bool) -> None:
    assert bool(list(code_runs(ast.parse(source)))) is runs


# Errors and their texts

ERRORS = [
    error for error in vars(agent.errors).values()
    if isinstance(error, type) and issubclass(error, DatasphinxError) and "code" in vars(error)
]  # fmt: skip


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("code", TEXTS)
def test_text_stands_in_every_language_with_the_same_facts(code: str) -> None:
    texts = TEXTS[code]

    assert set(texts) == set(LANGUAGES)
    assert all(text.strip() for text in texts.values())
    assert len({frozenset(placeholders(text)) for text in texts.values()}) == 1


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.code)
def test_fields_of_an_error_fill_its_text(error: type[DatasphinxError]) -> None:
    facts = {field.name: _example(field.type) for field in fields(error) if field.default is MISSING}  # type: ignore[arg-type]
    made = error(**facts)

    assert placeholders(TEXTS[error.code]["en"]) <= set(made.details())
    messages = {made.message(language) for language in LANGUAGES}
    assert len(messages) == len(LANGUAGES)
    assert not any("{" in message for message in messages)
    assert str(made) == made.message("en")


def _example(kind: Any) -> Any:
    name = getattr(kind, "__name__", str(kind))
    return {"float": 1.5, "int": 7, "tuple": ("first", "second")}.get(name, "fact")


def test_codes_are_unique_and_every_error_ends_or_may_be_tried_again() -> None:
    codes = [error.code for error in ERRORS]

    assert len(set(codes)) == len(codes)
    assert all(issubclass(error, Retryable) != issubclass(error, Terminal) for error in ERRORS)


def test_tree_in_the_docstring_is_the_tree() -> None:
    drawn = re.findall(r"── (\w+)", agent.errors.__doc__ or "")
    classes = [error for error in vars(agent.errors).values() if isinstance(error, type)]

    assert sorted(drawn) == sorted(
        error.__name__ for error in classes if issubclass(error, DatasphinxError) and error is not DatasphinxError
    )


@pytest.mark.parametrize(
    ("code", "text"),
    [("off_topic", "Вопрос не по теме"), ("sql_not_generated", "Не получилось сгенерировать SQL запрос")],
)
def test_texts_that_users_rely_on(code: str, text: str) -> None:
    assert render(code, "ru") == text


# Nodes


@pytest.mark.parametrize("name", [name for name in TREES if name.startswith("nodes/") and "__init__" not in name])
def test_node_file_has_one_public_function_named_as_the_file(name: str) -> None:
    functions = [node for node in TREES[name].body if isinstance(node, ast.FunctionDef)]
    public = [function for function in functions if not function.name.startswith("_")]

    assert [function.name for function in public] == [Path(name).stem]
    assert [argument.arg for argument in public[0].args.args] == ["state", "services"]
