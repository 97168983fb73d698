"""Decorators at the head of an entry, as the V3 specification reads them."""

import pytest
from hypothesis import given

from innkeeper.content import Decorator, LorebookEntry, split_decorators
from tests.content.builders import texts


@pytest.mark.parametrize(
    ("content", "decorators", "body"),
    [
        ("No decorator.", (), "No decorator."),
        ("  @ not one\n", (), "  @ not one\n"),
        ("@@depth 4\n@@role user\n\nBody.", (Decorator("depth", "4"), Decorator("role", "user")), "Body."),
        ("\n@@constant\nBody.\n@@later 1", (Decorator("constant"),), "Body.\n@@later 1"),
        ("@@only\n", (Decorator("only"),), ""),
        (
            "@@a 1\n@@@b 2\n@@@c\n@@d\nBody",
            (Decorator("a", "1", (Decorator("b", "2"), Decorator("c"))), Decorator("d")),
            "Body",
        ),
        ("@@@lost 1\nBody", (), "Body"),
    ],
    ids=["none", "no mark", "two", "in the body", "nothing else", "fallbacks", "fallback of nothing"],
)
def test_split(content: str, decorators: tuple[Decorator, ...], body: str) -> None:
    """Lines at the head that begin with @@ are decorators; @@@ lines are fallbacks of the one before."""
    assert split_decorators(content) == (decorators, body)


def test_values_are_split_at_commas() -> None:
    """Several values are trimmed and empty ones dropped."""
    assert Decorator("additional_keys", "inn, keeper ,,ale").values == ("inn", "keeper", "ale")
    assert Decorator("constant").values == ()


@pytest.mark.parametrize(
    ("written", "groups"),
    [("g", ("g",)), ("g, h", ("g", "h")), ("g ,h", ("g ", "h")), (" g", (" g",)), (",g,", ("g",)), ("", ())],
)
def test_groups(written: str, groups: tuple[str, ...]) -> None:
    """Commas with the blanks behind them part the names of groups; blanks before them belong to a name."""
    assert LorebookEntry(id=0, index=0, group=written).groups == groups


@given(content=texts)
def test_any_text_is_split(content: str) -> None:
    """What is left is part of the text, and nothing is left to split once it is not at the head."""
    decorators, body = split_decorators(content)
    assert body in content
    assert decorators or body == content or content.lstrip().startswith("@@")
