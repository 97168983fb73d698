"""TOML of people's files: what is too much for the parser is refused before it is parsed."""

from __future__ import annotations

import tomllib

import pytest

from innkeeper.content.toml import MAX_TOML_PARTS, MAX_TOML_WORD, parse_toml
from innkeeper.prompt.errors import FormatError, LimitError
from innkeeper.taverns.profiles.profile import MAX_PROFILE_BYTES, parse_profile

FINE = (
    "a = 1.5\nb = 'x.y.z'\n[c.d.'e.f']\ng.h = \"\"\"" + "i.j." * 50 + '"""\n',
    "# " + "a." * 100 + "\nkey = '''" + "k.l." * 50 + "'''\n",
    'a = "' + "b." * 5_000 + '"\n',
    'a = "\\"' + ".b" * 100 + '"\nc = 1979-05-27T07:32:00Z\n',
    ".".join("a" * MAX_TOML_PARTS) + " = 1\n",
    'x = ["a.b.c", {y = "d.e"}]\nu = """a""\\""" ' + "b.c." * 30 + '"""\n',
)


@pytest.mark.parametrize("text", FINE)
def test_what_people_write_is_read(text: str) -> None:
    """Dots in texts, comments and numbers are none of a key."""
    assert parse_toml(text.encode(), asset="a.toml") == tomllib.loads(text)


DOTTED = ".".join("a" * (MAX_TOML_PARTS + 1))


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (f"x = 1\n{DOTTED} = 1", "MAX_TOML_PARTS"),
        (f"[{DOTTED}]", "MAX_TOML_PARTS"),
        (f"[[ {DOTTED.replace('.', ' . ')} ]]", "MAX_TOML_PARTS"),
        ("x = {" + DOTTED.replace("a", '"a.b"') + " = 1}", "MAX_TOML_PARTS"),
        (DOTTED.replace("a", "'a'") + " = 1", "MAX_TOML_PARTS"),
        ("x = 0x" + "1" * MAX_TOML_WORD, "MAX_TOML_WORD"),
    ],
)
def test_too_much_is_refused_first(text: str, limit: str) -> None:
    """Keys of many parts, in whatever notation, and numbers of many digits are a typed error that names the line."""
    with pytest.raises(LimitError) as caught:
        parse_toml(text.encode(), asset="a.toml")
    assert caught.value.limit == limit
    assert caught.value.where is not None
    assert caught.value.where.line == text.count("\n") + 1


@pytest.mark.parametrize(
    "text", ["a = ", 'a = "', "a = '''b", "a = " + "[" * 5_000, 'a = """' + '\\"""' * 9, "a = \x00"]
)
def test_what_is_no_toml_says_so(text: str) -> None:
    """Whatever the parser makes of it is one error."""
    with pytest.raises(FormatError, match="not TOML"):
        parse_toml(text.encode(), asset="a.toml")


def test_a_profile_is_small() -> None:
    """A profile names files and does not hold them."""
    with pytest.raises(LimitError, match="MAX_PROFILE_BYTES"):
        parse_profile(b"#" * (MAX_PROFILE_BYTES + 1))
