"""Other people's counters in the place of ours."""

from typing import Any

import pytest

from innkeeper.prompt.errors import UsageError
from innkeeper.tokens import counter_of, default_counter


class Theirs:
    """An estimator as TavernKit has them."""

    def estimate(self, text: str, model_hint: str | None = None) -> int:
        return len(text) + (100 if model_hint == "big" else 0)

    def describe(self, model_hint: str | None = None) -> dict[str, Any]:
        return {"backend": "theirs", "hint": model_hint}


def test_objects_with_estimate() -> None:
    """``estimate`` is asked with the model as its hint, and ``describe`` is passed on."""
    theirs = counter_of(Theirs())
    assert (theirs.count("abc"), theirs.count("abc", "big")) == (3, 103)
    assert theirs.describe("big")["backend"] == "theirs"
    assert theirs.describe("big")["hint"] == "big"
    assert theirs.describe("big")["exact"] is False


def test_functions() -> None:
    """A function of the text will do."""
    assert counter_of(len).count("abc") == 3
    assert counter_of(len).describe()["backend"] == "len"


def test_counters_pass() -> None:
    """A counter is taken as it is; nothing is the default."""
    assert counter_of(default_counter()) is default_counter()
    assert counter_of(None) is default_counter()


@pytest.mark.parametrize("answer", [None, -1, "many", ValueError()])
def test_bad_answers_fall_back(answer: Any) -> None:
    """What is no count is replaced by the default's count."""

    def ask(_text: str) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert counter_of(ask).count("lamp") == default_counter().count("lamp")


def test_a_failing_description_is_left_out() -> None:
    """An estimator that cannot describe itself is still described."""

    class Shy(Theirs):
        def describe(self, model_hint: str | None = None) -> dict[str, Any]:
            raise RuntimeError

    assert counter_of(Shy()).describe()["backend"] == "Shy"


@pytest.mark.parametrize("value", [7, "text", object()])
def test_others_are_refused(value: Any) -> None:
    """What cannot count is refused."""
    with pytest.raises(UsageError):
        counter_of(value)
