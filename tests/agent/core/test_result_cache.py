"""Results that are used again: only where the limit of rows would give the same ones."""

from datasphinx.agent.core.result_cache import ResultCache
from datasphinx.agent.types import Result


def result(rows: int, *, truncated: bool = False) -> Result:
    return Result(columns=["n"], types=["INTEGER"], rows=[[n] for n in range(rows)], truncated=truncated)


def test_a_whole_result_is_found_for_every_limit_that_it_does_not_exceed() -> None:
    cache = ResultCache()
    cache.put("key", 200, result(3))

    assert cache.get("key", 200) == cache.get("key", 10_000) == cache.get("key", 3) == result(3)
    assert cache.get("key", 2) is None
    assert cache.get("other", 200) is None


def test_a_cut_result_is_found_for_its_own_limit_only() -> None:
    cache = ResultCache()
    cache.put("key", 3, result(3, truncated=True))

    assert cache.get("key", 3) == result(3, truncated=True)
    assert cache.get("key", 2) is None and cache.get("key", 4) is None


def test_callers_get_copies() -> None:
    cache = ResultCache()
    cache.put("key", 5, result(1))
    found = cache.get("key", 5)
    assert found
    found["rows"].clear()

    assert cache.get("key", 5) == result(1)
