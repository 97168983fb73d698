"""Fit the weights of `innkeeper.tokens.table.calibration` to exact tokenizers, and measure how far the estimates are off.

    python -m benchmarks.core.calibrate_tokens passages.json

``passages.json`` maps a language or kind of text to passages of about 2,000 characters, and a kind to ``*name`` where it
is made up (rows of emoji, of rare letters): such kinds shape the weights but do not count for the error. The error is the
90th percentile of the relative error on passages that the fit has not seen, each language weighing the same. Needs numpy.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.tokens.engines.heuristic import FEATURES, features
from innkeeper.tokens.engines.loading import engine_of
from innkeeper.tokens.table.vocabulary import VOCABULARIES

Array = np.ndarray[Any, np.dtype[np.float64]]

_LOW: Final = np.array(
    [
        0.25
        if name in {"han_char", "traditional"}
        else 0.05
        if name.endswith(("_char", "_byte", "_long")) or name in {"sign", "digits", "not_russian", "persian"}
        else 0.0
        for name in FEATURES
    ]
)
"""Weights no fit goes below, so that no kind of text is ever taken for free."""

_GENERIC: Final = ("o200k_base", "claude-3", "llama-3", "qwen-3.5", "deepseek", "tekken", "glm-5")
"""Of these the weights for unknown models are the mean."""


def solve(a: Array, b: Array, ridge: float = 2e-5, rounds: int = 3000) -> Array:
    """The x >= `_LOW` for which ``a @ x`` is nearest to ``b``, one coordinate after the other."""
    b = b - a @ _LOW
    size = np.linalg.norm(a, axis=0)
    size[size == 0] = 1
    a = a / size
    gram, goal, x = a.T @ a + ridge * np.eye(a.shape[1]), a.T @ b, np.zeros(a.shape[1])
    for _ in range(rounds):
        before = x.copy()
        for j in range(len(x)):
            x[j] = max(0.0, x[j] + (goal[j] - gram[j] @ x) / gram[j, j])
        if np.abs(x - before).max() < 1e-9:
            break
    found: Array = x / size + _LOW
    return found


def fit(made: Array, true: Array, weight: Array) -> Array:
    """Weights of the features for a small mean relative error (not its square, so outliers do not rule)."""
    x, trust = np.zeros(made.shape[1]), np.ones(len(true))
    for _ in range(3):
        scale = weight * trust / true
        x = solve(made * scale[:, None], true * scale)
        trust = 1 / np.sqrt(np.maximum(np.abs(made @ x / true - 1), 0.02))
    return x


def quantile(error: Array, weight: Array, share: float) -> float:
    """The error that ``share`` of the weight stays below, in percent."""
    order = np.argsort(np.abs(error))
    heap = np.cumsum(weight[order]) / weight.sum()
    return float(100 * np.abs(error)[order][np.searchsorted(heap, share)])


def main(path: str) -> None:
    """Print, for each vocabulary that is installed, its weights and its error as an entry of ``calibration.json``."""
    groups = json.loads(Path(path).read_text("utf-8"))
    rows = [(kind, passage) for kind, passages in groups.items() for passage in passages]
    made = np.array([features(passage) for _, passage in rows])
    weight = np.array([1 / len(groups[kind]) for kind, _ in rows])
    real = np.array([not kind.startswith("*") for kind, _ in rows])
    even = np.arange(len(rows)) % 2 == 0
    weights, counts = {}, {}
    for name, vocabulary in VOCABULARIES.items():
        try:
            engine = engine_of(vocabulary)
        except InnkeeperError as error:
            print(f"# {error}", file=sys.stderr)
            continue
        true = np.maximum(np.array(engine.count_many([passage for _, passage in rows]), float), 1)
        off = np.zeros(len(rows))
        for seen in (even, ~even):
            off[~seen] = (made @ fit(made[seen], true[seen], np.sqrt(weight[seen])) / true - 1)[~seen]
        weights[name], counts[name] = fit(made, true, np.sqrt(weight)), true
        report(name, weights[name], quantile(off[real], weight[real], 0.5), quantile(off[real], weight[real], 0.9))
    generic = np.mean([weights[name] for name in _GENERIC], axis=0)
    off = np.concatenate([(made @ generic / counts[name] - 1)[real] for name in _GENERIC])
    heavy = np.concatenate([weight[real]] * len(_GENERIC))
    report("generic", generic, quantile(off, heavy, 0.5), quantile(off, heavy, 0.9))


def report(name: str, weights: Array, median: float, most: float) -> None:
    """Print one entry of the file."""
    entry = {"error": round(most), "typical": round(median), "weights": [float(f"{value:.3g}") for value in weights]}
    print(f"  {json.dumps(name)}: {json.dumps(entry)},")


if __name__ == "__main__":
    main(sys.argv[1])
