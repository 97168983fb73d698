"""Regular expressions of the sandbox: the results of Python's ``re``, from an engine that stops."""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from innkeeper.macros.smart import sandbox
from innkeeper.macros.smart.sandbox.limits import SandboxLimits
from innkeeper.prompt.allowance import AllowanceError, allowed
from tests.macros.smart.sandbox_host import TableHost, value

PATTERNS = [
    "a",
    "[0-9]+",
    r"\d+",
    r"(\w)(\d)?",
    r"(?P<k>\w+)=(?P<v>\w*)",
    "",
    "a|b|",
    "a{2}",
    "a{,2}",
    "a{1,}",
    "a{,}",
    "a{x}",
    "a{e<=1}",
    "{}",
    "}",
    "a+?b*?",
    "a*+b",
    "(?i)A",
    "(?i:A)b",
    "(?s:.)",
    "(?=a)a(?!b)",
    "(?<=a)b(?<!c)",
    "(?>a|ab)",
    "(a)?(?(1)b|c)",
    "(?#note)a",
    r"(a)\1",
    "(?P<q>a)(?P=q)",
    r"\x41\u0042\101\0",
    "[]a]",
    "[^]a]",
    "[[:alpha:]]",
    "[a[b]",
    r"[\[\]\\-]",
    r"[\d\s]",
    "^a.c$",
    r"\Aa\Z",
    r"\ba\B",
    "[一-龥]+",
    "(?:ab){3}",
]
TEXTS = ["", "a", "aab", "ab ac a=1 b2=zz", "A\nB\x00", "aaabbb", "cb", "a[b]:l{x}{}{e<=1}", "心a1", "ababab", "aa{2}]"]


def outcome(call: Any) -> Any:
    """What a call gives, or the failure of it."""
    try:
        return call()
    except (re.error, sandbox.SandboxRuntimeError):
        return "failure"


def both(pattern: str, text: str, replacement: str = "<>") -> tuple[Any, Any]:
    """All four functions, by the sandbox and by Python."""
    args = f"{pattern!r}, {text!r}"
    mine = [outcome(lambda name=name: value(f"str(re.{name}({args}))")) for name in ("match", "search", "findall")]
    mine.append(outcome(lambda: value(f"re.sub({pattern!r}, {replacement!r}, {text!r})")))
    theirs = [
        outcome(lambda name=name: str(getattr(re, name)(pattern, text))) for name in ("match", "search", "findall")
    ]
    theirs.append(outcome(lambda: re.sub(pattern, replacement, text)))
    return mine, theirs


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")
def test_as_python(pattern: str) -> None:
    """The four functions give what Python's give."""
    for text in TEXTS:
        mine, theirs = both(pattern, text, r"<\g<0>\\\n>")
        assert mine == theirs, text


_ATOMS = st.sampled_from(
    ["a", "b", ".", r"\d", r"\w", "[ab]", "[^a]", "(a)", "(?:ab)", "(b|a)", "^", "$", r"\b", "é", "{", "}", "]"]
)
_PATTERN = st.lists(
    st.tuples(_ATOMS, st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "{,1}", "+?", "|"])), max_size=5
).map(lambda parts: "".join(map("".join, parts)))


@given(_PATTERN, st.text("ab1é{ ", max_size=8))
@example("|", "a")
def test_as_python_at_random(pattern: str, text: str) -> None:
    """Small patterns over small texts: the same results, or a failure where Python fails."""
    mine, theirs = both(pattern, text)
    assert mine == theirs


