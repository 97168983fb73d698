"""The window of a chat: the newest turns, the current message once, and nothing left out in silence."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.budget import ChatTurn, Part, Summariser, Window, fit_chat
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import MaxTokensExceededError, UsageError
from innkeeper.prompt.message import Message
from innkeeper.tokens import NO_FRAMING


class Words:
    """Counts words."""

    def count(self, text: str, model: str | None = None) -> int:
        """Words of a text."""
        return len(text.split())

    def describe(self, model: str | None = None) -> dict[str, object]:
        """Nothing."""
        return {}


SAFETY = Message("system", "Be kind.")


def chat(count: int) -> list[Message]:
    """Turns of two words each."""
    return [Message("user" if n % 2 == 0 else "assistant", f"turn {n}") for n in range(count)]


def fit(messages: Sequence[Message | ChatTurn], current: Message | ChatTurn, budget: int, **more: object) -> Window:
    """The window by words, without framing."""
    return fit_chat(messages, current, budget, Words(), framing=NO_FRAMING, **more)  # type: ignore[arg-type]


def texts(window: Window) -> list[str]:
    """What is sent."""
    return [message.content for message in window.messages]


def test_five_hundred_messages_keep_the_newest() -> None:
    """Of a long chat the newest turns are sent, the safety block first, the current message last and once."""
    window = fit([SAFETY, *chat(500)], Message("user", "and now?"), 100)
    assert texts(window) == ["Be kind.", *(f"turn {n}" for n in range(452, 500)), "and now?"]
    assert (window.used, window.limit) == (100, 100)
    assert [each.place for each in window.evicted] == list(range(1, 453))
    assert {each.reason for each in window.evicted} == {"oldest"}


def test_real_counts_with_overhead() -> None:
    """With the default counter and the framing of a provider the window holds too."""
    window = fit_chat([SAFETY, *chat(500)], Message("user", "and now?"), 700, model="gpt-4o")
    assert window.used <= 700
    assert texts(window)[-2:] == ["turn 499", "and now?"]
    assert len(window.messages) > 50


def test_the_current_message_is_sent_once() -> None:
    """A copy that is stored already is known by its id and left out."""
    stored = Message("user", "hello", metadata=FrozenDict(client_msg_id="7"))
    window = fit([SAFETY, *chat(2), stored], stored, 100)
    assert texts(window) == ["Be kind.", "turn 0", "turn 1", "hello"]
    assert [(each.place, each.reason) for each in window.evicted] == [(3, "current")]
    assert window.used == 7


def test_the_same_words_said_before_stay() -> None:
    """Repeats are turns of their own."""
    again = Message("user", "yes")
    window = fit([again, Message("assistant", "sure?"), again], ChatTurn(again, id="3"), 100)
    assert texts(window) == ["yes", "sure?", "yes", "yes"]


def test_pinned_turns_stay() -> None:
    """A pinned turn stays in its place while later ones go."""
    turns: list[Message | ChatTurn] = [*chat(10)]
    turns[1] = ChatTurn(Message("assistant", "pinned one"), pinned=True)
    window = fit(turns, Message("user", "now"), 5)
    assert texts(window) == ["pinned one", "turn 9", "now"]


def test_scenes_and_voices_go_after_turns() -> None:
    """All turns go before a scene's text, that before examples of a voice, and the safety block never."""
    parts: list[Message | ChatTurn] = [
        SAFETY,
        ChatTurn(Message("system", "the scene"), Part.SCENE),
        ChatTurn(Message("system", "the voice"), Part.VOICE),
        *chat(1),
    ]
    now = Message("user", "now")
    assert [texts(fit(parts, now, budget)) for budget in (9, 8, 6, 4)] == [
        ["Be kind.", "the scene", "the voice", "turn 0", "now"],
        ["Be kind.", "the scene", "the voice", "now"],
        ["Be kind.", "the voice", "now"],
        ["Be kind.", "now"],
    ]
    assert [each.reason for each in fit(parts, now, 4).evicted] == ["oldest", "scene", "voice"]


def test_what_must_stay_must_fit() -> None:
    """Where the safety block and the current message do not fit, it is an error."""
    with pytest.raises(MaxTokensExceededError) as caught:
        fit([SAFETY, *chat(3)], Message("user", "now"), 2)
    assert (caught.value.estimated_tokens, caught.value.max_tokens) == (3, 2)


def test_a_summary_stands_for_what_is_left_out() -> None:
    """It is asked once, stands where they stood, is counted, and has the room that is kept for it."""
    asked: list[tuple[Message, ...]] = []

    def ask(old: tuple[Message, ...]) -> Message:
        asked.append(old)
        return Message("assistant", "before: talk")

    window = fit([SAFETY, *chat(4)], Message("user", "now"), 9, summarise=Summariser(ask, 2))
    assert texts(window) == ["Be kind.", "before: talk", "turn 2", "turn 3", "now"]
    assert (window.used, window.summarised) == (9, True)
    assert [[message.content for message in old] for old in asked] == [["turn 0", "turn 1"]]
    assert not fit(chat(4), Message("user", "now"), 9, summarise=Summariser(ask, 2)).summarised


@pytest.mark.parametrize("answer", [None, Message("assistant", "far too long a summary for this")])
def test_a_summary_that_does_not_fit_is_left_out(answer: Message | None) -> None:
    """No summary, or one that is too long: the window is as without."""
    window = fit(chat(4), Message("user", "now"), 6, summarise=Summariser(lambda _: answer, 1))
    assert texts(window) == ["turn 2", "turn 3", "now"]
    assert not window.summarised


def test_a_summary_is_never_the_systems_word() -> None:
    """What users said gains no role by being summed up."""
    with pytest.raises(UsageError):
        fit(chat(4), Message("user", "now"), 6, summarise=Summariser(lambda _: Message("system", "obey"), 1))


def test_names_count() -> None:
    """A speaker's name counts as the provider counts it."""
    plain, named = (fit_chat([], Message("user", "now", name=name), 99, Words()) for name in (None, "Wenna"))
    assert named.used == plain.used + 2


turns = st.lists(
    st.builds(
        ChatTurn,
        st.builds(Message, st.sampled_from(["user", "assistant"]), st.sampled_from(["a", "a b", "a b c"])),
        st.sampled_from(Part),
        st.booleans(),
        st.sampled_from(["", "1", "2"]),
    ),
    max_size=12,
)


@given(turns, st.integers(1, 40))
def test_every_message_is_sent_or_listed(parts: list[ChatTurn], budget: int) -> None:
    """It fits; all is sent in order or listed once; safety, pinned turns and the current message are always sent."""
    current = ChatTurn(Message("user", "now"), id="1")
    try:
        window = fit([*parts], current, budget)
    except MaxTokensExceededError:
        return
    gone = {each.place: each.reason for each in window.evicted}
    assert len(gone) == len(window.evicted)
    kept = [part.message for place, part in enumerate(parts) if place not in gone]
    assert list(window.messages) == [*kept, current.message]
    assert window.used == sum(len(message.content.split()) for message in window.messages) <= budget
    for place, reason in gone.items():
        assert (reason == "current") is (parts[place].id == "1")
        assert reason == "current" or not (parts[place].pinned or parts[place].part is Part.SAFETY)
