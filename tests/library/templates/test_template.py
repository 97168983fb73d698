"""Templates as plain data, and back; keys and hashes."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.gate.tier import Tier
from innkeeper.library.catalogue.catalogue import Catalogue
from innkeeper.library.errors import FieldError
from innkeeper.library.templates.template import (
    TemplateKey,
    TemplateVersion,
    Variable,
    content_hash,
    read_version,
    write_version,
)
from innkeeper.prompt.data import parse_json, to_json
from innkeeper.prompt.errors import FormatError
from tests.library.making import catalogue, labelled, made

RICH = made(
    "rich",
    "x",
    3,
    target_model="m",
    variables=(Variable(name="a", max_tokens=3, fence=True),),
    partials=(("p", 1),),
    extends=("q", 2),
    metadata={"a": {"b": [1, 2]}},
    note="why",
)


def test_round_trip_through_json() -> None:
    """What is written as JSON reads back equal, nested metadata included, and can be hashed."""
    again = read_version(parse_json(to_json(write_version(RICH)), asset="x"))
    assert again == RICH
    assert hash(again) == hash(RICH)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"version": "x"}, "version"),
        ({"key": {"use_case": "x", "content_mode": "all"}}, "key.content_mode"),
        ({"metadata": [1]}, "metadata"),
        ({"syntax": "jinja"}, "syntax"),
        ({"variables": [{"name": "a", "type": "date"}]}, "variables[0].type"),
    ],
)
def test_mistakes_say_where(change: dict[str, Any], path: str) -> None:
    """A field of the wrong kind is an error with its path; a tier that is none is one."""
    with pytest.raises(FormatError) as caught:
        read_version({**write_version(RICH), **change}, asset="file")
    assert caught.value.where is not None
    assert (caught.value.where.asset, caught.value.where.path) == ("file", path)


@pytest.mark.parametrize("data", [None, [], {}, "x"])
def test_what_is_no_template(data: Any) -> None:
    """Anything that is no template is an error, never a crash."""
    with pytest.raises(FormatError, match="not a template"):
        read_version(data)


def test_keys() -> None:
    """Blank parts of a key are None; different keys have different texts."""
    assert TemplateKey.of(" chat ", "sfw", "", " ", None) == TemplateKey(use_case="chat")
    keys = [TemplateKey.of("a", "sfw", *parts) for parts in ((None, None), ("null", None), ("b", None), (None, "b"))]
    assert len({key.text for key in keys}) == 4


@pytest.mark.parametrize("tier", ["NSFW", "", None, 1])
def test_a_template_of_an_unknown_tier_is_refused(tier: object) -> None:
    """A row whose tier is not understood must not pass for a general one."""
    with pytest.raises(FieldError):
        TemplateKey.of("a", tier)


def test_hash_is_of_the_content() -> None:
    """Who made a version and why is not part of its hash; all that decides its text is."""
    assert content_hash(made("t", note="a", author="b", version=7)) == content_hash(made("t"))
    for other in (made("t", "y"), made("t", variables="a"), made("t", token_limit=3), made("t", metadata={"a": 1})):
        assert content_hash(other) != content_hash(made("t"))


def test_catalogue_lookups() -> None:
    """Versions are found by number, by label, and as parts of others; each label counts as a row."""
    one, two, part = made("t"), made("t", version=2), made("p", use_case="partial")
    whole = Catalogue.build([*labelled(one), *labelled(two, label="staging")], pinned=[part])
    assert (whole.version("t", 1), whole.version("p", 1), whole.version("t", 3)) == (one, part, None)
    assert (whole.held("t", "staging"), whole.held("t", "draft")) == (two, None)
    assert len(whole) == 2


def test_catalogue_without_the_adult_tier() -> None:
    """What lies above the ceiling is not in the catalogue in any form; the ceiling is low unless raised."""
    up = made("up", content_mode="nsfw")
    for low in (Catalogue.build(labelled(up), pinned=[up]), catalogue(up, ceiling=Tier.SFW)):
        assert (len(low), low.version("up", 1), low.held("up", "production")) == (0, None, None)


def test_same_key_twice_is_decided_by_name() -> None:
    """A store refuses two templates with one key; where they come all the same, the first by name counts, always."""
    rows = labelled(made("b"), made("a"))
    for order in (rows, rows[::-1]):
        bucket = Catalogue.build(order).candidates("production", "enhancement", Tier.SFW)[None]
        found: TemplateVersion | None = bucket.pick(None, None)
        assert found is not None
        assert found.name == "a"
