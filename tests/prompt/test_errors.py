"""The error tree: places, carets, hints, data, numbers for shells and servers."""

import copy
import inspect
import json
import pickle
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import (
    ConfigError,
    FormatError,
    InnkeeperError,
    LimitError,
    MaxTokensExceededError,
    Note,
    NoteKind,
    PipelineError,
    ProviderError,
    UnknownNameError,
    Where,
    errors,
)
from tests.prompt.doubles import ANY_TEXT, JSON, nested


@dataclass(frozen=True)
class WhereCase:
    text: str
    where: Where


@pytest.mark.parametrize(
    "case",
    [
        WhereCase("", Where()),
        WhereCase("a.json", Where("a.json")),
        WhereCase("a.json:3:5", Where("a.json", line=3, column=5)),
        WhereCase("a.json:3: data.tags[3]", Where("a.json", "data.tags[3]", line=3)),
        WhereCase("data.name", Where(path="data.name")),
    ],
    ids=lambda case: case.text or "nowhere",
)
def test_a_place_is_written_as_far_as_it_is_known(case: WhereCase) -> None:
    """Asset, line, column and path, each only when there is one."""
    assert str(case.where) == case.text


@pytest.mark.parametrize(
    ("where", "message", "text"),
    [
        (Where("request", "seed"), "seed must be text", "request: seed must be text"),
        (Where("a.json", "group", line=3), "group.members is a list", "a.json:3: group.members is a list"),
        (Where(path="seed"), "seed: not a number", "seed: not a number"),
        (Where(path="seed"), "seeds are numbers", "seed: seeds are numbers"),
        (Where(path="seed"), "it must be text", "seed: it must be text"),
        (Where(), "it must be text", "it must be text"),
    ],
)
def test_a_path_that_the_message_begins_with_is_written_once(where: Where, message: str, text: str) -> None:
    """In errors, notes and warnings alike."""
    assert str(InnkeeperError(message, where=where)) == text
    assert str(Note(NoteKind.WARNING, message, where=where)) == text


@dataclass(frozen=True)
class PointerCase:
    id: str
    where: Where
    shown: str


POINTERS = [
    PointerCase("none", Where(column=2), ""),
    PointerCase("no-column", Where(excerpt="abc"), "abc"),
    PointerCase("middle", Where(excerpt="abc", column=2), "abc\n ^"),
    PointerCase("after-the-end", Where(excerpt="abc", column=4), "abc\n   ^"),
    PointerCase("cut", Where(excerpt="defg", column=5, cut=3), "defg\n ^"),
    PointerCase("left-of-what-is-shown", Where(excerpt="defg", column=2, cut=3), "defg"),
    PointerCase("right-of-what-is-shown", Where(excerpt="defg", column=90), "defg"),
    PointerCase("tab", Where(excerpt="\tab", column=3), "\tab\n\t ^"),
    PointerCase("wide", Where(excerpt="船ab", column=2), "船ab\n  ^"),
    PointerCase("only-the-first-line", Where(excerpt="ab\r\ncd", column=1), "ab\n^"),
    PointerCase("control", Where(excerpt="a\x1b[1mb", column=6), "a␛[1mb\n     ^"),
]


@pytest.mark.parametrize("case", POINTERS, ids=lambda case: case.id)
def test_the_caret_is_under_the_column(case: PointerCase) -> None:
    """The pointer shows one line and, when the column lies in it, a caret below."""
    assert case.where.pointer() == case.shown


def test_rendering_has_place_message_line_caret_and_hint() -> None:
    """An error for people says where, what, shows the line, and how to mend it."""
    error = FormatError("no comma", where=Where("a.json", line=2, column=4, excerpt="{1 2}"), hint="add one")
    assert error.render() == "a.json:2:4: no comma\n    {1 2}\n       ^\nhint: add one"
    assert str(error) == "a.json:2:4: no comma"
    assert FormatError("no comma").render() == "no comma"


def test_rendering_shows_no_secret_and_no_control_character() -> None:
    """Neither a key in a message nor a card's escape sequence reaches the terminal."""
    key = "sk-" + "a1b2c3d4" * 4
    error = FormatError(f"bad \x1b[31m {key}", where=Where("a", excerpt=f"x {key}", column=1), hint=f"not {key}")
    for shown in (error.render(), str(error), json.dumps(error.to_dict())):
        assert key not in shown
        assert "\x1b" not in shown


def test_at_fills_in_what_is_not_known() -> None:
    """A place found on the way up completes the error and never replaces what it knew."""
    error = FormatError("x", where=Where(path="a", column=3)).at(asset="f", path="b", excerpt="…line", cut=2)
    assert error.where == Where("f", "a", column=3, excerpt="…line", cut=2)
    assert FormatError("x").at(line=1).where == Where(line=1)
    kept = FormatError("x", where=Where(excerpt="old")).at(excerpt="new", cut=7)
    assert kept.where == Where(excerpt="old")


@dataclass(frozen=True)
class KindCase:
    kind: str
    error: InnkeeperError
    exit_code: int
    status: int


