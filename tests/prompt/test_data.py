"""FrozenDict, freeze, thaw, deep_merge, registries."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import (
    Dialects,
    FormatError,
    FrozenDict,
    InnkeeperError,
    LimitError,
    UnknownNameError,
    UsageError,
    deep_merge,
    freeze,
    thaw,
)
from innkeeper.prompt.data import MAX_DEPTH, Registry, check_depth, key_text, parse_json, to_json
from tests.prompt.doubles import ANY_TEXT, JSON, nested

MERGEABLE = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8
).map(lambda value: value if isinstance(value, dict) else {"v": value})


class Pair(NamedTuple):
    first: Any
    second: Any


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.__setitem__("a", 2),
        lambda d: d.__delitem__("a"),
        lambda d: d.clear(),
        lambda d: d.pop("a"),
        lambda d: d.popitem(),
        lambda d: d.setdefault("b", 1),
        lambda d: d.update(b=1),
        lambda d: d.__ior__({"b": 1}),
    ],
)
def test_no_mutator_works(change: Any) -> None:
    """Every way to change a dict raises, and changes nothing."""
    frozen = FrozenDict(a=1)
    with pytest.raises(TypeError, match="cannot be changed"):
        change(frozen)
    assert frozen == {"a": 1}


def test_copies_and_pickles_are_equal_and_frozen() -> None:
    """A frozen dict survives copying and pickling as what it is."""
    frozen = freeze({"a": [1, {"b": 2}]})
    assert copy.copy(frozen) is frozen
    for twin in (copy.deepcopy(frozen), pickle.loads(pickle.dumps(frozen))):  # noqa: S301 - our own pickle
        assert type(twin) is FrozenDict
        assert twin == frozen


def test_hash_does_not_depend_on_order() -> None:
    """Equal frozen dicts have equal hashes."""
    assert hash(FrozenDict(a=1, b=2)) == hash(FrozenDict(b=2, a=1))


@given(JSON)
def test_freezing_what_is_frozen_changes_nothing(value: Any) -> None:
    """Freeze is idempotent, and thaw gives plain data that freezes to the same."""
    frozen = freeze(value)
    assert freeze(frozen) == frozen
    assert freeze(thaw(frozen)) == frozen


@given(JSON)
def test_frozen_text_has_no_lone_surrogate(value: Any) -> None:
    """Whatever came in, what is frozen encodes as UTF-8, keys included."""
    repr(freeze(value)).encode()


def test_any_mapping_freezes_and_a_namedtuple_stays() -> None:
    """Read-only views become frozen dicts; values with a shape of their own are left alone."""
    assert type(freeze(MappingProxyType({"a": 1}))) is FrozenDict
    assert freeze(Pair([1], 2)) == Pair([1], 2)


@dataclass(frozen=True)
class KeyCase:
    id: str
    key: Any
    text: str


KEYS = [
    KeyCase("text", "a", "a"),
    KeyCase("number", 50256, "50256"),
    KeyCase("true", True, "true"),
    KeyCase("null", None, "null"),
    KeyCase("lone-surrogate", "a\ud800", "a\ufffd"),
]


@pytest.mark.parametrize("case", KEYS, ids=lambda case: case.id)
def test_keys_become_text_as_in_json(case: KeyCase) -> None:
    """A key is what a JSON writer would make of it, so that a round trip changes nothing."""
    assert key_text(case.key) == case.text
    assert freeze({case.key: 1}) == {case.text: 1}


def test_sets_have_one_order() -> None:
    """A set becomes a tuple that is the same in every process."""
    assert freeze({"a": {"c", "b", "d"}}) == {"a": ("b", "c", "d")}


def test_numbers_that_json_cannot_write_are_refused() -> None:
    """NaN and infinities are errors at the border, not in the payload."""
    for value in (float("nan"), float("inf")):
        with pytest.raises(FormatError, match="not a number that JSON can write"):
            freeze({"a": [value]})


def _nested_dict(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def _merge_with_itself(value: Any) -> Any:
    return deep_merge(value, value)


@pytest.mark.parametrize("levels", [1_000, 100_000])
@pytest.mark.parametrize("make", [nested, _nested_dict])
@pytest.mark.parametrize("walk", [freeze, check_depth, thaw])
def test_deep_nesting_is_a_limit_not_a_crash(walk: Any, make: Any, levels: int) -> None:
    """Data nested without end is a `LimitError` that names its limit."""
    with pytest.raises(LimitError) as caught:
        walk(make(levels))
    assert caught.value.limit == "MAX_DEPTH"


def test_merging_deep_data_is_a_limit() -> None:
    """So is merging two such dicts."""
    with pytest.raises(LimitError):
        _merge_with_itself(_nested_dict(100_000))


def test_depth_at_the_limit_is_accepted() -> None:
    """The limit itself is still allowed."""
    assert freeze(nested(MAX_DEPTH - 1)) is not None
    check_depth(nested(MAX_DEPTH - 1))
    with pytest.raises(LimitError):
        freeze(nested(MAX_DEPTH))


def test_data_that_contains_itself_is_a_limit() -> None:
    """A cycle is endless depth."""
    loop: list[Any] = []
    loop += [loop, loop]
    for walk in (freeze, thaw, check_depth):
        with pytest.raises(InnkeeperError):
            walk(loop)


def test_merge_is_recursive_for_dicts_and_replaces_lists() -> None:
    """The typed merge of tavernkit §23.1: dicts merge, lists are replaced."""
    assert deep_merge({"a": {"x": 1, "y": 2}, "l": [1]}, {"a": {"y": 3}, "l": [2, 3]}) == {
        "a": {"x": 1, "y": 3},
        "l": [2, 3],
    }


@given(MERGEABLE, MERGEABLE)
def test_merge_laws(base: dict[str, Any], over: dict[str, Any]) -> None:
    """Nothing merges to the same; merging again changes nothing; both inputs stay; all keys are there; over wins."""
    before = copy.deepcopy((base, over))
    merged = deep_merge(base, over)
    assert (base, over) == before
    assert deep_merge(base, {}) == base
    assert deep_merge({}, over) == over
    assert deep_merge(base, base) == base
    assert deep_merge(merged, over) == merged
    assert merged.keys() == base.keys() | over.keys()
    assert all(merged[key] == value for key, value in over.items() if not isinstance(value, dict))


@given(ANY_TEXT)
def test_key_text_never_fails(text: str) -> None:
    """Any text is a key."""
    key_text(text).encode()


@given(JSON)
def test_any_data_is_written_and_read_back(value: Any) -> None:
    """Frozen data comes back equal, lone surrogates and odd keys included."""
    data = thaw(freeze(value))
    assert parse_json(to_json(data), asset="x") == data


@given(JSON)
def test_what_is_written_is_ascii_json(value: Any) -> None:
    """Even data with lone surrogates becomes bytes that every JSON reader takes."""
    to_json(value).decode("ascii")


@given(st.dictionaries(st.text(max_size=3), st.integers(), max_size=5))
def test_order_does_not_matter(data: dict[str, int]) -> None:
    """Equal data are equal bytes, in whatever order they were made."""
    assert to_json(data) == to_json(dict(reversed(data.items())))


def test_order_is_kept_on_request() -> None:
    """Data that will be read by something to which order matters keeps it."""
    assert to_json({"b": 1, "a": {"d": 1, "c": 2}}, sort=False) == b'{"b":1,"a":{"d":1,"c":2}}'


def test_keys_of_several_types_are_written_as_text() -> None:
    """A dict with number and text keys has one spelling."""
    assert to_json({"b": 1, 10: 2, 9: {None: 3}}) == b'{"10":2,"9":{"null":3},"b":1}'
    assert to_json({(1, 2): 3}) == b'{"(1, 2)":3}'


class Thing(msgspec.Struct):
    """A struct, which is data."""

    a: Any = 1


class Told:
    """An object that says what it is as data."""

    def to_dict(self) -> dict[str, Any]:
        return {"told": True}


def test_structs_and_objects_with_to_dict_are_data() -> None:
    """Values of our own are written by their fields."""
    assert to_json([Thing(), Told(), Thing(Told())]) == b'[{"a":1},{"told":true},{"a":{"told":true}}]'


@dataclass(frozen=True)
class BadCase:
    id: str
    value: Any
    error: type[InnkeeperError]


BAD = [
    BadCase("nan", {"a": float("nan")}, UsageError),
    BadCase("infinity", [float("inf")], UsageError),
    BadCase("object", {"a": object()}, UsageError),
    BadCase("bytes", {"a": b"x"}, UsageError),
    BadCase("bytes-in-a-struct", Thing(b"x"), UsageError),
    BadCase("moment-in-a-struct", Thing(datetime(2026, 1, 1, tzinfo=UTC)), UsageError),
    BadCase("deep", nested(100_000), LimitError),
    BadCase("deep-with-odd-keys", {1: nested(100_000), "a": 1}, LimitError),
    BadCase("huge-number", 10**5000, LimitError),
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.id)
def test_what_is_not_data_is_a_typed_error(case: BadCase) -> None:
    """Nothing that cannot be written comes out as another exception, or as text that reads back differently."""
    with pytest.raises(case.error):
        to_json(case.value)


def test_a_cycle_is_a_typed_error() -> None:
    """Data that contains itself cannot be written."""
    loop: dict[str, Any] = {}
    loop["a"] = loop
    with pytest.raises(UsageError):
        to_json(loop)


@dataclass(frozen=True)
class ReadCase:
    id: str
    text: str | bytes
    error: type[InnkeeperError]
    line: int | None = None
    column: int | None = None


UNREADABLE = [
    ReadCase("broken", '{\n "a": }', FormatError, 2, 7),
    ReadCase("empty", "", FormatError, 1, 1),
    ReadCase("not-utf-8", b'{"a": "\xff"}', FormatError),
    ReadCase("nan", '{"a": NaN}', FormatError),
    ReadCase("infinity", "[-Infinity]", FormatError),
    ReadCase("deep", "[" * 100_000, LimitError),
    ReadCase("deep-and-closed", "[" * 500 + "]" * 500, LimitError),
    ReadCase("many-digits", "1" * 5000, FormatError),
]


@pytest.mark.parametrize("case", UNREADABLE, ids=lambda case: case.id)
def test_unreadable_text_says_where(case: ReadCase) -> None:
    """Text that is no JSON is a typed error with the asset and, where known, line and column."""
    with pytest.raises(case.error) as caught:
        parse_json(case.text, asset="it.json")
    where = caught.value.where
    assert where is not None
    assert (where.asset, where.line, where.column) == ("it.json", case.line, case.column)


def test_the_offending_line_is_shown_under_its_column() -> None:
    """The caret stands under the character that is wrong, also in a long line."""
    text = '{"long": "' + "x" * 500 + '" oops}'
    with pytest.raises(FormatError) as caught:
        parse_json(text, asset="it.json")
    excerpt, caret = caught.value.render().splitlines()[1:3]
    assert excerpt[caret.index("^")] == "o"


@given(st.binary(max_size=40) | st.text(max_size=40))
def test_any_bytes_are_data_or_a_typed_error(text: Any) -> None:
    """The reader raises nothing else."""
    try:
        data = parse_json(text, asset="x")
    except InnkeeperError:
        return
    assert json.loads(text) == data


class Lamp:
    """Something with a name."""

    def __init__(self, name: str, light: int) -> None:
        self.name = name
        self.light = light


class Lamps(Registry[Lamp]):
    """Lamps by name."""

    __slots__ = ()

    WHAT = "lamp"


def test_registry_reading() -> None:
    """Names in the order given; each has its value."""
    lamps = Lamps(Lamp("red", 1), Lamp("white", 2))
    assert list(lamps) == ["red", "white"]
    assert len(lamps) == 2
    assert "red" in lamps
    assert lamps["white"].light == 2


def test_registry_with() -> None:
    """A further value of the same name replaces, in a registry of the same type; the first one stays as it is."""
    lamps = Lamps(Lamp("red", 1))
    more = lamps.with_(Lamp("red", 3), Lamp("green", 4))
    assert type(more) is Lamps
    assert {name: lamp.light for name, lamp in more.items()} == {"red": 3, "green": 4}
    assert lamps["red"].light == 1


def test_unknown_name() -> None:
    """An unknown name is a typed error that says what is missing and which name is near."""
    with pytest.raises(UnknownNameError, match="unknown lamp 'rad'") as caught:
        Lamps(Lamp("red", 1))["rad"]
    assert "red" in str(caught.value.hint)


def test_registry_is_immutable() -> None:
    """There is no way to set an entry of one."""
    with pytest.raises(TypeError):
        Dialects()["x"] = None  # type: ignore[index]
