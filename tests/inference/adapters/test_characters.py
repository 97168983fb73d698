"""SplitCharacters: halves of characters wait for one another, and stay alone only where nothing follows."""

from innkeeper.inference.adapters.characters import SplitCharacters
from innkeeper.inference.response.events import CallDelta, Finished, ModelEvent, ReasoningDelta, TextDelta

HIGH, LOW, FACE = "\ud83d", "\ude00", "\U0001f600"


def through(*events: ModelEvent) -> list[ModelEvent]:
    """The events as they come out."""
    split = SplitCharacters()
    return [*(whole for event in events for whole in split.take(event)), *split.end()]


def test_whole_texts_pass() -> None:
    """What is whole passes untouched."""
    event = TextDelta(text="é" + FACE)
    assert through(event)[0] is event


def test_halves_meet() -> None:
    """The first half waits; what else its event brought does not."""
    found = through(TextDelta(text="a" + HIGH, new=True), TextDelta(text=LOW + "b"))
    assert found == [TextDelta(text="a", new=True), TextDelta(text=FACE + "b")]
    calls = through(CallDelta(index=1, name="f", arguments=HIGH), CallDelta(index=1, arguments=LOW))
    assert calls == [CallDelta(index=1, name="f"), CallDelta(index=1, arguments=FACE)]


def test_halves_that_never_meet() -> None:
    """Another text, another item, the end: what is left is U+FFFD, in its place."""
    lost = TextDelta(text="\ufffd")
    end = Finished(reason="stop")
    assert through(TextDelta(text=HIGH), end) == [TextDelta(), lost, end]
    assert through(TextDelta(text=HIGH)) == [TextDelta(), lost]
    assert through(TextDelta(text=HIGH), TextDelta(text=LOW, new=True)) == [
        TextDelta(),
        lost,
        TextDelta(text="\ufffd", new=True),
    ]
    thought = ReasoningDelta(text=LOW)
    assert through(TextDelta(text=HIGH), thought) == [TextDelta(), lost, ReasoningDelta(text="\ufffd")]
    assert through(CallDelta(index=0, arguments=HIGH), CallDelta(index=1, arguments=LOW))[1:] == [
        CallDelta(index=0, arguments="\ufffd"),
        CallDelta(index=1, arguments="\ufffd"),
    ]