KINDS = [
    KindCase("innkeeper", InnkeeperError("x"), 1, 500),
    KindCase("usage", errors.UsageError("x"), 2, 400),
    KindCase("unknown_name", UnknownNameError("step", "x"), 2, 404),
    KindCase("config", ConfigError("x"), 2, 400),
    KindCase("input", errors.InputError("x"), 65, 422),
    KindCase("format", FormatError("x"), 65, 422),
    KindCase("unsupported", errors.UnsupportedError("x"), 65, 422),
    KindCase("limit", LimitError("x", limit="L", allowed=1), 65, 413),
    KindCase("strict_mode", errors.StrictModeError("x"), 65, 422),
    KindCase("pipeline", PipelineError("x", step="s"), 70, 500),
    KindCase("max_tokens_exceeded", MaxTokensExceededError(estimated_tokens=2, max_tokens=1), 65, 422),
    KindCase("replay", errors.ReplayError("x"), 65, 409),
    KindCase("unavailable", errors.UnavailableError("x"), 69, 503),
    KindCase("provider", ProviderError("x", status=500), 69, 502),
]


@pytest.mark.parametrize("case", KINDS, ids=lambda case: case.kind)
def test_each_class_has_its_numbers(case: KindCase) -> None:
    """Kind, exit code and HTTP status of each class of the tree."""
    assert (case.error.kind, case.error.exit_code, case.error.http_status) == (case.kind, case.exit_code, case.status)


def test_every_class_of_the_tree_is_tested_and_drawn() -> None:
    """No error class is without a test of its numbers, or missing from the drawing in the docstring."""
    classes = {c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, InnkeeperError)}
    assert {type(case.error) for case in KINDS} == classes
    assert all(c.__name__ in (errors.__doc__ or "") for c in classes)


@pytest.mark.parametrize("case", KINDS, ids=lambda case: case.kind)
def test_errors_survive_processes(case: KindCase) -> None:
    """A worker's error arrives as what it was: pickling and copying keep class, text and fields."""
    case.error.at(asset="a", line=1)
    for twin in (pickle.loads(pickle.dumps(case.error)), copy.copy(case.error)):  # noqa: S301 - our own pickle
        assert type(twin) is type(case.error)
        assert (str(twin), twin.to_dict(), vars(twin)) == (str(case.error), case.error.to_dict(), vars(case.error))


@given(ANY_TEXT, st.none() | ANY_TEXT, JSON)
def test_the_facts_are_always_json(message: str, hint: str | None, detail: Any) -> None:
    """Whatever an error quotes, its facts go through any JSON writer and its text through any encoder."""
    error = FormatError(message, hint=hint, where=Where(message, message, 1, 1, message), detail=detail)
    json.dumps(error.to_dict(), allow_nan=False).encode()
    error.render().encode()
    str(error).encode()


@pytest.mark.parametrize(
    "detail",
    [object(), nested(100_000), float("nan"), 10**5000, b"\xff", {1: {2}}],
    ids=lambda detail: type(detail).__name__,
)
def test_odd_details_are_shown_somehow(detail: Any) -> None:
    """Details that are no data do not break the report."""
    json.dumps(FormatError("x", detail=detail).to_dict(), allow_nan=False)


def test_details_named_like_secrets_are_left_out() -> None:
    """A detail called ``api_key`` is not in the facts."""
    assert ProviderError("x", status=401, api_key="abc").to_dict()["details"] == {"api_key": "***", "status": 401}


def test_the_facts_hold_the_cause() -> None:
    """A step's failure carries the facts of the error that caused it, once."""
    failure = PipelineError("x", step="lore")
    failure.__cause__ = FormatError("bad key", where=Where("book"))
    failure.__cause__.__cause__ = failure
    assert failure.to_dict()["cause"] == {"kind": "format", "message": "bad key", "where": {"asset": "book"}}


def test_an_unknown_name_offers_the_nearest_or_the_list() -> None:
    """The hint is the nearest name; without one, the names there are."""
    assert UnknownNameError("dialect", "opnai", ["openai", "google"]).hint == "did you mean 'openai'?"
    assert UnknownNameError("dialect", "zzz", ["b", "a"]).hint == "known: a, b"
    assert UnknownNameError("dialect", "zzz").hint is None


def test_an_unknown_name_of_any_size_stays_readable() -> None:
    """A name of a megabyte and a registry of thousands make a short message."""
    error = UnknownNameError("macro", "x" * 10**6, [f"name{i}" for i in range(5_000)])
    assert len(error.render()) < 1_000
    assert error.known[:1] == ("name0",)


def test_a_limit_names_itself_and_its_numbers() -> None:
    """The limit's name, what it allows and what was found are in the text and in the fields."""
    error = LimitError("the file", limit="file_bytes", allowed=1024, found=2048)
    assert str(error) == "the file exceeds the limit file_bytes (2,048 > 1,024)"
    assert error.to_dict()["details"] == {"limit": "file_bytes", "allowed": 1024, "found": 2048}
    assert str(LimitError("it", limit="depth", allowed=64)) == "it exceeds the limit depth of 64"


def test_max_tokens_has_the_parameters_of_the_document() -> None:
    """2-wave4-contracts, *Failure mode*: window, reserve, estimate and step; the limit is window minus reserve."""
    error = MaxTokensExceededError(estimated_tokens=9, max_tokens=10, reserve_tokens=4, step="trimming")
    assert (
        str(error) == "Prompt estimated tokens 9 exceeded limit 6 (max_tokens: 10, reserve_tokens: 4) (step: trimming)"
    )
    assert (error.estimated_tokens, error.max_tokens, error.reserve_tokens, error.limit_tokens) == (9, 10, 4, 6)
    assert error.step == "trimming"
    assert MaxTokensExceededError(estimated_tokens=1, max_tokens=1, reserve_tokens=5).limit_tokens == 0
