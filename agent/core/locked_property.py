"""Values of an object that are computed once, at first use."""

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, TypeVar

T = TypeVar("T")


def locked_property(compute: Callable[[Any], T]) -> cached_property[T]:
    """Return a property whose value `compute` returns to the first thread that reads it, under the object's `_lock`."""

    @wraps(compute)
    def once(instance: Any) -> T:
        with instance._lock:
            known = vars(instance)
            if compute.__name__ not in known:
                known[compute.__name__] = compute(instance)
            value: T = known[compute.__name__]
            return value

    return cached_property(once)
