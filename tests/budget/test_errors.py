"""Budgets that make no sense: the caller's mistakes."""

from typing import Any

import pytest

from innkeeper.budget import trim
from innkeeper.budget.errors import whole
from innkeeper.prompt import UsageError
from tests.budget.doubles import Characters


def test_they_are_usage_errors() -> None:
    """Exit code 2, HTTP 400, each with a hint."""
    budgets: list[dict[str, Any]] = [{}, {"max_tokens": -1}]
    for budget in budgets:
        with pytest.raises(UsageError) as caught:
            trim([], counter=Characters(), **budget)
        error = caught.value
        assert isinstance(error, UsageError)
        assert (error.exit_code, error.http_status) == (2, 400)
        assert error.hint


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (-1, "not a negative number"),
        (1.5, "not float 1.5"),
        (True, "not bool True"),
        ("5", "not str '5'"),
        (None, "not NoneType None"),
    ],
)
def test_what_is_no_number_of_tokens_is_shown(value: Any, says: str) -> None:
    """The parameter and what it was; huge values are shortened."""
    with pytest.raises(UsageError, match=f"max_tokens must be a whole number of tokens, {says}") as caught:
        whole("max_tokens", value)
    assert caught.value.details["name"] == "max_tokens"
    with pytest.raises(UsageError) as caught:
        whole("x", "y" * 10_000)
    assert len(str(caught.value)) < 200


def test_whole_numbers_pass() -> None:
    """From zero up."""
    assert [whole("x", value) for value in (0, 10**20)] == [0, 10**20]
