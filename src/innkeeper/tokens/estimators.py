"""Other people's counters: objects with ``estimate``, or plain functions, where Innkeeper wants a counter."""

from collections.abc import Callable, Mapping
from typing import Any

from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.run.state import TokenCounter
from innkeeper.tokens.counter import Counter, default_counter


class EstimatorCounter:
    """A counter that asks ``ask(text, model)``; where that fails or gives no count, ``fallback`` counts.

    Args:
        ask: returns a number of tokens.
        name: what `describe` calls it.
        about: returns what the estimator says of itself for a model.
        fallback: the default counter where left out.
    """

    def __init__(
        self,
        ask: Callable[[str, str | None], Any],
        *,
        name: str,
        about: Callable[[str | None], Any] | None = None,
        fallback: Counter | None = None,
    ) -> None:
        self._ask = ask
        self._name = name
        self._about = about
        self._fallback = fallback or default_counter()

    def count(self, text: str, model: str | None = None) -> int:
        """Tokens of ``text``; never raises."""
        try:
            tokens = int(self._ask(text, model))
        except Exception:  # noqa: BLE001 - somebody else's code
            tokens = -1
        return tokens if tokens >= 0 else self._fallback.count(text, model)

    def describe(self, model: str | None = None) -> dict[str, Any]:
        """Describe the estimator; its quality is unknown."""
        facts = {"model": model, "backend": self._name, "exact": False, "error_percent": None, "source": "estimator"}
        try:
            own = self._about(model) if self._about else {}
        except Exception:  # noqa: BLE001 - somebody else's code
            own = {}
        return {**facts, **(own if isinstance(own, Mapping) else {})}


def counter_of(value: Any) -> TokenCounter:
    """A counter from a counter, an object with ``estimate(text, model_hint=)``, or ``(text) -> int``; None is the default.

    Raises:
        UsageError: it is none of these.
    """
    if value is None:
        return default_counter()
    if callable(getattr(value, "count", None)) and callable(getattr(value, "describe", None)):
        counter: TokenCounter = value
        return counter
    name = type(value).__name__
    if callable(getattr(value, "estimate", None)):
        about = getattr(value, "describe", None)
        return EstimatorCounter(
            lambda text, model: value.estimate(text, model_hint=model),
            name=name,
            about=(lambda model: about(model_hint=model)) if callable(about) else None,
        )
    if callable(value):
        return EstimatorCounter(lambda text, _model: value(text), name=getattr(value, "__name__", name))
    raise UsageError(f"a token counter must have count() or estimate(), or be a function; {name} is none of these")
