"""Python's regular expressions in an engine that can be stopped."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.allowance import MAX_BUILD_OUTPUT, AllowanceError, BuildLimits, allowed
from innkeeper.text.pyregex import MAX_PATTERN_CHARS, Deadline, PatternLimitError, PatternSyntaxError, compile_pattern


@dataclass
class Case:
    name: str
    pattern: str
    replacement: str
    text: str


SUBSTITUTIONS = [
    Case("plain", "foo", "bar", "a foo, foo"),
    Case("empty matches", "x*", "-", "abxd"),
    Case("group", "(a)(b)?", r"[\1\2]", "ab a"),
    Case("named group", "(?P<one>a)", r"<\g<one>>", "aba"),
    Case("whole match", "a+", r"\g<0>\g<0>", "aab"),
    Case("escapes", "a", r"\n\t\\", "xax"),
    Case("escape kept", "a", r"\.\$", "xax"),
    Case("octal", "a", r"\0\07\101", "xax"),
    Case("two digits", "(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)", r"\10", "abcdefghij"),
    Case("fuzzy is literal", "a{e<=1}", "x", "ab a{e<=1}"),
    Case("empty braces are literal", "a{}", "x", "aa{}"),
    Case("open ended", "a{2,}", "x", "a aa aaa"),
    Case("no bounds", "a{,}", "x", "aab"),
    Case("escaped brace", r"a\{2}", "x", "aa{2}"),
    Case("class of classes", "[\\[:alpha:]]", "x", "a[]:]"),
    Case("bar in class", "[a|b]", "x", "a|b"),
    Case("bracket first in class", "[]a]+", "x", "]a]b"),
    Case("negated class", "[^]a]+", "x", "]abc"),
    Case("verbose", "(?x) a  # [ {\n b", "x", "ab"),
    Case("verbose with sets", "(?x)[ ]b # {9\n[#]{1} [a[]", "x", " b#["),
    Case("hyphens at the edges", "[-a-c-]+", "x", "-b-d"),
    Case("escapes in a set", r"[\]\-\d]+", "x", "]-1a"),
    Case("ignore case", "(?i)É", "x", "éÉe"),
    Case("lookbehind", "(?<=a)b", "x", "ab bb"),
    Case("dollar", "b$", "x", "ab\nb\n"),
    Case("multiline", "(?m)^b", "x", "a\nb"),
]


@pytest.mark.parametrize("case", SUBSTITUTIONS, ids=lambda case: case.name)
def test_replaces_as_python_does(case: Case) -> None:
    """A substitution gives what Python's own engine gives."""
    expected = re.sub(case.pattern, case.replacement, case.text)
    assert compile_pattern(case.pattern).sub(case.replacement, case.text) == expected


@pytest.mark.parametrize(
    "pattern", ["[[:alpha:]]", "[a||b]", "[a~~b]", "[a&&b]", "[+--]", "[a-z--9]", "[--9]", "[^[-^]", "[&-~]", "[^]-a]"]
)
def test_sets_are_pythons(pattern: str) -> None:
    """What the engine knows of sets beyond Python's is not there."""
    text = "a&b|[:lp] ~]"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        expected = re.findall(pattern, text)
    assert compile_pattern(pattern).findall(text) == expected


@pytest.mark.parametrize(
    "pattern",
    ["(", "a**", "[", r"\p{L}", "(?R)", "(?<=a+)b", "x{3,2}", "(" * 50, "(?x:a{1})", "(?-x:a{1})", "[b--c]"],
)
def test_refuses_what_python_refuses(pattern: str) -> None:
    """A pattern Python does not take is a typed error."""
    with pytest.raises(PatternSyntaxError):
        compile_pattern(pattern)


@pytest.mark.parametrize("replacement", [r"\2", r"\g<x>", r"\q", "\\", r"\g<-1>"])
def test_refuses_bad_replacements(replacement: str) -> None:
    """A replacement that names what is not there is a typed error, as it is in Python."""
    with pytest.raises((re.error, IndexError)):
        re.sub("(a)", replacement, "a")
    with pytest.raises(PatternSyntaxError):
        compile_pattern("(a)").sub(replacement, "a")


HOSTILE = [
    ("(a|aa)+$", "a" * 80 + "b"),
    (r"(\w+\s?)*$", "a " * 40_000 + "!"),
    ("(x+x+)+y", "x" * 4_000),
    ("(?:a?){50000}a{50000}", "a" * 50_000),
]


@pytest.mark.parametrize(("pattern", "text"), HOSTILE, ids=[pattern for pattern, _ in HOSTILE])
def test_a_search_ends(pattern: str, text: str) -> None:
    """A pattern that backtracks for ever is stopped with a typed error."""
    with pytest.raises(PatternLimitError):
        compile_pattern(pattern).search(text, Deadline(0.05))


def test_searches_share_their_seconds() -> None:
    """A deadline that is spent refuses the next search at once."""
    deadline = Deadline(0.05)
    with pytest.raises(PatternLimitError):
        compile_pattern("(a|aa)+$").search("a" * 80 + "b", deadline)
    with pytest.raises(PatternLimitError):
        compile_pattern("a").search("a", deadline)


