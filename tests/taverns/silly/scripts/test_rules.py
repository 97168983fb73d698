"""Regex scripts made ready: patterns, replacements, escaped macros."""

from __future__ import annotations

import pytest

from innkeeper.content.regex_script import PatternMacros, RegexScript
from innkeeper.macros.engine.ranges import MacroRange
from innkeeper.taverns.silly.scripts.rules import (
    Find,
    ScriptExpander,
    Template,
    escaped,
    read_find,
    read_template,
    rule_of,
)


@pytest.mark.parametrize(
    ("text", "find"),
    [
        ("cat", Find("cat")),
        ("/cat/gi", Find("cat", "gi")),
        ("/a/b/", Find("a/b")),
        ("cat/gi", Find("cat/gi")),
        ("/cat", Find("/cat")),
        ("/cat/y", Find("/cat/y")),
        ("/cat/gg", Find("/cat/gg")),
        ("/cat/G", Find("/cat/G")),
        ("/cat/x", Find("cat", "x")),
        ("cat\nzzz", Find("cat")),
        ("/cat\nzzz/g", Find("/cat")),
        ("\ncat", Find("cat")),
        ("/cat/g rest", Find("cat", "g")),
        ("", None),
        ("\n", None),
    ],
)
def test_patterns(text: str, find: Find | None) -> None:
    """The first line with text counts; letters that cannot be flags make the slashes part of the pattern."""
    assert read_find(text) == find


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x", ("x",)),
        ("", ()),
        ("{{MATCH}}", (0,)),
        ("{{match}}1", (1,)),
        ("$$0", ("$", 0)),
        ("<$1|$02>", ("<", 1, "|", 2, ">")),
        ("$<w>!", (("w",), "!")),
        ("$&{{ match }}", ("$&{{ match }}",)),
        ("$" + "9" * 30, (999999999,)),
    ],
)
def test_replacements(text: str, parts: Template) -> None:
    """References are numbers and names; no other dollar sign is special."""
    assert read_template(text) == parts


def test_escaped() -> None:
    """Only what macros made is escaped, and a hyphen is not."""
    assert escaped("(M.x a-c\n)", [MacroRange(1, 9, "user")]) == "(M\\.x a-c\\n)"


def expander(*, fixed: bool = True) -> ScriptExpander:
    """Macros that give a name."""
    return ScriptExpander(lambda text: text.replace("{{user}}", "S.m"), lambda text: (text, []), names_are_fixed=fixed)


@pytest.mark.parametrize(
    ("find", "macros", "fixed", "pattern"),
    [
        ("{{user}}", PatternMacros.NONE, True, "{{user}}"),
        ("{{user}}", PatternMacros.RAW, True, "S.m"),
        ("{{user}}", PatternMacros.RAW, False, None),
        ("{{roll::6}}", PatternMacros.RAW, True, None),
        ("{{roll::6}}", PatternMacros.NONE, True, "{{roll::6}}"),
    ],
)
def test_patterns_that_macros_decide(find: str, macros: PatternMacros, fixed: bool, pattern: str | None) -> None:
    """A pattern is read once where its macros can only give names, otherwise each time."""
    rule = rule_of(RegexScript(find=find, pattern_macros=macros), "global", expander(fixed=fixed))
    assert (rule.find.pattern if rule.find else None) == pattern


def test_needs_and_trims() -> None:
    """What a script needs and trims is known beforehand where it is the same each time."""
    rule = rule_of(RegexScript(find="/Cat/i", trim=("{{user}}", "")), "global", expander())
    assert (rule.needs, rule.fold, rule.trim) == (("cat",), True, ("S.m",))
    assert rule_of(RegexScript(find="a", trim=("{{roll::6}}",)), "global", expander()).trim is None


@pytest.mark.parametrize(
    ("replace", "constant"),
    [("", ""), ("new", "new"), ("$1", None), ("a {{match}}", None), ("{{user}}", None), ("{{random::a::b}}", None)],
)
def test_replacements_that_never_differ(replace: str, constant: str | None) -> None:
    """A replacement is constant where it refers to nothing and no macro can be in it."""
    script = RegexScript(find="x", replace=replace)
    assert rule_of(script, "preset", expander()).constant == constant
