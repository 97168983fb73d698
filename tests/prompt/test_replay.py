"""ReplayBundle: a file that gives the same bytes again, or says why not."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper import __version__
from innkeeper.prompt import (
    Block,
    BuildRequest,
    FormatError,
    InMemoryVariables,
    InnkeeperError,
    LimitError,
    Pipeline,
    Plan,
    Ports,
    ReplayBundle,
    ReplayError,
    State,
    UnavailableError,
    UnsupportedError,
    build,
)
from tests.prompt.doubles import ANY_TEXT, BARE, JSON, nested, objects, step


def _assemble(state: State) -> None:
    roll = state.inputs.random.stream("roll").random()
    text = (
        f"{state.request.message} {roll} {state.inputs.clock.now} {state.variables.get('mood')} {dict(state.context)}"
    )
    state.result.plan = Plan(blocks=(Block(role="user", content=text),), dialects=BARE)


PIPELINE = Pipeline(step("plan_assembly", _assemble))


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "message": ANY_TEXT,
            "seed": st.integers(),
            "options": st.dictionaries(ANY_TEXT, JSON, max_size=2),
            "context": st.dictionaries(ANY_TEXT, JSON, max_size=2),
            "variables": st.just({"local": {"mood": "calm"}}),
        },
    )
)
def test_a_bundle_builds_the_same_bytes_again(tmp_path_factory: pytest.TempPathFactory, fields: dict[str, Any]) -> None:
    """Write, read, rebuild: the same fingerprint, the same messages, and the same bundle once more."""
    try:
        request = BuildRequest.of(fields)
    except InnkeeperError:  # module_configs of another shape, say
        return
    plan = build(request, PIPELINE)
    path = tmp_path_factory.getbasetemp() / "bundle.json"
    plan.replay().write(path)
    bundle = ReplayBundle.read(path)
    again = bundle.check(build(bundle.request, PIPELINE))
    assert again.fingerprint() == plan.fingerprint()
    assert again.messages == plan.messages
    assert again.replay().to_json() == path.read_bytes()


def test_a_store_outside_is_part_of_the_bundle() -> None:
    """Variables that came from a store of the application are recorded as they were before the build."""
    store = InMemoryVariables({"local": {"mood": "calm"}})
    bundle = build(BuildRequest(now="2026-01-01T00:00:00Z"), PIPELINE, Ports(variables=store)).replay()
    store.set("mood", "wild")
    assert bundle.check(build(bundle.request, PIPELINE)).variables["local"] == {"mood": "calm"}


def test_a_bundle_says_what_it_holds() -> None:
    """Format, version, dialect, fingerprint, request."""
    plan = build(BuildRequest(seed=3), PIPELINE)
    data = json.loads(plan.replay("openai").to_json())
    assert data == {
        "innkeeper_replay": 1,
        "version": __version__,
        "dialect": "openai",
        "fingerprint": plan.fingerprint("openai"),
        "request": plan.request.to_dict() if plan.request else None,
    }


def test_another_plan_fails_the_check() -> None:
    """The error holds both fingerprints and the version that made the bundle."""
    bundle = build(BuildRequest(seed=3), PIPELINE).replay()
    with pytest.raises(ReplayError) as caught:
        bundle.check(build(bundle.request.with_(seed=4), PIPELINE))
    assert caught.value.details["recorded"] == bundle.fingerprint
    assert __version__ in (caught.value.hint or "")


def test_a_request_with_more_than_data_cannot_be_replayed() -> None:
    """Found when a bundle is wanted, with the reason."""
    with pytest.raises(ReplayError, match="object is not data"):
        build(BuildRequest(character=object()), PIPELINE).replay()


GOOD = {"innkeeper_replay": 1, "version": "0", "dialect": "openai", "fingerprint": "0", "request": {}}


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        ([], FormatError, "innkeeper_replay is missing"),
        ({}, FormatError, "innkeeper_replay is missing"),
        ({**GOOD, "innkeeper_replay": 2}, UnsupportedError, "format 2"),
        ({**GOOD, "innkeeper_replay": True}, UnsupportedError, "format bool"),
        ({**GOOD, "innkeeper_replay": [[1]]}, UnsupportedError, "format list"),
        ({**GOOD, "version": 5}, FormatError, "must be text"),
        ({key: value for key, value in GOOD.items() if key != "dialect"}, FormatError, "must be text"),
        ({**GOOD, "request": None}, FormatError, "must be a mapping"),
        ({**GOOD, "request": {"seed": "x"}}, FormatError, "Expected `int`"),
        ({**GOOD, "request": {"character": nested(200)}}, LimitError, "MAX_DEPTH"),
    ],
)
def test_what_is_no_bundle_is_a_typed_error(data: Any, error: type[InnkeeperError], says: str) -> None:
    """Each way of not being one, under the name of the file."""
    with pytest.raises(error, match=says) as caught:
        ReplayBundle.from_json(json.dumps(data), asset="it.json")
    assert caught.value.where is not None
    assert caught.value.where.asset == "it.json"


def test_a_bad_field_in_a_bundle_is_found_by_its_path() -> None:
    """The path leads from the file to the field."""
    with pytest.raises(FormatError) as caught:
        ReplayBundle.from_json(json.dumps({**GOOD, "request": {"seed": "x"}}), asset="it.json")
    assert str(caught.value.where) == "it.json: request.seed"


@given(objects("innkeeper_replay", "version", "dialect", "fingerprint", "request").map(lambda d: {**GOOD, **d}) | JSON)
def test_any_json_is_a_bundle_or_a_typed_error(data: Any) -> None:
    """No JSON value raises anything else."""
    try:
        bundle = ReplayBundle.from_json(json.dumps(data))
    except InnkeeperError:
        return
    assert ReplayBundle.from_json(bundle.to_json()) == bundle


@given(st.binary(max_size=60))
def test_any_bytes_are_a_bundle_or_a_typed_error(data: bytes) -> None:
    """Nor do bytes."""
    with pytest.raises(InnkeeperError):
        ReplayBundle.from_json(data)


def test_a_file_that_cannot_be_read_or_written_is_a_typed_error(tmp_path: Path) -> None:
    """A missing file, a folder, a name that no system takes; a failed writing leaves nothing behind."""
    for path in (tmp_path / "missing.json", tmp_path, "a\0b"):
        with pytest.raises(FormatError, match="cannot read"):
            ReplayBundle.read(path)
    bundle = build(BuildRequest(), PIPELINE).replay()
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    for path in (tmp_path / "nowhere" / "b.json", tmp_path / "folder", "a\0b"):
        with pytest.raises(UnavailableError, match="cannot write"):
            bundle.write(path)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
