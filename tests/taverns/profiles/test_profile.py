"""What a profile says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import ConfigError, FormatError, InnkeeperError
from innkeeper.taverns.profiles.profile import Profile, parse_profile


@pytest.mark.parametrize(
    ("key", "near"),
    [("caracter", "character"), ("card", "character"), ("user", "persona"), ("lorebook", "lorebooks"), ("zzz", "name")],
)
def test_an_unknown_key_is_an_error(key: str, near: str) -> None:
    """A key that does not exist is refused, and the nearest is offered, or all of them."""
    with pytest.raises(ConfigError) as error:
        Profile.of({key: "x"}, name="a")
    assert near in (error.value.hint or "")


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"system": "somewhere"}, "system"),
        ({"context_window": -1}, "context_window"),
        ({"name": "../a"}, "name"),
        ({"name": ""}, "name"),
        ({"character": "a.png", "group": {"members": ["b.png"]}}, "group"),
        ({"group": {}}, "group.members"),
        ({"route": "fast", "model": "m"}, "route"),
        ({"greeting": -1}, "greeting"),
        ({"persona": 3}, "persona"),
        ({"lorebooks": [""]}, "lorebooks"),
        ({"seed": "now and then"}, "seed"),
    ],
)
def test_what_does_not_fit_is_named(fields: dict[str, Any], path: str) -> None:
    """A value that does not fit, or keys that do not go together, are refused with the key."""
    with pytest.raises(ConfigError) as error:
        Profile.of({"name": "a", **fields})
    assert error.value.where is not None
    assert error.value.where.path == path


def test_several_characters_are_a_group() -> None:
    """Two cards or more are the members of a group."""
    profile = Profile.of({"character": ["a.png", "b.png"]}, name="two")
    assert profile.group == {"members": ("a.png", "b.png")}
    assert profile.files == ("a.png", "b.png")


@pytest.mark.parametrize(
    ("greeting", "number"), [({}, 0), ({"greeting": 2}, 2), ({"greeting": False}, None), ({"greeting": True}, 0)]
)
def test_greetings(greeting: dict[str, Any], number: int | None) -> None:
    """A chat begins with the first greeting, another one, or none."""
    assert Profile.of(greeting, name="a").greeting_number == number


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({}, ""),
        ({"route": "fast"}, "fast"),
        ({"model": "m"}, "m"),
        ({"model": "m", "provider": "ollama"}, "ollama:m"),
        ({"model": "m", "provider": "http://localhost:1"}, "m"),
    ],
)
def test_who_answers(fields: dict[str, Any], name: str) -> None:
    """Who answers is a route, or a provider and its model."""
    assert Profile.of(fields, name="a").model_name == name


def test_reads_what_it_writes() -> None:
    """A profile as data is read back as it was."""
    profile = Profile.of(
        {"character": "a.png", "preset": ["p.json", "q.json"], "variables": {"local": {"x": 1}}, "seed": 4}, name="a"
    )
    assert Profile.of(profile.to_dict()) == profile
    assert profile.to_dict()["character"] == "a.png"


@pytest.mark.parametrize("text", [b"a = ", b"\xff", b"name = 1\nname = 2", b"a=" + b"[" * 3000])
def test_what_is_not_toml(text: bytes) -> None:
    """What is not TOML is an error that says where."""
    with pytest.raises(FormatError, match="not TOML"):
        parse_profile(text)


@given(st.dictionaries(st.sampled_from(sorted(Profile.__struct_fields__)), st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
), max_size=5))  # fmt: skip
def test_any_table_is_read_or_refused(fields: dict[str, Any]) -> None:
    """Whatever stands in a profile, it is read, or refused with an error of ours."""
    try:
        profile = Profile.of(fields, name="a")
    except InnkeeperError:
        return
    assert isinstance(profile.files, tuple)
