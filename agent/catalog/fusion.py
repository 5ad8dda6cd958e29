"""One score from many signs: weights that were fitted on questions about other schemas."""

import numpy as np
from numpy.typing import NDArray

FEATURES = ("words", "phrases", "synonyms", "named", "meaning", "meaning_near", "columns", "surroundings", "joins")
"""What the score of a table is made of, in the order of the weights; docs/retrieval.md says what each is."""

WITH_MEANING = np.array([0.733, 0.199, 0.453, 2.583, 2.586, 4.456, 0.621, -0.915, 0.559], np.float32)
LEXICAL = np.array([0.974, 0.316, 0.0, 3.181, 0.0, 0.0, 0.251, -1.026, 0.468], np.float32)


def fuse(features: NDArray[np.float32], *, with_meaning: bool) -> NDArray[np.float32]:
    """Return a score for each column of `features` (one row for each of FEATURES): a log-odds up to a constant.

    Its weights are those of a softmax over tables that makes the gold tables of the training questions likeliest
    (`python -m tests.benchmarks.fit_recall`).
    """
    return np.asarray((WITH_MEANING if with_meaning else LEXICAL) @ features, np.float32)
