"""The rules of the house that no single module can keep: directions, the choke point, texts, nodes."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path

import pytest

from datasphinx.agent.errors import BY_CODE, Coded, ConfigurationError, SourceUnreachable, Unanswered, error_with
from datasphinx.agent.messages import LANGUAGES, TEXTS, render
from tests.support.errors import example_facts, placeholders
from tests.support.layers import LAYERS
from tests.support.source_files import ROOT, nodes, trees

pytestmark = pytest.mark.integration


@cache
def project() -> dict[str, ast.Module]:
    """Return the syntax trees of the modules that the rules are for, by path."""
    return trees("agent", "datasphinx", "nodes", "prompts", "training")


def test_source_is_found() -> None:
    assert {"agent/graph.py", "nodes/answer.py", "prompts/__init__.py", "agent/sql/execute.py"} <= set(project())


# Layers


FACADES = {"agent/__init__.py", "agent/accessor.py", "datasphinx/__init__.py", "datasphinx/__main__.py"}
LAYER_OF = {name: number for number, line in enumerate(LAYERS.split("\n")) for name in line.split()}


def unit_of(module: str) -> str:
    """Return the package or root module of LAYERS that `module` belongs to; the module itself if it is in none."""
    name = module.removeprefix("datasphinx.").removeprefix("agent.")
    return next((unit for unit in (name, name.split(".")[0]) if unit in LAYER_OF), module)


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield every module of this project that `tree` imports, also inside functions and for type checkers alone."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        ours = {"agent", "nodes", "prompts", "datasphinx", "training", "tests"}
        yield from (name for name in names if name.split(".")[0] in ours and name != "datasphinx")


def upward_imports(name: str, tree: ast.AST) -> Iterator[str]:
    """Yield the imports of the file `name` that the layers do not allow; all of them if it is in no layer."""
    own = unit_of(name.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    for module in imports(tree):
        unit = unit_of(module)
        if unit != own and LAYER_OF.get(unit, len(LAYER_OF)) >= LAYER_OF.get(own, -1):
            yield f"{name} imports {module}"


def test_each_package_imports_only_from_lower_layers() -> None:
    files = {name: tree for name, tree in project().items() if name not in FACADES}

    assert [found for name, tree in files.items() for found in upward_imports(name, tree)] == []


@pytest.mark.parametrize(
    ("source", "upwards"),
    [
        ("from datasphinx.agent.graph import build_graph", True),
        ("def f():\n    from datasphinx.agent import server", True),
        ("import datasphinx.nodes.answer", True),
        ("from datasphinx.agent.evals.run import replay", True),
        ("from datasphinx.agent.new_package import anything", True),
        ("from tests.conftest import VALID", True),
        ("from datasphinx.agent.storage.database import SharedDatabase", True),
        ("from datasphinx.agent.sql.guard import check", False),
        ("from datasphinx.agent import types", False),
        ("from datasphinx import prompts", False),
    ],
)
def test_the_rule_sees_imports_upwards(source: str, upwards: bool) -> None:
    assert bool(list(upward_imports("agent/sql/execute.py", ast.parse(source)))) is upwards


IMPORT = re.compile(r"^ *(?:from|import) [^(\n]*(?:\([^)]*\))?", re.MULTILINE)


def test_no_test_file_is_imported() -> None:
    """What several use is in modules beside them, or in `tests/support/`. To parse all of them takes seconds."""
    assert [
        f"{path}: {statement}"
        for folder in ("tests", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        for statement in IMPORT.findall(path.read_text(encoding="utf-8"))
        if re.search(r"\btest_", statement)
    ] == []


# The choke point

RUNS_STATEMENTS = {"executemany", "executescript", "exec_driver_sql", "cursor", "scalar", "scalars", "read_sql"}
MAY_RUN_STATEMENTS = (
    "agent/sql/execute.py",
    "agent/sql/worker.py",
    "agent/engines/",
    "agent/sql/read_only_files.py",
    "agent/sample/",
    "training/rows.py",
    "agent/retrieval/value_store.py",
    "agent/datasets/workspace.py",
    "agent/record/migrations.py",
    "agent/record/proposals.py",
    "agent/record/store.py",
    "agent/conversation/postgres_threads.py",
    "agent/conversation/sqlite_threads.py",
    "agent/server/quota.py",
    "agent/storage/",
)
"""The choke point, its far end in a worker process, constants that open, reset and stop a session or ask for grants,
functions of users, tables and where their rows are stored, and the writers of files of the project's own:
the sample database, made-up rows to train on, the index of values, datasets in the making, the record of runs,
threads, and what processes share beside them."""


def statement_calls(tree: ast.AST) -> Iterator[str]:
    """Every call that could run a statement, but for `Source.execute`, which goes through the choke point."""
    for node in nodes(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id == "text":
            yield ast.unparse(node)
        if isinstance(function, ast.Attribute):
            on_source = ast.unparse(function.value).split("(")[0].split(".")[-1] == "source"
            if function.attr in RUNS_STATEMENTS or (function.attr == "execute" and not on_source):
                yield ast.unparse(node)


def test_only_the_choke_point_runs_statements() -> None:
    others = {name: tree for name, tree in project().items() if not name.startswith(MAY_RUN_STATEMENTS)}

    assert [(name, call) for name, tree in others.items() for call in statement_calls(tree)] == []


def test_the_choke_point_is_where_statements_run() -> None:
    assert list(statement_calls(project()["agent/sql/execute.py"]))


def test_only_the_choke_point_hands_statements_on() -> None:
    """The pool of workers and the sessions of servers are reached through it alone."""
    workers = {
        "datasphinx.agent.sql.workers.shared_workers",
        "datasphinx.agent.sql.workers.Workers",
        "datasphinx.agent.sql.workers.Worker",
    }
    others = {name: set(imports(tree)) for name, tree in project().items() if name != "agent/sql/execute.py"}

    assert {name for name, modules in others.items() if modules & workers} == set()
    assert {
        name
        for name, modules in others.items()
        if any(f"{each}.".startswith("datasphinx.agent.sql.worker.") for each in modules)
    } == set()


MAY_CONNECT = {
    # An empty database in memory, which writes the rows of an answer as Parquet.
    "agent/answers/export.py": {"duckdb"},
    "agent/sql/database.py": {"sqlite3"},
    "agent/engines/duckdb_dialect.py": {"duckdb"},
    "agent/engines/mysql.py": set(),
    # The version of the library.
    "agent/engines/sqlite.py": {"sqlite3"},
    "agent/engines/read_only.py": {"duckdb", "sqlite3"},
    "agent/sql/read_only_files.py": {"duckdb"},
    "agent/sql/worker.py": {"sqlite3"},
    "agent/sql/execute.py": set(),
    "agent/sample/shop.py": {"sqlite3"},
    "agent/sample/harbours.py": {"sqlite3"},
    "training/rows.py": {"sqlite3"},
    "agent/retrieval/value_store.py": {"sqlite3"},
    "agent/datasets/workspace.py": {"duckdb"},
    "agent/record/migrations.py": set(),
    "agent/record/store.py": {"sqlite3"},
    "agent/conversation/sqlite_threads.py": {"sqlite3"},
    "agent/conversation/postgres_threads.py": {"psycopg"},
    "agent/server/quota.py": set(),
    "agent/storage/database.py": set(),
}
"""Who may open or use a connection, and the drivers each may import."""

DRIVERS = {"sqlite3", "psycopg", "pymysql", "duckdb", "aiosqlite", "asyncpg", "MySQLdb"}


MAKE_ENGINES = {"agent/sql/database.py", "agent/record/store.py"}


def connections(name: str, tree: ast.AST) -> Iterator[str]:
    """Yield what the file `name` uses to reach a database and may not."""
    calls = [node.func for node in nodes(tree) if isinstance(node, ast.Call)]
    attributes = {function.attr for function in calls if isinstance(function, ast.Attribute)}
    statements = [node for node in nodes(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    imported = {alias.name for node in statements for alias in node.names}
    yield from imported & DRIVERS - MAY_CONNECT.get(name, set())
    if name not in MAKE_ENGINES:
        yield from imported & {"create_engine", "create_async_engine"}
    if name not in MAY_CONNECT:
        yield from attributes & {"connect"}


def test_only_the_database_module_opens_databases() -> None:
    """Without a connection there is no cursor, whatever its method is called."""
    assert [(name, used) for name, tree in project().items() for used in connections(name, tree)] == []


def test_every_file_with_a_permission_exists() -> None:
    permitted = {*MAY_RUN_STATEMENTS, *MAY_CONNECT, *MAKE_ENGINES}

    assert [name for name in sorted(permitted) if not any(path.startswith(name) for path in project())] == []


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
    for node in nodes(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        shell = any(keyword.arg == "shell" and ast.unparse(keyword.value) != "False" for keyword in node.keywords)
        if called in FORBIDDEN_NAMES | FORBIDDEN_ATTRIBUTES or shell:
            yield ast.unparse(node)


def test_no_code_is_made_of_data() -> None:
    assert [(name, call) for name, tree in project().items() for call in code_runs(tree)] == []


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


def test_facts_of_each_error_fill_its_text() -> None:
    for code in BY_CODE:
        made = error_with(code, **example_facts(code))

        assert placeholders(TEXTS["en"][code]) <= set(made.details()), code
        messages = {made.message(language) for language in LANGUAGES}
        assert len(messages) == len(LANGUAGES), code
        assert not any("{" in message for message in messages), code
        assert str(made).startswith(made.message("en")), code
        assert str(getattr(made, "reason", "")) in str(made), code


CODED = {kind.__name__ for kind in BY_CODE.values() if issubclass(kind, Coded)}
TEXT_FACTS = {"reason", "problems", "findings", "unknown", "rights", "limit", "what"}
"""Facts of errors that are texts, not names or numbers."""
IN_ENGLISH = ("agent/evals/", "agent/sql/guard/lint", "agent/node_runner")
"""Modules of commands, whose texts are in English."""


@cache
def named_calls() -> list[tuple[ast.Call, str, str]]:
    """Return the calls of a plain name in the source, with the name and the place."""
    return [
        (node, node.func.id, f"{path}:{node.lineno}")
        for path, tree in project().items()
        for node in nodes(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]


def test_facts_in_the_source_fill_the_texts_of_their_codes() -> None:
    calls = [(call, name) for call, name, _ in named_calls() if name in CODED]
    problems = []
    for call, name in calls:
        code = ast.literal_eval(call.args[0])
        if BY_CODE[code].__name__ != name:
            problems.append(f"{code} is not one of {name}")
        if not placeholders(TEXTS["en"][code]) <= {keyword.arg for keyword in call.keywords}:
            problems.append(ast.unparse(call))

    assert len(calls) > 50
    assert problems == []


def test_reasons_of_the_source_are_messages() -> None:
    """A reason that is written in the source is a message; a string that is computed there is a quotation."""
    places = {
        error.__name__: [index for index, field in enumerate(fields(error)) if field.name in TEXT_FACTS]  # type: ignore[arg-type]
        for error in BY_CODE.values()
        # What is wrong with the settings is told to operators, in English.
        if is_dataclass(error) and error is not ConfigurationError
    }

    assert [
        place
        for call, name, place in named_calls()
        for fact in (
            *(call.args[index] for index in places.get(name, ()) if index < len(call.args)),
            *(keyword.value for keyword in call.keywords if name in CODED and keyword.arg in TEXT_FACTS),
        )
        if isinstance(fact, ast.Constant | ast.JoinedStr) and not place.startswith(IN_ENGLISH)
    ] == []


def test_source_uses_messages_that_exist() -> None:
    unknown = []
    for call, place in ((call, place) for call, name, place in named_calls() if name == "Message"):
        choices = [call.args[0].body, call.args[0].orelse] if isinstance(call.args[0], ast.IfExp) else call.args[:1]
        unknown += [place for code in choices if isinstance(code, ast.Constant) and code.value not in TEXTS["en"]]

    assert unknown == []


def test_every_code_has_one_class() -> None:
    kinds = set(BY_CODE.values())

    assert sum(len(kind.exit_codes) if issubclass(kind, Coded) else 1 for kind in kinds) == len(BY_CODE)


@pytest.mark.parametrize(
    ("code", "text"),
    [("off_topic", "Вопрос не по теме"), ("sql_not_generated", "Не получилось сгенерировать SQL запрос")],
)
def test_texts_that_users_rely_on(code: str, text: str) -> None:
    assert render(code, "ru") == text


def test_text_of_an_exception_includes_the_reason_once() -> None:
    assert str(Unanswered("sql_not_generated", reason="DROP is not allowed")) == (
        "Could not generate an SQL query: DROP is not allowed"
    )
    assert str(SourceUnreachable("shop", "timeout")).count("timeout") == 1


# Nodes


def test_each_node_file_has_one_public_function_named_as_the_file() -> None:
    for name in (name for name in project() if name.startswith("nodes/") and "__init__" not in name):
        functions = [node for node in project()[name].body if isinstance(node, ast.FunctionDef)]
        public = [function for function in functions if not function.name.startswith("_")]

        assert [function.name for function in public] == [Path(name).stem], name
        assert [argument.arg for argument in public[0].args.args] == ["state", "services"], name


# LangGraph


def test_langgraph_is_used_by_its_public_names() -> None:
    texts = [each.value for tree in project().values() for each in nodes(tree) if isinstance(each, ast.Constant)]
    modules = [
        (each.module or "") for tree in project().values() for each in nodes(tree) if isinstance(each, ast.ImportFrom)
    ]

    assert [text for text in texts if isinstance(text, str) and text.startswith("__pregel")] == []
    assert [name for name in modules if name.startswith("langgraph") and "._" in name] == []
