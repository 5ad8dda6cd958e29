"""Threads whose model is scripted."""

from typing import Any

import pytest

from tests.conftest import MakeAgent
from tests.support.best_customer import Talk, Talking


@pytest.fixture
def talking(scripted: MakeAgent) -> Talking:
    """A maker of threads: answers of generation and reviews as the model gives them."""

    def make(statements: Any = (), reviews: Any = (), **overrides: Any) -> Talk:
        answers = {"AmbiguityReview": list(reviews), "GeneratedSQL": list(statements)}
        return Talk(scripted(answers, **{"enable_sql_validation": False, **overrides}))

    return make
