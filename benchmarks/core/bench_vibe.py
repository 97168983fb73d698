"""A vibe build of a long chat: with exact tokens seen before, with a trace, with a template."""

from collections.abc import Iterator

from benchmarks.case import Case
from innkeeper.macros.liquid.templates import render
from innkeeper.prompt import BuildRequest, Message, Ports, TraceCollector
from innkeeper.taverns import vibe

TURNS = 1000
TEXT = "The lamp burned low while the rain went on, and nobody at the table wished to be the first to speak. "


def cases() -> Iterator[Case]:
    """Builds of one chat of 1,000 messages, and the rendering of one template."""
    request = _request()
    plan = vibe.build(request)
    assert len(plan.blocks) == TURNS + 3
    assert plan.warnings == ()
    note = f"{TURNS:,} messages of {len(TEXT)} characters"
    yield Case("build", lambda: vibe.build(request), note=f"{note}, exact tokens seen before")
    yield Case("build without a window", lambda: vibe.build(request.with_(context_window=None)), note=note)
    yield Case(
        "build with a trace",
        lambda: vibe.build(request, Ports(instrumenter=TraceCollector())),
        lambda: vibe.build(request),
        "without",
        note,
    )
    template, assigns = _template()
    yield Case(
        "template", lambda: render(template, assigns), note="a loop over 100 messages with a condition, parsed before"
    )


def _request() -> BuildRequest:
    history = tuple(Message("user" if turn % 2 else "assistant", f"{turn}: {TEXT}") for turn in range(TURNS))
    return BuildRequest.of(
        {
            "character": {"name": "Mara", "description": TEXT * 20, "scenario": TEXT},
            "user": {"name": "Ilse", "persona": TEXT},
            "history": history,
            "message": "And then?",
            "context": {"language_policy": {"enabled": True, "target_lang": "en"}},
            "model": "gpt-4o",
            "context_window": 1_000_000,
            "now": "2026-01-15T12:00:00Z",
        }
    )


def _template() -> tuple[str, dict[str, object]]:
    name = "{% if m.role == 'user' %}{{ user }}{% else %}{{ char }}{% endif %}"
    loop = "{% for m in messages %}" + name + ": {{ m.content }}\n{% endfor %}"
    messages = [{"role": "user" if turn % 2 else "assistant", "content": TEXT} for turn in range(100)]
    return loop, {"user": "Ilse", "char": "Mara", "messages": messages}
