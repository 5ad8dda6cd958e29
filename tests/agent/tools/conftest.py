"""A workbench with two datasets, and a way to call its tools."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.tools.tool import Outcome, Workbench
from datasphinx.agent.tools.toolbox import Toolbox, error_content
from tests.agent.conftest import Keep

RETURNS = """账号,月份,退货数量,产品质量,物流异常,购买风险
alpha,2024-01-31,10,4,3,low
beta,2024-01-31,30,1,2,high
alpha,2024-02-29,20,,5,low
beta,2024-02-29,40,2,8,high
"""
SALES = """region,sold on,net amount,Количество,password
North,2024-01-05,10.5,1,hunter2
South,2024-01-20,20,2,swordfish
North,2024-03-07,,3,letmein
"""


class Bench:
    """A workbench that keeps what its tools give, as the loop does."""

    def __init__(self, bench: Workbench, timeout_s: float | None = 30) -> None:
        self.bench, self.timeout_s = bench, timeout_s

    def call(self, tool: str, arguments: str | Mapping[str, Any] = "{}", **given: Any) -> Outcome:
        """The outcome of a call that has to succeed."""
        called = Toolbox(self.bench, self.timeout_s).call(tool, given or arguments)
        assert called.outcome, called.error
        if called.outcome.kept:
            results = {**self.bench.results, called.outcome.content["result_id"]: called.outcome.kept}
            self.bench = replace(self.bench, results=results)
        return called.outcome

    def fail(self, tool: str, arguments: str | Mapping[str, Any] = "{}", **given: Any) -> dict[str, Any]:
        """What the model is told of a call that has to fail."""
        called = Toolbox(self.bench, self.timeout_s).call(tool, given or arguments)
        assert called.error, called.outcome
        return error_content(called.error)["error"]


@pytest.fixture
def services(cache_dir, tmp_path) -> Services:
    return Services(load_settings(cache_dir=cache_dir, data_dir=tmp_path / "data"))


@pytest.fixture
def registry(services: Services) -> Registry:
    return services.registry


@pytest.fixture
def add(keep: Keep, tmp_path: Path) -> Callable[[str, str], str]:
    """A maker of datasets from a name and a text; it gives their ids."""
    return lambda name, text: keep(tmp_path / "data", name, text)


@pytest.fixture
def bench(services: Services, add: Callable[[str, str], str]) -> Bench:
    """A workbench: `returns` has Chinese headers, `sales` English ones, a Russian one, and a secret."""
    ids = (add("returns.csv", RETURNS), add("sales.csv", SALES))
    files = tuple(services.registry.dataset(each).file_id for each in ids)
    return Bench(Workbench(services.registry, services.datasets, files, ids))


@pytest.fixture
def returns(bench: Bench) -> str:
    return bench.bench.dataset_ids[0]


@pytest.fixture
def sales(bench: Bench) -> str:
    return bench.bench.dataset_ids[1]
