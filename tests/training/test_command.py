"""`python -m training`, as far as it goes without training for minutes."""

import subprocess
import sys
from pathlib import Path

import pytest

import training
from training.__main__ import main


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, *more: str) -> int | str | None:
    for name in ("schemas.json", "questions.jsonl", "held_out.jsonl"):
        if not (folder / name).exists():
            (folder / name).write_text("")
    arguments = ["--schemas", "schemas.json", "--questions", "questions.jsonl", "--held-out", "held_out.jsonl"]
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["training", *arguments, "--databases", ".", "--out", "out", *more])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_a_file_in_another_form_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "schemas.json").write_text('{"no": "list"}')
    assert run(monkeypatch, tmp_path) == 2
    assert "schemas.json" in capsys.readouterr().err


def test_a_folder_with_the_run_of_another_base_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.json").write_text('{"base": "large"}')
    assert run(monkeypatch, tmp_path) == 2
    assert "trains `large`" in capsys.readouterr().err


def test_without_a_gpu_it_does_not_begin_to_build_the_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch", reason="the extra `train` is not installed")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (tmp_path / "schemas.json").write_text('{"no": "list"}')
    assert run(monkeypatch, tmp_path, "--device", "cuda") == 2
    assert "--device" in capsys.readouterr().err


def test_without_the_extra_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "validation.jsonl").write_text("")
    monkeypatch.setitem(sys.modules, "torch", None)
    assert run(monkeypatch, tmp_path) != 0
    assert "datasphinx[train]" in capsys.readouterr().err


@pytest.mark.process
def test_it_runs_as_a_module_too() -> None:
    root = Path(training.__file__).parents[1]
    command = [sys.executable, "-m", "training", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=root, check=False)
    assert done.returncode == 0 and "--held-out" in done.stdout
