"""Near names: an unknown name's error offers what was probably meant, and stays the error it was."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.gate.tier import Ceilings, Tier
from innkeeper.library.catalogue.resolver import ResolveRequest
from innkeeper.library.errors import FieldError, NotFoundError, suggesting, with_near
from innkeeper.library.prepare.request import PrepareRequest, texts_of
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.message import Message


def test_near_names_are_offered() -> None:
    """Up to three names that are like it, the nearest first; without one the error keeps its own hint."""
    error = with_near(NotFoundError("no"), "painter", ["painters", "pointer", "saint", "painted", "x"])
    assert error.hint == "did you mean 'painters' or 'pointer' or 'painted'?"
    assert error.to_dict()["details"]["near"][0] == "painters"
    assert with_near(NotFoundError("no"), "zzz", ["painter"]).hint == NotFoundError.HINT


def test_only_unknown_names_are_touched() -> None:
    """Other errors pass as they are, and nobody is asked for names."""
    with pytest.raises(UsageError, match="other"), suggesting("x", lambda: pytest.fail("asked")):
        raise UsageError("other")
    with pytest.raises(NotFoundError) as caught, suggesting("dise", lambda: ["dice"]):
        raise NotFoundError("no")
    assert caught.value.hint == "did you mean 'dice'?"


def test_very_long_names() -> None:
    """A name of any length is compared in its beginning."""
    assert with_near(NotFoundError("no"), "x" * 1_000_000, ["y"]).hint is None


ODD: tuple[Any, ...] = (0, 1.5, float("nan"), b"x", [], {}, ["a"], {"a": 1}, object(), Tier, 10**400, len)
"""Values that are no text."""

TEXTS = ("use_case", "job_type", "target_model", "target_family", "enhancer_model", "enhancer_family", "label")


@pytest.mark.parametrize("kind", [PrepareRequest, ResolveRequest])
@pytest.mark.parametrize("field", TEXTS)
def test_texts(kind: Any, field: str) -> None:
    """Whatever is no text is refused, by name."""
    for value in ODD:
        with pytest.raises(FieldError, match=field) as caught:
            kind(**{"use_case": "chat", field: value})
        assert caught.value.where is not None
        assert caught.value.where.path == field


@pytest.mark.parametrize("field", [*TEXTS, "request_id", "user_id", "conversation_id", "job_id", "variant"])
def test_texts_that_no_row_holds(field: str) -> None:
    """A name that could not be stored is refused at once: no record of a request fails because of it."""
    for value in ("a\0", "\ud800"):
        given: dict[str, Any] = {"use_case": "chat", field: value}
        with pytest.raises(FieldError, match=field):
            PrepareRequest(**given)


@pytest.mark.parametrize("value", [None, "sfw", "nsfw", 1], ids=str)
def test_the_resolver_takes_tiers_only(value: Any) -> None:
    """What looks like a tier is none: it was not granted."""
    with pytest.raises(FieldError, match="content_mode"):
        ResolveRequest(use_case="chat", content_mode=value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("lower_tier", 1),
        ("lower_tier", None),
        ("values", None),
        ("values", [("a", "b")]),
        ("values", {1: "a"}),
        ("overlays", "text"),
        ("overlays", {"ui": 1}),
        ("overlays", {"ui": None}),
        ("ceilings", None),
        ("ceilings", {"account": "nsfw"}),
        ("target_budget", True),
        ("target_budget", "75"),
        ("target_budget", 7.5),
        ("history", "text"),
        ("history", None),
        ("history", ({"role": "user", "content": "x"},)),
        ("negative", None),
        ("text", None),
        ("user_id", 7),
    ],
    ids=str,
)
def test_other_fields(field: str, value: Any) -> None:
    """The same of all others."""
    with pytest.raises(FieldError):
        PrepareRequest(**{"use_case": "chat", field: value})


def test_sound_requests() -> None:
    """What fits is taken; a tier may be asked for in any form, since what is none is ``sfw``."""
    message = Message(role="user", content="Hi", name="Ann")
    for asked in ODD:
        request = PrepareRequest(
            use_case="chat", content_mode=asked, history=(message,), ceilings=Ceilings(), target_budget=5
        )
        assert texts_of(request) == {"history": "Ann: Hi"}
        assert Tier.of(request.content_mode) is Tier.SFW
