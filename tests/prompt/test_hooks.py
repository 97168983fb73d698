"""HookRegistry and HookContext (2-wave4-contracts, *HookRegistry Contract*)."""

from typing import Any

import pytest

from innkeeper.prompt import HookContext, InMemoryHooks, UsageError


def _context(*, after: bool = False, warned: list[str] | None = None) -> HookContext:
    fields = {"character": "Sera", "history": (), "plan": None}
    sink: list[str] = [] if warned is None else warned
    return HookContext(fields, sink.append, after=after)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_hooks_run_in_the_order_they_were_registered(after: bool) -> None:
    """First registered, first run; the two lists are apart (*Execution order*)."""
    hooks, ran = InMemoryHooks(), list[str]()
    for name in ("a", "b", "c"):
        hooks.before_build(lambda _context, name=name: ran.append("before " + name))  # type: ignore[misc]
        hooks.after_build(lambda _context, name=name: ran.append("after " + name))  # type: ignore[misc]
    run, word = (hooks.run_after_build, "after") if after else (hooks.run_before_build, "before")
    run(_context(after=after))
    assert ran == [f"{word} {name}" for name in ("a", "b", "c")]


def test_registering_works_as_a_decorator() -> None:
    """The hook is returned as it is."""
    hooks = InMemoryHooks()

    @hooks.before_build
    def rename(context: HookContext) -> None:
        context.character = "Vera"

    context = _context()
    hooks.run_before_build(context)
    assert context.character == "Vera"
    assert rename.__name__ == "rename"


@pytest.mark.parametrize("name", ["character", "user", "preset", "history", "user_message", "macro_vars"])
def test_a_before_hook_may_replace_six_inputs(name: str) -> None:
    """Exactly the inputs of the contract; what was replaced can be asked for."""
    original = {"character": "Sera"}
    context = HookContext(dict(original), print)
    setattr(context, name, "new")
    assert getattr(context, name) == "new"
    assert context.changed(original) == {name: "new"}


@pytest.mark.parametrize(("after", "name"), [(False, "plan"), (False, "blocks"), (True, "character"), (True, "blocks")])
def test_anything_else_is_refused(after: bool, name: str) -> None:
    """A before hook has no plan and no blocks; an after hook sets only the plan. The error says what may be set."""
    with pytest.raises(UsageError, match=f"may not set '{name}'") as caught:
        setattr(_context(after=after), name, 1)
    assert ("plan" in (caught.value.hint or "")) is after


def test_an_after_hook_may_replace_the_plan() -> None:
    """And nothing is reported as changed that was not."""
    context = _context(after=True)
    assert context.changed({"character": "Sera", "history": (), "plan": None}) == {}
    context.plan = "new"
    assert context.changed({"plan": None, "character": "Sera", "history": ()}) == {"plan": "new"}


def test_a_hook_can_warn() -> None:
    """Recoverable trouble goes through ``warn``, not through an exception."""
    warned: list[str] = []
    _context(warned=warned).warn("odd")
    assert warned == ["odd"]


def test_reading_what_is_not_there_is_an_attribute_error() -> None:
    """Like any object."""
    with pytest.raises(AttributeError):
        _ = _context().nothing


def test_a_hook_must_be_callable() -> None:
    """Checked when it is registered."""
    for register in (InMemoryHooks().before_build, InMemoryHooks().after_build):
        with pytest.raises(UsageError, match="must be callable"):
            register(5)  # type: ignore[arg-type]


def test_a_hooks_own_exception_is_not_swallowed() -> None:
    """The step that runs the hooks fails with it."""

    def broken(_context: Any) -> None:
        raise ZeroDivisionError

    hooks = InMemoryHooks()
    hooks.before_build(broken)
    with pytest.raises(ZeroDivisionError):
        hooks.run_before_build(_context())