def test_output_is_limited() -> None:
    """A replacement cannot write without end."""
    with pytest.raises(PatternLimitError):
        compile_pattern("").sub("x" * 1_000, "y" * 1_000, limit=10_000)


@pytest.mark.parametrize(
    ("pattern", "limit"),
    [
        ("a" * (MAX_PATTERN_CHARS + 1), "MAX_PATTERN_CHARS"),
        ("(" * 5_000, "MAX_PATTERN_DEPTH"),
        ("(?:" * 101 + "a" + ")" * 101, "MAX_PATTERN_DEPTH"),
        ("[\\x00-\\U0010ffff]" * 500, "MAX_PATTERN_WORK"),
    ],
)
def test_patterns_are_limited(pattern: str, limit: str) -> None:
    """A pattern that is too long, too deep or too costly to compile is refused before it is compiled."""
    with pytest.raises(PatternLimitError) as error:
        compile_pattern(pattern)
    assert error.value.limit == limit


def test_a_search_holds_little() -> None:
    """A search that would remember too much of a repeated group is refused; without the group it runs."""
    with pytest.raises(PatternLimitError) as error:
        compile_pattern("(" + "()" * 10 + ".)*").findall("a" * 900_000)
    assert error.value.limit == "MAX_SEARCH_BYTES"
    assert len(compile_pattern(".*").match("a" * 900_000).group()) == 900_000


def test_work_is_charged() -> None:
    """Compiling, also what is remembered, searching and writing are charged to the build's allowance."""
    for _ in range(2):
        with allowed() as allowance:
            compile_pattern("ab").sub("xyz", "ab" * 800)
        assert allowance.spent["patterns"] > 800
        assert allowance.output == MAX_BUILD_OUTPUT - 2400


def test_a_search_ends_with_the_build() -> None:
    """A search takes no longer than the build has left, and the build fails, not the search."""
    with pytest.raises(AllowanceError), allowed(BuildLimits(seconds=0.01)):
        compile_pattern("(a|aa)+$").search("a" * 80 + "b")


@pytest.mark.parametrize(
    "pattern",
    [
        "(a{60000}){60000}",
        "(?x)(a{6000}){6000}",
        "(?x)(a{6000}) {6000}",
        "(?xi)(a{6000})#[\n{6000}",
        "(?#[)(a{6000}){6000}",
        "((?#)a{60000}){60000}",
        "(a{600}(?#)b){6000}",
        "((((a{99}){99}){99}){99})",
        "a{999999999999}",
        "(?:" * 20 + "a" + "+)" * 20,
        "(?:" * 20 + "a" + "+?)" * 20,
        "(?:" * 20 + "a" + "{1,3}+)" * 20,
        "(?P<all>" + "(?:" * 20 + "a" + "{2,})" * 20 + ")",
    ],
)
def test_repetitions_are_limited(pattern: str) -> None:
    """Counted repetitions, which the engine writes out, cannot fill the memory."""
    with pytest.raises(PatternLimitError):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", [r"\N{DIGIT ONE}", r"[\N{DIGIT ONE}b]", "(?#{)a{2}", "((a{20}){30}|1)", "a{0,65000}", "[\\[]"]
)
def test_usual_repetitions_stay(pattern: str) -> None:
    """What is below the limit means what it means to Python."""
    text = "1ab [aaa" + "a" * 600
    assert compile_pattern(pattern).sub("<>", text) == re.sub(pattern, "<>", text)


def test_no_memory_is_a_typed_error() -> None:
    """An engine that finds no memory says so in our terms."""

    def search(*, timeout: float) -> None:
        raise MemoryError(timeout)

    with pytest.raises(PatternSyntaxError, match="memory"):
        Deadline().run(search)


def test_count_and_groups() -> None:
    """Counts and groups are as Python has them."""
    pattern = compile_pattern("(a)(b)?")
    assert pattern.sub("x", "aaa", count=2) == "xxa"
    assert pattern.findall("ab a") == re.findall("(a)(b)?", "ab a")
    assert compile_pattern("(a)|b").findall("ab") == re.findall("(a)|b", "ab")
    assert compile_pattern("a").findall("aa") == ["a", "a"]
    assert pattern.match("ba") is None
    assert pattern.match("ab").span() == (0, 2)


PIECES = st.sampled_from(
    [
        "a",
        "b",
        ".",
        "*",
        "+",
        "?",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "1",
        ",",
        "|",
        "^",
        "$",
        "\\",
        "\\d",
        "(?:",
        "-",
        "e",
        ":",
        " ",
    ]
)


@given(st.lists(PIECES, max_size=10).map("".join), st.text("ab1{}[]-e: ", max_size=20))
def test_agrees_with_python(pattern: str, text: str) -> None:
    """What Python takes is taken, with the same matches; what it refuses is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = re.sub(pattern, "<>", text)
        except re.error:
            expected = None
        try:
            found = compile_pattern(pattern).sub("<>", text)
        except PatternSyntaxError:
            found = None
    assert found == expected


def test_flags_are_pythons() -> None:
    """Flags have the numbers of `re`, the one of ASCII too."""
    assert compile_pattern(r"\w", re.ASCII).search("é") is None
    assert compile_pattern("É", re.IGNORECASE).search("é") is not None
