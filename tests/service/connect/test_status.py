"""The codes: each is a word of Connect, and every error of the house has one."""

import pytest
from connectrpc.code import Code

from innkeeper.library.errors import NotFoundError
from innkeeper.prompt.errors import InnkeeperError, LimitError, UnavailableError
from innkeeper.service.connect.status import CODES, code_of


def test_words() -> None:
    """Connect knows them all."""
    assert {Code(word) for word in CODES.values()}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotFoundError("x"), "not_found"),
        (UnavailableError("x"), "unavailable"),
        (LimitError("x", limit="L", allowed=1), "resource_exhausted"),
        (InnkeeperError("x"), "internal"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_code_of(error: InnkeeperError, code: str) -> None:
    """By the HTTP status."""
    assert code_of(error) == code
