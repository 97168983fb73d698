"""Misfits: what does not fit a type is said in words of JSON, with its path, whatever the value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.request import BuildRequest
from innkeeper.prompt.typed.misfit import Misfit
from innkeeper.prompt.typed.once import convert, decode
from innkeeper.taverns.profiles.profile import Profile

PYTHON: Final = re.compile(
    r"<class|object at 0x|NoneType|KeyError|Expected|expected|\\bgot\\b|FrozenDict|\\b(?:int|str|dict|float|bool|tuple|array)\\b"
    r"|\\b1 (?:files|entries)\\b"
)


class Room(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    beds: Annotated[int, msgspec.Meta(ge=0, le=9)] = 1
    is_open: bool = True
    price: float | None = None
    kind: Literal["attic", "cellar"] = "attic"
    keys: list[str] = []
    guests: dict[str, int] = {}
    pair: tuple[int, int] = (0, 0)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"beds": "x"}, "beds must be a whole number, not text"),
        ({"beds": 1.5}, "beds must be a whole number, not a decimal number"),
        ({"beds": 10}, "beds must be a whole number <= 9"),
        ({"is_open": 1}, "is_open must be true or false, not a whole number"),
        ({"price": "x"}, "price must be a number, not text"),
        ({"kind": "roof"}, "kind cannot be 'roof'"),
        ({"keys": {}}, "keys must be a list, not an object"),
        ({"keys": ["a", None]}, "keys[1] must be text, not null"),
        ({"guests": []}, "guests must be an object, not a list"),
        ({"guests": {"Mara": "x"}}, "guests[...] must be a whole number, not text"),
        ({"pair": [1, 2, 3]}, "pair must be a list of length 2, not of 3"),
        ({"bedz": 1}, "has an unknown field 'bedz'"),
    ],
)
def test_words(fields: dict[str, Any], says: str) -> None:
    """The path, what must be there, and what is; read from JSON as from plain values."""
    with pytest.raises(Misfit) as caught:
        convert({"name": "a", **fields}, Room)
    assert str(caught.value) == says
    with pytest.raises(Misfit) as read:
        decode(msgspec.json.encode({"name": "a", **fields}), Room)
    assert says.startswith(str(read.value))


@pytest.mark.parametrize(
    ("value", "says"),
    [({}, "is missing the field 'name'"), ([], "must be an object, not a list"), (None, "must be an object, not null")],
)
def test_the_whole(value: Any, says: str) -> None:
    """What has no path is said without one."""
    with pytest.raises(Misfit) as caught:
        convert(value, Room)
    assert (caught.value.path, str(caught.value)) == ("", says)


VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.sampled_from(["", "x", "text"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "beds", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def refusal(read: Callable[[], Any]) -> str:
    """Return what is said if a value is refused, after a look for Python in it."""
    try:
        read()
    except (Misfit, InnkeeperError) as error:
        says = str(error)
    else:
        return ""
    assert not PYTHON.search(says), says
    return says


@given(field=st.sampled_from([*Room.__struct_fields__, "unknown"]), value=VALUES)
def test_no_python(field: str, value: Any) -> None:
    """No error of a schema speaks Python, and each names the field it is about."""
    says = refusal(lambda: convert({"name": "a", field: value}, Room))
    assert field in says or not says


@example(field="history", value=[None])
@example(field="group", value=5)
@given(field=st.sampled_from([*BuildRequest.__struct_fields__]), value=VALUES)
def test_no_python_about_a_request(field: str, value: Any) -> None:
    """A request whose field holds anything is read, or refused in plain words."""
    refusal(lambda: BuildRequest.of({field: value}))


@given(field=st.sampled_from([*Profile.__struct_fields__]), value=VALUES)
def test_no_python_about_a_profile(field: str, value: Any) -> None:
    """A profile whose field holds anything is read, or refused in plain words."""
    refusal(lambda: Profile.of({field: value}))
