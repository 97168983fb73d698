"""The dispatcher: every call ends in an envelope, whatever the executor is and does."""

import asyncio
import json
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.errors import MAX_OUTPUT_DEPTH, MAX_OUTPUT_ITEMS, AnswerError
from innkeeper.inference.tools.definition import ToolRegistry
from innkeeper.inference.tools.dispatcher import (
    AsyncToolDispatcher,
    OutputLimits,
    ToolDispatcher,
    error_codes,
    excess,
    failure,
    normalised,
    written,
)
from innkeeper.prompt import UsageError

REGISTRY = ToolRegistry(
    [{"name": name} for name in ("look", "map_open", "a.b", "a_b")] + [{"name": "hidden", "exposed_to_model": False}]
)


def raising(error: BaseException) -> Any:
    """An executor that fails."""

    def execute(name: str, args: dict[str, Any]) -> Any:
        raise error

    return execute


def run(executor: Any, name: str = "look", args: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """The envelope of one call."""
    return ToolDispatcher(REGISTRY, executor, **options).run(name, args or {}, "c1")


NAMES = {
    "itself": ("look", "look"),
    "spaces": (" look ", "look"),
    "alias": ("peek", "look"),
    "dots": ("map.open", "map_open"),
    "dots_that_are_meant": ("a.b", "a.b"),
    "unknown": ("nobody", "nobody"),
    "unknown_with_dots": ("no.body", "no.body"),
}


@pytest.mark.parametrize(("written", "ours"), NAMES.values(), ids=NAMES)
def test_names(written: str, ours: str) -> None:
    """Names are stripped, aliases followed, dots read as underscores where only that exists."""
    assert ToolDispatcher(REGISTRY, print, aliases={"peek": "look"}).resolve(written) == ours


class Caller:
    """An executor with a method."""

    def call(self, *, name: str, args: dict[str, Any], tool_call_id: str) -> Any:
        return {"name": name, "args": args, "id": tool_call_id}


EXECUTORS = {
    "plain": (lambda name, args: {"name": name, "args": args}, {"name": "look", "args": {"x": 1}}),
    "with_an_id": (lambda tool_call_id, **_: tool_call_id, {"value": "c1"}),
    "with_anything": (lambda **all_of_it: sorted(all_of_it), {"value": ["args", "name", "tool_call_id"]}),
    "object": (Caller(), {"name": "look", "args": {"x": 1}, "id": "c1"}),
    "built_in_without_a_signature": ({"look": dict}, {"x": 1}),
    "functions": ({"look": lambda x: {"seen": x}}, {"seen": 1}),
}


@pytest.mark.parametrize(("executor", "data"), EXECUTORS.values(), ids=EXECUTORS)
def test_executors(executor: Any, data: dict[str, Any]) -> None:
    """A function, an object with ``call``, or functions by name; the call's id goes to those who ask for it."""
    assert run(executor, args={"x": 1}) == {"ok": True, "tool_name": "look", "data": data, "warnings": [], "errors": []}


FAILURES = {
    "unknown": (print, "nobody", {}, "TOOL_NOT_ALLOWED", "nobody"),
    "hidden": (print, "hidden", {}, "TOOL_NOT_ALLOWED", "hidden"),
    "value_error": (raising(ValueError("x must be positive")), "look", {}, "ARGUMENT_ERROR", "x must be positive"),
    "usage_error": (raising(UsageError("no such room")), "look", {}, "ARGUMENT_ERROR", "no such room"),
    "argument_missing": ({"look": lambda x: x}, "look", {}, "ARGUMENT_ERROR", "do not fit"),
    "argument_too_many": ({"look": lambda: 1}, "look", {"x": 1}, "ARGUMENT_ERROR", "do not fit"),
    "anything_else": (raising(KeyError("postgres://user:secret@db")), "look", {}, "INTERNAL_ERROR", "KeyError"),
    "type_error_inside": ({"look": lambda: len(3)}, "look", {}, "INTERNAL_ERROR", "TypeError"),  # type: ignore[arg-type]
    "no_function": ({"other": print}, "look", {}, "INTERNAL_ERROR", "LookupError"),
    "recursion": (raising(RecursionError()), "look", {}, "INTERNAL_ERROR", "RecursionError"),
}


@pytest.mark.parametrize(("executor", "name", "args", "code", "words"), FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("timeout", [None, 30.0], ids=["here", "in_a_thread"])
def test_failures(executor: Any, name: str, args: dict[str, Any], code: str, words: str, timeout: float | None) -> None:
    """Each failure has its code; the words of unexpected errors, which may hold secrets, stay here."""
    found = run(executor, name, args, timeout=timeout)
    assert (found["ok"], [error["code"] for error in found["errors"]]) == (False, [code])
    assert words in found["errors"][0]["message"]
    assert "secret" not in str(found)


def test_arguments_error_of_a_tool() -> None:
    """A tool may refuse its arguments with our error."""
    found = run(raising(AnswerError("odd", code="ODD")))
    assert found["errors"] == [{"code": "ARGUMENT_ERROR", "message": "odd"}]


def test_timeout() -> None:
    """A tool that takes too long is left behind, and the model is told."""
    go_on = threading.Event()
    found = run(lambda **_: go_on.wait(30), timeout=0.05)
    go_on.set()
    assert [error["code"] for error in found["errors"]] == ["TOOL_TIMEOUT"]


@pytest.mark.parametrize("timeout", [None, 30.0])
def test_the_end_of_the_process_is_not_caught(timeout: float | None) -> None:
    """What is meant to end the process does."""
    with pytest.raises(KeyboardInterrupt):
        run(raising(KeyboardInterrupt()), timeout=timeout)


def test_executor_that_is_none() -> None:
    """What cannot be called is a mistake, found when the dispatcher is made."""
    with pytest.raises(UsageError, match="must be callable"):
        ToolDispatcher(REGISTRY, 3)


def run_async(executor: Any, name: str = "look", **settings: Any) -> dict[str, Any]:
    """The envelope of one call in an event loop."""
    dispatcher = AsyncToolDispatcher(ToolRegistry([{"name": "look"}]), executor, **settings)
    return asyncio.run(dispatcher.run(name, {"room": "cellar"}, "c1"))


async def look_async(room: str) -> dict[str, Any]:
    """An asynchronous tool."""
    await asyncio.sleep(0)
    return {"room": room, "thread": threading.current_thread() is threading.main_thread()}


class AsyncCaller:
    """An object that is called by a coroutine function."""

    async def __call__(self, name: str, args: dict[str, Any], tool_call_id: str) -> dict[str, Any]:
        return {"asked": [name, args["room"], tool_call_id]}


def hidden(room: str) -> Any:
    """A tool of which only its result tells that it is asynchronous."""
    return look_async(room)


ASYNC = {
    "coroutine_function": ({"look": look_async}, {"room": "cellar", "thread": True}),
    "sync_function": (
        {"look": lambda room: {"room": room, "thread": threading.current_thread() is threading.main_thread()}},
        {"room": "cellar", "thread": False},
    ),
    "returns_a_coroutine": ({"look": hidden}, {"room": "cellar", "thread": True}),
    "executor": (AsyncCaller(), {"asked": ["look", "cellar", "c1"]}),
}


@pytest.mark.parametrize(("executor", "data"), ASYNC.values(), ids=ASYNC)
def test_async(executor: Any, data: dict[str, Any]) -> None:
    """Asynchronous tools run in the event loop, others beside it; both give an envelope."""
    assert run_async(executor)["data"] == data


async def fail_async(room: str) -> None:
    """A tool that fails."""
    raise KeyError(room)


async def hang_async(room: str) -> None:
    """A tool that never ends."""
    await asyncio.Event().wait()


ASYNC_FAILURES = {
    "error": ({"look": fail_async}, "look", "INTERNAL_ERROR"),
    "sync_error": ({"look": lambda room: {}[room]}, "look", "INTERNAL_ERROR"),
    "stop_iteration": ({"look": lambda room: next(iter(room[:0]))}, "look", "INTERNAL_ERROR"),
    "arguments": ({"look": lambda: None}, "look", "ARGUMENT_ERROR"),
    "unknown": ({"look": look_async}, "go", "TOOL_NOT_ALLOWED"),
    "hangs": ({"look": hang_async}, "look", "TOOL_TIMEOUT"),
    "hangs_in_a_thread": ({"look": lambda room: threading.Event().wait(len(room) * 5)}, "look", "TOOL_TIMEOUT"),
}


@pytest.mark.parametrize(("executor", "name", "code"), ASYNC_FAILURES.values(), ids=ASYNC_FAILURES)
def test_async_failures(executor: Any, name: str, code: str) -> None:
    """The failures of the other dispatcher; a tool that hangs is left, wherever it runs."""
    timeout = 0.05 if "hang" in str(executor) or code == "TOOL_TIMEOUT" else None
    assert [error["code"] for error in run_async(executor, name, timeout=timeout)["errors"]] == [code]


@pytest.mark.parametrize(
    "executor", [{"look": look_async}, look_async, AsyncCaller()], ids=["mapping", "function", "object"]
)
def test_async_tools_are_not_for_the_sync_loop(executor: Any) -> None:
    """A tool that nobody would await is a mistake, found when the loop is built; one that hides it is a failure."""
    with pytest.raises(UsageError, match="asynchronous") as caught:
        ToolDispatcher(ToolRegistry([{"name": "look"}]), executor)
    assert caught.value.hint == "use AsyncToolLoopRunner"
    dispatcher = ToolDispatcher(ToolRegistry([{"name": "look"}]), {"look": hidden})
    assert dispatcher.run("look", {"room": "x"}, "c1")["errors"][0]["code"] == "INTERNAL_ERROR"


def envelope(
    ok: bool = True, data: Any = None, warnings: Any = (), errors: Any = (), name: str = "look"
) -> dict[str, Any]:
    """A whole envelope."""
    return {"ok": ok, "tool_name": name, "data": data or {}, "warnings": list(warnings), "errors": list(errors)}


CASES = {
    "nothing": (None, envelope()),
    "mapping": ({"a": 1}, envelope(data={"a": 1})),
    "text": ("door", envelope(data={"value": "door"})),
    "list": ([1], envelope(data={"value": [1]})),
    "false": (False, envelope(data={"value": False})),
    "envelope": ({"ok": True, "data": {"a": 1}}, envelope(data={"a": 1})),
    "failed_envelope": (
        {"ok": False, "errors": [{"code": "LOCKED", "message": "It is locked.", "door": 3}]},
        envelope(False, errors=[{"code": "LOCKED", "message": "It is locked.", "door": 3}]),
    ),
    "error_texts": (
        {"ok": False, "errors": "no"},
        envelope(False, errors=[{"code": "TOOL_ERROR", "message": "no"}]),
    ),
    "error_without_a_code": (
        {"ok": False, "errors": [{"message": "no"}, "why"]},
        envelope(False, errors=[{"message": "no", "code": "TOOL_ERROR"}, {"code": "TOOL_ERROR", "message": "why"}]),
    ),
    "data_of_another_kind": ({"ok": True, "data": 3}, envelope(data={"value": 3})),
    "own_name_and_warnings": (
        {"ok": True, "tool_name": "peek", "warnings": ("dim",)},
        envelope(warnings=["dim"], name="peek"),
    ),
    "ok_must_be_true": ({"ok": "yes"}, envelope(False)),
}


@pytest.mark.parametrize(("result", "expected"), CASES.values(), ids=CASES)
def test_normalised(result: Any, expected: dict[str, Any]) -> None:
    """Envelopes are completed, mappings become data, anything else a value."""
    assert normalised(result, "look") == expected


def test_failure() -> None:
    """A failure has its code, its words, and figures as data."""
    found = failure("look", "TOO_DARK", "It is dark.", lamp=0)
    assert found == envelope(False, {"lamp": 0}, errors=[{"code": "TOO_DARK", "message": "It is dark."}])
    assert error_codes(found) == ["TOO_DARK"]
    assert error_codes({"errors": ["x"]}) == []


def write(data: Any, max_bytes: int = 400) -> dict[str, Any]:
    """What the model gets for a tool's result."""
    found: dict[str, Any] = json.loads(written(normalised(data, "look"), max_bytes, lambda value: value)[1])
    return found


RESULTS_FAILURES = {
    "long_text": ("x" * 500, "TOOL_OUTPUT_TOO_LARGE", {"reason": "STRING_TOO_LARGE", "limit": 400}),
    "deep": (
        {"a": [[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]},
        "TOOL_OUTPUT_TOO_LARGE",
        {"reason": "MAX_DEPTH", "limit": MAX_OUTPUT_DEPTH},
    ),
    "many_small": (list(range(350)), "TOOL_OUTPUT_TOO_LARGE", {"reason": "MAX_BYTES", "limit": 400}),
    "many_items": (
        {"a": [0] * (MAX_OUTPUT_ITEMS + 1)},
        "TOOL_OUTPUT_TOO_LARGE",
        {"reason": "MAX_ARRAY_ITEMS", "limit": MAX_OUTPUT_ITEMS},
    ),
    "escapes": ("\n" * 300, "TOOL_OUTPUT_TOO_LARGE", {"bytes": 686, "limit": 400}),
    "not_json": ({"a": object()}, "TOOL_OUTPUT_SERIALIZATION_ERROR", {}),
    "not_a_number": ({"a": float("nan")}, "TOOL_OUTPUT_SERIALIZATION_ERROR", {}),
    "keys": ({(1, 2): 3}, "TOOL_OUTPUT_SERIALIZATION_ERROR", {}),
}


@pytest.mark.parametrize(("data", "code", "facts"), RESULTS_FAILURES.values(), ids=RESULTS_FAILURES)
def test_results_failures(data: Any, code: str, facts: dict[str, Any]) -> None:
    """What is too large or no JSON becomes an envelope with the code and the figures."""
    found = write(data)
    assert (found["ok"], found["errors"][0]["code"], found["data"]) == (False, code, facts)


def test_fits() -> None:
    """What fits is sent as it is, in its own characters; half a character becomes U+FFFD."""
    assert write({"t": "你\ud83d"})["data"] == {"t": "你\ufffd"}


def test_transforms_are_applied_to_both() -> None:
    """The transform sees results and the envelopes that take their place."""
    names: list[str] = []

    def note(envelope: dict[str, Any]) -> dict[str, Any]:
        names.append(str(envelope["ok"]))
        return {"tool_name": "x", "short": True}

    assert written(normalised(1, "look"), 400, note)[1] == '{"tool_name": "x", "short": true}'
    assert written(normalised("x" * 500, "look"), 400, lambda e: e if e["ok"] else note(e))[0]["short"]
    assert names == ["True", "False"]


SMALL = OutputLimits(depth=4, nodes=20, items=8, bytes=200)


def nested(levels: int) -> Any:
    """Lists in lists."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def itself() -> list[Any]:
    """A list that holds itself."""
    value: list[Any] = []
    value.append(value)
    return value


def laughs(levels: int) -> Any:
    """A few lists that hold one another many times: small in memory, huge as JSON."""
    value: Any = ["ha"] * 8
    for _ in range(levels):
        value = [value] * 8
    return value


EXCESS = {
    "fits": ({"a": [1, 2, {"b": "x"}], "c": None}, None),
    "deep": (nested(5), "MAX_DEPTH"),
    "just_deep_enough": (nested(4), None),
    "itself": (itself(), "MAX_DEPTH"),
    "many_nodes": ([[1] * 6] * 4, "MAX_NODES"),
    "many_keys": (dict.fromkeys(range(9)), "MAX_HASH_KEYS"),
    "many_items": ([0] * 9, "MAX_ARRAY_ITEMS"),
    "many_in_a_set": (set(range(9)), "MAX_ARRAY_ITEMS"),
    "long_text": ("x" * 201, "STRING_TOO_LARGE"),
    "long_bytes": (b"x" * 201, "STRING_TOO_LARGE"),
    "much_text": (["x" * 90] * 3, "MAX_BYTES"),
    "long_keys": ({"k" * 150: 1, "l" * 150: 2}, "MAX_BYTES"),
}


@pytest.mark.parametrize(("value", "reason"), EXCESS.values(), ids=EXCESS)
def test_excess(value: Any, reason: str | None) -> None:
    """The first limit that breaks is named."""
    assert excess(value, SMALL) == reason


@pytest.mark.parametrize("field", OutputLimits.__struct_fields__)
def test_limits_that_are_none(field: str) -> None:
    """A limit that allows nothing is a mistake that is told."""
    assert excess(1, OutputLimits(**{field: 0})) == "INVALID_LIMIT"


def test_shared_containers_count_each_time() -> None:
    """What is small in memory and huge as JSON is found out, in bounded time."""
    assert excess(laughs(15), OutputLimits()) == "MAX_NODES"


@given(
    st.recursive(
        st.none() | st.text(max_size=20) | st.integers(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    ),
    st.integers(1, 60),
)
def test_bytes_are_estimated_from_below(value: Any, limit: int) -> None:
    """What is said to have too many bytes has too many; nothing that fits is refused."""
    if excess(value, OutputLimits(bytes=limit)) in {"MAX_BYTES", "STRING_TOO_LARGE"}:
        assert len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) > limit
