"""The wheel, built, installed alone in a new environment outside of the tree, and asked a question."""

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import datasphinx

pytestmark = pytest.mark.process

ROOT = Path(datasphinx.__file__).parents[1]

QUESTION = """
from datasphinx import Agent
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx import agent

sql = "SELECT COUNT(*) AS customers FROM customers"
model = ScriptedModel({"GeneratedSQL": [{"sql": sql}], "Validation": [{"is_valid": True, "reason": "", "issues": []}]})
print(Agent(model=model).chat("How many customers are there?").value, agent.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    return next(folder.glob("*.whl"))


@pytest.mark.heavy
def test_wheel_has_the_packages_and_their_types_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"datasphinx"}
    assert {"datasphinx/py.typed", "datasphinx/agent/sample/knowledge/shop/metrics.yml"} <= set(names)
    page = {path.relative_to(ROOT) for path in (ROOT / "agent/web").rglob("*") if path.is_file()}
    assert {f"datasphinx/{path.as_posix()}" for path in page} <= set(names)
    assert {"datasphinx/agent/graph.py", "datasphinx/nodes/answer.py", "datasphinx/prompts/generate_sql.md"} <= set(
        names
    )


@pytest.mark.heavy
def test_wheel_answers_a_question_in_a_new_environment(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True, timeout=120)
    python = environment / "bin" / "python"
    packages = next(environment.glob("lib/python*/site-packages"))
    # Dependencies are those of this environment; this package is not: links to the tree are not followed from here.
    (packages / "dependencies.pth").write_text("\n".join({path for path in sys.path if path.endswith("site-packages")}))
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        str(wheel),
    ]
    subprocess.run(pip, check=True, timeout=300)
    variables = {"HOME": str(tmp_path), "DATASPHINX_CACHE_DIR": str(tmp_path / "cache"), "PATH": ""}
    done = subprocess.run(
        [python, "-c", QUESTION], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=300
    )

    assert done.returncode == 0, done.stderr
    value, module = done.stdout.split()
    assert int(value) > 0
    assert Path(module).is_relative_to(environment), sysconfig.get_path("purelib")
