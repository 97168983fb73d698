"""Classifier: the port for guests that judge texts and pictures, the thread that waits for them, and our own judge.

`depiction` is that judge: a linear scorer over words of classes, no more. It is asked whether words of sex near an age depict
something or speak of it as a lesson, a clinic, a court or a newspaper does. A guest `Classifier` may lift what it leaves open.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, runtime_checkable

from innkeeper.gate.limits import CLASSIFIER_SECONDS, CLASSIFIERS_AT_ONCE

EMBEDDED: Final = "linear@1"
"""The name and version of the embedded judge, as decisions write it."""

_SEXUAL, _CUE, _EDUCATIONAL, _STRONG, _BIAS = 2.2, 2.0, -2.8, 1.0, -0.3
_ENOUGH: Final = 0.5
"""Less than this is one mild word, as every text has."""


def depiction(sexual: float, cue: float, educational: float, *, strong: bool = False) -> float:
    """How likely words of sex depict it, from 0 to 1, by the weights of the words of each class around them.

    ``strong``: the word itself is hardly ever used in another sense. Where next to nothing educational stands there, they do.
    """
    if educational < _ENOUGH:
        return 1.0
    return 1 / (1 + math.exp(-(_SEXUAL * sexual + _CUE * cue + _EDUCATIONAL * educational + _STRONG * strong + _BIAS)))


@runtime_checkable
class Classifier(Protocol):
    """Judges texts. ``label`` is its name and version, as decisions write it. May raise or hang: then a scan needs review."""

    label: str

    def scores(self, text: str, /) -> Mapping[str, float]:
        """A score from 0 to 1 for each category it knows."""
        ...


@runtime_checkable
class ImageClassifier(Protocol):
    """Judges pictures, as `Classifier` judges texts."""

    label: str

    def image_scores(self, data: bytes, /) -> Mapping[str, float]:
        """A score from 0 to 1 for each category it knows."""
        ...


class ClassifierFailure(Exception):  # noqa: N818 - it never leaves the detector, which turns it into a reason
    """Why a classifier gave no usable scores: its message is the reason."""


class Waiter:
    """Asks classifiers, each in a thread of its own that is not waited for longer than ``seconds``."""

    def __init__(self, seconds: float = CLASSIFIER_SECONDS, at_once: int = CLASSIFIERS_AT_ONCE) -> None:
        self.seconds = seconds
        self._free = threading.BoundedSemaphore(at_once)

    def ask(self, ask: Callable[[], Mapping[str, float]]) -> dict[str, float]:
        """The scores, checked. Raises `ClassifierFailure`."""
        if not self._free.acquire(timeout=self.seconds):
            raise ClassifierFailure("classifier_busy")
        answer: list[Any] = []
        thread = threading.Thread(target=self._run, args=(ask, answer), daemon=True, name="innkeeper-classifier")
        thread.start()
        thread.join(self.seconds)
        if not answer:
            raise ClassifierFailure("classifier_timeout" if thread.is_alive() else "classifier_error")
        return _checked(answer[0])

    def _run(self, ask: Callable[[], Any], answer: list[Any]) -> None:
        try:
            answer.append(ask())
        except BaseException:  # noqa: BLE001 - whatever a guest raises, the scan goes to review
            return
        finally:
            self._free.release()


def _checked(scores: Any) -> dict[str, float]:
    if not isinstance(scores, Mapping):
        raise ClassifierFailure("classifier_error")
    try:
        numbers = {str(name): float(score) for name, score in scores.items()}
    except (TypeError, ValueError, OverflowError):
        raise ClassifierFailure("classifier_error") from None
    if not all(0 <= score <= 1 for score in numbers.values()):
        raise ClassifierFailure("classifier_error")
    return numbers
