"""Fits the weights of `agent.retrieval.index` on Spider's training questions: `python -m benchmarks.fit_recall`.

A softmax over all tables makes the gold tables likely; Newton's method, a little ridge. Half of the training databases
are fitted and the other half tell what it is worth; the weights that are printed last are fitted on all of them.
"""

import random
import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.spider import Linked, catalog_of, read_tables, read_train
from datasphinx.agent.retrieval.index import FEATURES, SchemaIndex
from datasphinx.agent.retrieval.semantic import packaged_embedder

_RIDGE = 1e-4
_STEPS = 15
_SHORTEST_STEP = 1e-3
_MEANING = [FEATURES.index(name) for name in ("synonyms", "meaning", "meaning_near")]


def main(questions: int = 2400) -> None:
    """Print weights and recall at 5, 10, 15 and 20 tables of both halves."""
    tables = read_tables()
    numbers = {key: number for number, key in enumerate(tables)}
    train = read_train(tables)
    databases = sorted({linked.database for linked in train})
    random.Random(1).shuffle(databases)
    fitted = set(databases[::2])
    sample = random.Random(2).sample(train, questions)
    for embedder in (packaged_embedder(), None):
        index = SchemaIndex(catalog_of(tables), embedder)
        found = [_features(index, linked.question) for linked in sample]
        golds = [[numbers[key] for key in linked.gold] for linked in sample]
        halves = [_half(found, golds, sample, fitted, inside) for inside in (True, False)]
        weights = _fit(*halves[0], with_meaning=embedder is not None)
        print("with meaning" if embedder else "lexical")
        print("  recall, fitted half", _recall(weights, *halves[0]), "other half", _recall(weights, *halves[1]))
        weights = _fit(found, golds, with_meaning=embedder is not None)
        print("  weights", dict(zip(FEATURES, [round(float(weight), 3) for weight in weights], strict=True)))


def _features(index: SchemaIndex, question: str) -> NDArray[np.float32]:
    matches = index.match(question)
    return index.features(matches, matches.frequencies(index.postings)).T


def _half(
    found: list[NDArray[np.float32]], golds: list[list[int]], sample: Sequence[Linked], fitted: set[str], inside: bool
) -> tuple[list[NDArray[np.float32]], list[list[int]]]:
    chosen = [number for number, linked in enumerate(sample) if (linked.database in fitted) is inside]
    return [found[number] for number in chosen], [golds[number] for number in chosen]


def _fit(found: list[NDArray[np.float32]], golds: list[list[int]], *, with_meaning: bool) -> NDArray[np.float64]:
    free = [at for at in range(len(FEATURES)) if with_meaning or at not in _MEANING]
    signs = np.stack(found)[:, :, free]
    scale = signs.std(axis=1).mean(axis=0) + 1e-9
    signs = signs / scale
    wanted = np.stack([one[gold].mean(axis=0) for one, gold in zip(signs, golds, strict=True)])
    weights = np.zeros(len(free))
    loss, slope, bend = _loss(weights, signs, wanted)
    for _ in range(_STEPS):
        step, length = np.linalg.solve(bend, slope), 1.0
        while _loss(weights - length * step, signs, wanted)[0] > loss and length > _SHORTEST_STEP:
            length /= 2
        weights = weights - length * step
        loss, slope, bend = _loss(weights, signs, wanted)
    whole = np.zeros(len(FEATURES))
    whole[free] = weights / scale
    return whole


def _loss(
    weights: NDArray[np.float64], signs: NDArray[np.float64], wanted: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return the loss with its gradient and Hessian."""
    logits = signs @ weights.astype(signs.dtype)
    likely = np.exp(logits - logits.max(axis=1, keepdims=True))
    total = likely.sum(axis=1, keepdims=True)
    loss = float((np.log(total[:, 0]) + logits.max(axis=1) - wanted @ weights).mean() + _RIDGE / 2 * weights @ weights)
    mean = np.einsum("qt,qtf->qf", likely / total, signs)
    weighed = signs * np.sqrt(likely / total / len(signs))[:, :, None]
    square = weighed.reshape(-1, len(weights)).T @ weighed.reshape(-1, len(weights))
    bend = square - mean.T @ mean / len(signs) + _RIDGE * np.eye(len(weights))
    return loss, (mean - wanted).mean(axis=0) + _RIDGE * weights, bend


def _recall(weights: NDArray[np.float64], found: list[NDArray[np.float32]], golds: list[list[int]]) -> dict[int, float]:
    ranks = []
    for features, gold in zip(found, golds, strict=True):
        scores = features @ weights
        ranks.append(max(int((scores > scores[number]).sum()) for number in gold))
    return {count: round(100 * float(np.mean(np.array(ranks) < count)), 1) for count in (5, 10, 15, 20)}


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
