"""Tests of registries."""

from __future__ import annotations

import pytest

from innkeeper.prompt import Dialects, UnknownNameError
from innkeeper.prompt.registry import Registry


class Lamp:
    """Something with a name."""

    def __init__(self, name: str, light: int) -> None:
        self.name = name
        self.light = light


class Lamps(Registry[Lamp]):
    """Lamps by name."""

    __slots__ = ()

    WHAT = "lamp"


def test_reading() -> None:
    """Names in the order given; each has its value."""
    lamps = Lamps(Lamp("red", 1), Lamp("white", 2))
    assert list(lamps) == ["red", "white"]
    assert len(lamps) == 2
    assert "red" in lamps
    assert lamps["white"].light == 2


def test_with() -> None:
    """A further value of the same name replaces, in a registry of the same type; the first one stays as it is."""
    lamps = Lamps(Lamp("red", 1))
    more = lamps.with_(Lamp("red", 3), Lamp("green", 4))
    assert type(more) is Lamps
    assert {name: lamp.light for name, lamp in more.items()} == {"red": 3, "green": 4}
    assert lamps["red"].light == 1


def test_unknown() -> None:
    """An unknown name is a typed error that says what is missing and which name is near."""
    with pytest.raises(UnknownNameError, match="unknown lamp 'rad'") as caught:
        Lamps(Lamp("red", 1))["rad"]
    assert "red" in str(caught.value.hint)


def test_immutable() -> None:
    """There is no way to set an entry of one."""
    with pytest.raises(TypeError):
        Dialects()["x"] = None  # type: ignore[index]