@given(st.text(r"ab1(){}[]^$.*+?|\<>=!:P-&~, dwSZ", max_size=20), st.text("ab1", max_size=10))
def test_nothing_untyped(pattern: str, text: str) -> None:
    """Any pattern gives a value or a `SandboxError`."""
    for code in (f"re.findall({pattern!r}, {text!r})", f"re.sub({text!r}, {pattern!r}, {text!r})"):
        try:
            assert isinstance(value(code), list | str)
        except sandbox.SandboxError as error:
            assert error.where is not None  # noqa: PT017 - one of two outcomes


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("re.sub('a', legacy_upper, 'banana', 2)", None),
        ("re.sub('a', 'A', 'banana', 2)", "bAnAna"),
        ("re.sub('a', 'A', 'banana', count=-1)", "banana"),
        ("re.sub('(a)(n)?', '\\\\2\\\\1', 'banana')", "bnanaa"),
        ("re.sub('a', '\\\\0\\\\101\\\\n\\\\.', 'a')", "\0A\n\\."),
        ("re.sub('(?P<x>a)', '[\\\\g<x>]', 'ba')", "b[a]"),
        ("re.findall('A', 'aA', 2)", "['a', 'A']"),
        ("re.findall('^a', 'a\\na', flags=8)", "['a', 'a']"),
        ("re.findall('.', '\\n', 16)", "['\\n']"),
        ("re.findall('\\\\w', 'é', 256)", "[]"),
        ("re.findall('(a)(b)?', 'aab')", "[('a', ''), ('a', 'b')]"),
        ("'x' if re.search('b', 'abc') else 'y'", "x"),
        ("re.findall('(?x) a b # both', 'abab')", "['ab', 'ab']"),
        ("re.match('b', 'abc')", ""),
        ("re.search('x'*60, 'x'*60)", str(re.search("x" * 60, "x" * 60))),
    ],
)
def test_forms(code: str, text: str | None) -> None:
    """Counts, flags, templates and functions; a match has Python's text."""
    if text is None:
        text = re.sub("a", lambda found: str(found).upper(), "banana", count=2)
    assert sandbox.run_text(code, TableHost()) == text


@pytest.mark.parametrize("pattern", ["b(?i)a", "\\pL", "(?<n>a)", "(", "a{2}{3}"])
def test_what_python_does_not_take(pattern: str) -> None:
    """The engine reads more than Python does; that is refused."""
    with pytest.raises(sandbox.SandboxRuntimeError, match="cannot be read"):
        value(f"re.findall({pattern!r}, 'ba')")


@pytest.mark.parametrize(
    ("code", "limit"),
    [
        ("re.findall('a', 'a'*50)", "items"),
        ("re.sub('a', 'bbbbbbbbbb', 'a'*50)", "text_chars"),
        ("re.match('((a))', 'a')", "pattern_depth"),
        ("re.match('(a{5}){5}', 'a')", "pattern_repeats"),
        ("re.match('a{1000000000}', 'a')", "pattern_repeats"),
        ("re.match('aaaaaaaaaaaaaaaaaaaaa', 'a')", "pattern_chars"),
    ],
)
def test_limits(code: str, limit: str) -> None:
    """Each limit ends a pattern that exceeds it."""
    limits = SandboxLimits(items=20, text_chars=300, pattern_depth=1, pattern_repeats=20, pattern_chars=20)
    with pytest.raises(sandbox.SandboxLimitError) as caught:
        sandbox.run(code, TableHost(), limits=limits)
    assert caught.value.limit == limit


def test_time_is_that_of_the_run() -> None:
    """All patterns of a run share one time."""
    slow = "x=re.match('(a|aa)+$', 'a'*{} + 'b')\n"
    with pytest.raises(sandbox.SandboxLimitError, match="pattern_seconds"):
        sandbox.run(slow.format(28) * 200, TableHost(), limits=SandboxLimits(pattern_seconds=0.02))


def test_time_ends_the_build() -> None:
    """Inside a build spent time fails the whole of it: no text depends on how quick the machine is."""
    with pytest.raises(AllowanceError), allowed():
        sandbox.run("re.match('a', 'a')", TableHost(), limits=SandboxLimits(pattern_seconds=0.0))


def test_no_time_left() -> None:
    """Without time no pattern begins."""
    with pytest.raises(sandbox.SandboxLimitError, match="pattern_seconds"):
        sandbox.run("re.match('a', 'a')", TableHost(), limits=SandboxLimits(pattern_seconds=0.0))
