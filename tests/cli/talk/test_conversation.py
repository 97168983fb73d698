"""A chat that goes on: what is sent, what is kept, in memory and on disk, whatever happens on the way."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.talk.conversation import TerminalChat
from innkeeper.content.chat import ChatLog
from innkeeper.content.files.loading import load_chat
from innkeeper.conversation.conversation import Conversation, Kind
from innkeeper.conversation.store import ChatFile
from innkeeper.dialects import DIALECTS
from innkeeper.inference.client.blocking import Client
from innkeeper.inference.client.model_handle import ModelHandle, open_model
from innkeeper.inference.local import model as local
from innkeeper.inference.local.model import LocalModel
from innkeeper.inference.routing.route import Route
from innkeeper.prompt import Block, BuildRequest, ConfigError, Message, Plan, Ports, ProviderError, UsageError
from innkeeper.taverns.assets import Assets
from tests.cli.fakes import FakeModel

NOW = datetime(2026, 10, 6, 19, 5, tzinfo=UTC)
BASE = BuildRequest(character={"data": {"name": "Wenna"}}, user={"name": "Ansel"}, reserved_tokens=50)
HEADER = {"user_name": "Ansel", "character_name": "Wenna", "chat_metadata": {}}


class FakeBuild:
    """Makes a plan of history and message; notes each request."""

    def __init__(self, error: Exception | None = None, *, counts: bool = False) -> None:
        self.requests: list[BuildRequest] = []
        self.error = error
        self.counts = counts

    def __call__(self, request: BuildRequest, ports: Ports) -> Plan:
        self.requests.append(request)
        if self.error:
            raise self.error
        said = (*request.history, *([Message("user", request.message)] if request.message else []))
        turns = int(request.variables.get("local", {}).get("turns", "0")) + 1
        variables = {"local": {"turns": str(turns)}} if self.counts else {}
        blocks = tuple(Block.of_message(message) for message in said)
        carry = {"timed": {"sticky": {"3": 5} if self.counts else {}}}
        return Plan(blocks=blocks, request=request, model="m", variables=variables, carry=carry, dialects=DIALECTS)  # type: ignore[arg-type]


def talk(model: FakeModel, build: FakeBuild | None = None, path: Path | None = None) -> TerminalChat:
    """An empty chat."""
    return TerminalChat(
        Conversation(base=BASE, chat=ChatLog(header=HEADER)),
        ModelHandle(model, "m"),
        build or FakeBuild(),
        store=None if path is None else ChatFile(path),
        now=lambda: NOW,
    )


def texts(chat: TerminalChat) -> list[tuple[str, str]]:
    """Who said what."""
    return [(message.role, message.text) for message in chat.chat.messages]


def hear(_: str) -> None:
    """Listen to nothing."""


def stored(path: Path) -> list[dict[str, Any]]:
    """The lines of a chat file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_turns() -> None:
    """Each turn sends the chat so far and the new message, and adds both sides to the chat."""
    model, heard = FakeModel("Good evening, Ansel.", "Two."), list[str]()
    chat = talk(model)
    chat.keep(chat.conversation.greeted(["Come in."], when="2026-01-15"))
    assert chat.take("normal", heard.append, "Hello") == "Good evening, Ansel."
    assert "".join(heard) == "Good evening, Ansel."
    chat.take("normal", hear, "How many?")
    assert texts(chat) == [
        ("assistant", "Come in."),
        ("user", "Hello"),
        ("assistant", "Good evening, Ansel."),
        ("user", "How many?"),
        ("assistant", "Two."),
    ]
    assert [m["content"] for m in model.asked[1]["messages"]] == [
        "Come in.",
        "Hello",
        "Good evening, Ansel.",
        "How many?",
    ]
    assert [message.name for message in chat.chat.messages[:2]] == ["Wenna", "Ansel"]
    assert chat.chat.messages[1].send_date == "2026-10-06T19:05:00+00:00"


def test_reply_is_bounded_by_the_reserve() -> None:
    """The reply may be as long as what was reserved for it; options of the plan go before."""
    model = FakeModel()
    talk(model).take("normal", hear, "Hello")
    assert model.asked[0]["max_tokens"] == 50
    plan = Plan(request=BASE, options={"max_tokens": 7, "temperature": 0.1}, model="m", dialects=DIALECTS)  # type: ignore[arg-type]
    body = ModelHandle(model, "m").request(plan).body
    assert (body["model"], body["messages"], body["temperature"]) == ("m", [], 0.1)
    assert [body[name] for name in body if name.startswith("max_")] == [7]


def test_variables_carry_over(tmp_path: Path) -> None:
    """What a build changed in the variables is there in the next and in the file, but not after a preview."""
    path = tmp_path / "c.jsonl"
    chat = talk(FakeModel(), FakeBuild(counts=True), path)
    for turn in ("1", "2"):
        chat.take("normal", hear, "on")
        assert chat.base.variables == {"local": {"turns": turn}}
        lasting = {"carry": {"timed": {"sticky": {"3": 5}}}}
        assert stored(path)[0]["chat_metadata"] == {"variables": {"turns": turn}, "innkeeper": lasting}
    stored_state = Assets(BuildRequest.of({"history": load_chat(path)})).lore_state
    assert stored_state == chat.base.lore_state == lasting["carry"]
    before, content = chat.base, path.read_bytes()
    chat.preview("two")
    assert chat.base is before
    assert path.read_bytes() == content
    assert [line["mes"] for line in stored(path)[1:]] == ["on", "Reply 1.", "on", "Reply 2."]


def test_file_grows(tmp_path: Path) -> None:
    """The file has the header and each message as soon as it is there, in SillyTavern's format."""
    path = tmp_path / "chats" / "new.jsonl"
    path.parent.mkdir()
    chat = talk(FakeModel("Yes."), path=path)
    chat.keep(chat.conversation.greeted(["Come in.", "Mind the step."], when="2026-01-15"))
    chat.take("normal", hear, "Hello")
    lines = stored(path)
    assert lines[0] == HEADER
    assert [(line["name"], line["is_user"], line["mes"]) for line in lines[1:]] == [
        ("Wenna", False, "Come in."),
        ("Ansel", True, "Hello"),
        ("Wenna", False, "Yes."),
    ]
    assert lines[1]["swipes"] == ["Come in.", "Mind the step."]
    assert load_chat(path).findings == ()
    assert [m.text for m in load_chat(path).messages] == [text for _, text in texts(chat)]


def test_file_goes_on(tmp_path: Path) -> None:
    """A chat that is opened again keeps its lines byte for byte."""
    path = tmp_path / "old.jsonl"
    first = talk(FakeModel("Yes."), path=path)
    first.take("normal", hear, "Hello")
    before = path.read_bytes()
    store = ChatFile(path)
    loaded = store.load()
    assert loaded is not None
    second = TerminalChat(
        Conversation(base=BASE, chat=loaded),
        ModelHandle(FakeModel("No."), "m"),
        FakeBuild(),
        store=store,
        now=lambda: NOW,
    )
    second.take("normal", hear, "Again")
    assert path.read_bytes().startswith(before)
    assert [line["mes"] for line in stored(path)[1:]] == ["Hello", "Yes.", "Again", "No."]


@pytest.mark.parametrize("saved", [False, True])
def test_retry(tmp_path: Path, *, saved: bool) -> None:
    """A retry sends what was sent before and puts its reply in the place of the old one."""
    path = tmp_path / "c.jsonl" if saved else None
    model = FakeModel("One.", "Two.")
    chat = talk(model, path=path)
    chat.take("normal", hear, "Hello")
    chat.take("regenerate", hear)
    assert texts(chat) == [("user", "Hello"), ("assistant", "Two.")]
    assert model.asked[0]["messages"] == model.asked[1]["messages"]
    if path:
        assert [line["mes"] for line in stored(path)[1:]] == ["Hello", "Two."]


@pytest.mark.parametrize("act", ["regenerate", "swipe"])
@pytest.mark.parametrize(
    ("tavern", "history", "message", "generation"),
    [("vibe", ["a"], "Hello", "normal"), ("silly", ["a", "Hello", "One."], "", None)],
)
def test_again(act: Kind, tavern: str, history: list[str], message: str, generation: str | None) -> None:
    """A tavern that knows what another reply is gets the whole chat; for the others the old reply is left out."""
    build = FakeBuild()
    chat = TerminalChat(
        Conversation(base=BASE.with_(tavern=tavern), chat=ChatLog(header=HEADER)),
        ModelHandle(FakeModel("One.", "Two."), "m"),
        build,
        now=lambda: NOW,
    )
    chat.keep(chat.conversation.greeted(["a"], when="2026-01-15"))
    chat.take("normal", hear, "Hello")
    chat.take(act, hear)
    request = build.requests[-1]
    assert ([m.content for m in request.history], request.message) == (history, message)
    assert request.generation == (generation or act)


def test_swipes(tmp_path: Path) -> None:
    """Alternatives are kept beside one another; each can be shown; the next turn goes on from the shown one."""
    path = tmp_path / "c.jsonl"
    model = FakeModel("One.", "Two.", "Three.", "On.")
    chat = talk(model, path=path)
    chat.take("normal", hear, "Hello")
    chat.take("swipe", hear)
    chat.take("swipe", hear)
    assert (chat.conversation.alternatives, chat.conversation.shown) == (("One.", "Two.", "Three."), 3)
    chat.keep(chat.conversation.with_alternative(1))
    assert texts(chat)[-1] == ("assistant", "One.")
    last = stored(path)[-1]
    assert (last["mes"], last["swipe_id"], last["swipes"]) == ("One.", 0, ["One.", "Two.", "Three."])
    chat.take("normal", hear, "Go on")
    assert [m["content"] for m in model.asked[-1]["messages"]] == ["Hello", "One.", "Go on"]


@pytest.mark.parametrize("number", [0, 4, -1])
def test_swipe_that_is_not_there(number: int) -> None:
    """Only alternatives that exist can be shown."""
    chat = talk(FakeModel())
    chat.keep(chat.conversation.greeted(["a", "b", "c"], when="2026-01-15"))
    with pytest.raises(UsageError, match="no alternative"):
        chat.conversation.with_alternative(number)


def test_greetings_are_alternatives() -> None:
    """Until the user speaks, the greetings can be leafed through."""
    chat = talk(FakeModel())
    chat.keep(chat.conversation.greeted(["a", "b"], shown=1, when="2026-01-15"))
    assert (texts(chat), chat.conversation.is_greeting, chat.conversation.shown) == ([("assistant", "b")], True, 2)
    chat.keep(chat.conversation.with_alternative(1))
    chat.take("normal", hear, "Hello")
    assert not chat.conversation.is_greeting
    assert texts(chat)[0] == ("assistant", "a")


@pytest.mark.parametrize("act", ["regenerate", "swipe"])
def test_nothing_to_answer(act: Kind) -> None:
    """Before the user has spoken there is nothing to ask again, and the error says so."""
    chat = talk(FakeModel())
    with pytest.raises(UsageError):
        chat.take(act, hear)
    chat.keep(chat.conversation.greeted(["a"], when="2026-01-15"))
    with pytest.raises(UsageError):
        chat.take(act, hear)


def test_failed_reply(tmp_path: Path) -> None:
    """A provider's error leaves the user's message, in the file too, for a retry."""
    path = tmp_path / "c.jsonl"
    chat = talk(FakeModel(ProviderError("down"), "Yes."), path=path)
    with pytest.raises(ProviderError):
        chat.take("normal", hear, "Hello")
    assert texts(chat) == [("user", "Hello")]
    chat.take("regenerate", hear)
    assert texts(chat) == [("user", "Hello"), ("assistant", "Yes.")]
    assert [line["mes"] for line in stored(path)[1:]] == ["Hello", "Yes."]


def test_failed_retry_keeps_the_old_reply() -> None:
    """When a retry fails, the reply that was there stays."""
    chat = talk(FakeModel("One.", ProviderError("down")))
    chat.take("normal", hear, "Hello")
    with pytest.raises(ProviderError):
        chat.take("regenerate", hear)
    assert texts(chat) == [("user", "Hello"), ("assistant", "One.")]


def test_failed_build_keeps_nothing(tmp_path: Path) -> None:
    """A message that no prompt can be built for is not in the chat."""
    path = tmp_path / "c.jsonl"
    chat = talk(FakeModel(), FakeBuild(UsageError("no")), path)
    with pytest.raises(UsageError):
        chat.take("normal", hear, "Hello")
    assert texts(chat) == []
    assert not path.exists()


def test_interrupted() -> None:
    """Ctrl-C keeps what was said so far; before the first word it comes through."""
    chat = talk(FakeModel(KeyboardInterrupt(), before=2))
    assert chat.take("normal", hear, "Hello") == "word0 word1"
    assert texts(chat)[-1] == ("assistant", "word0 word1")
    chat = talk(FakeModel(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        chat.take("normal", hear, "Hello")
    assert texts(chat) == [("user", "Hello")]


def test_save_elsewhere(tmp_path: Path) -> None:
    """A chat without a file can be given one; it is never an existing one."""
    chat = talk(FakeModel("Yes.", "No."))
    chat.take("normal", hear, "Hello")
    chat.save(tmp_path / "c.jsonl")
    chat.take("normal", hear, "More")
    assert [line["mes"] for line in stored(tmp_path / "c.jsonl")[1:]] == ["Hello", "Yes.", "More", "No."]
    with pytest.raises(UsageError, match="exists"):
        chat.save(tmp_path / "c.jsonl")


class NoEngine:
    """Nothing is asked of it."""

    handle_chat_completions = post = close = staticmethod(lambda *_: None)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Instead of loading a model, note which one was wanted."""
    asked: list[tuple[str, Any]] = []

    def open_model(name: str, *, context_window: int | None = None) -> LocalModel:
        asked.append((name, context_window))
        return LocalModel(NoEngine(), name=name, context_window=context_window or 4096)

    monkeypatch.setattr(local.LocalModel, "open", open_model)
    return asked


@pytest.mark.parametrize(
    ("model", "window", "expected"),
    [
        (None, None, ("smollm2", None)),
        ("local", 512, ("smollm2", 512)),
        ("local:mine", None, ("mine", None)),
    ],
)
def test_local(opened: list[tuple[str, Any]], model: str | None, window: int | None, expected: tuple[str, Any]) -> None:
    """Without a name it is the local model; its window and its own way of counting come with it."""
    handle = open_model(model, window=window)
    assert opened == [expected]
    assert (handle.model, handle.window) == (expected[0], window or 4096)
    assert handle.counter is not None
    handle.close()


def test_provider() -> None:
    """A name of another kind is a provider's; nothing is asked before the first turn."""
    handle = open_model("gpt-4o", "https://provider.example/v1", 1000)
    assert isinstance(handle.client, Client)
    assert (handle.model, handle.window, handle.counter) == ("gpt-4o", 1000, None)
    handle.close()


def test_provider_without_a_model() -> None:
    """A provider needs to be told the model."""
    with pytest.raises(UsageError, match="name of a model"):
        open_model(None, "https://provider.example")


def test_bad_address() -> None:
    """An address that is none is refused at once."""
    with pytest.raises(ConfigError):
        open_model("gpt-4o", "provider.example")


def test_scripts_for_what_is_stored() -> None:
    """What is said is kept as the regex scripts leave it, whoever says it."""
    script = {"findRegex": "/cat/g", "replaceString": "{{incvar::n}}", "trimStrings": [], "placement": [1, 2]}
    asked = {"tavern": "silly", "character": "Wenna", "user": "Ansel", "reserved_tokens": 50}
    base = BuildRequest.of({**asked, "settings": {"regex": [script]}})
    chat = TerminalChat(
        Conversation(base=base, chat=ChatLog(header=HEADER)), ModelHandle(FakeModel("cat!"), "m"), now=lambda: NOW
    )
    assert chat.take("normal", hear, "a cat") == "2!"
    assert texts(chat) == [("user", "a 1"), ("assistant", "2!")]
    chat.take("normal", hear, "cat")
    assert chat.plan is not None
    assert chat.plan.variables["local"]["n"] == 3


@pytest.mark.parametrize("replies", [(ProviderError("down"), "Yes."), ("One.", "Two.")], ids=["failed", "answered"])
def test_what_was_typed_is_rewritten_once(replies: tuple[str | BaseException, ...]) -> None:
    """Asking again finds the message as it was kept: its scripts and macros have run, whether there was a reply or not."""
    script = {"findRegex": "/a/g", "replaceString": "aa{{incvar::n}}", "trimStrings": [], "placement": [1]}
    asked = {"tavern": "silly", "character": "Wenna", "user": "Ansel", "reserved_tokens": 50}
    base = BuildRequest.of({**asked, "settings": {"regex": [script]}})
    chat = TerminalChat(
        Conversation(base=base, chat=ChatLog(header=HEADER)), ModelHandle(FakeModel(*replies), "m"), now=lambda: NOW
    )
    with suppress(ProviderError):
        chat.take("normal", hear, "a")
    chat.take("regenerate", hear)
    assert texts(chat) == [("user", "aa1"), ("assistant", str(replies[-1]))]
    assert chat.plan is not None
    assert chat.plan.sent_blocks()[-1].content == "aa1"


def test_how_a_reply_is_asked_to_begin_is_kept(tmp_path: Path) -> None:
    """It stands beside the message in the file, where SillyTavern looks for it when it makes the reply anew."""
    base = BuildRequest.of({"tavern": "silly", "character": "Wenna", "user": "Ansel", "reserved_tokens": 50})
    path = tmp_path / "c.jsonl"
    chat = TerminalChat(
        Conversation(base=base, chat=ChatLog(header=HEADER)),
        ModelHandle(FakeModel(), "m"),
        store=ChatFile(path),
        now=lambda: NOW,
    )
    chat.take("normal", hear, 'Go on. {{bias "Well,"}}')
    assert (stored(path)[1]["mes"], stored(path)[1]["extra"]) == ("Go on.", {"bias": " Well,"})
    chat.take("normal", hear, '{{bias "So,"}}')
    alone = stored(path)[3]
    assert (alone["mes"], alone["is_system"], alone["extra"]) == (" ", True, {"bias": " So,"})


@pytest.mark.parametrize(
    ("cached", "provider", "known"), [(60, "llamacpp", True), (60, "nobody", False), (None, "llamacpp", False)]
)
def test_what_a_cache_served_beside_what_it_should_have(cached: int | None, provider: str, *, known: bool) -> None:
    """The usage of each turn has the prediction, from the prompt before; without a report or a rule there is none."""
    handle = ModelHandle(
        FakeModel("One.", "Two.", cached=cached), "m", route=Route(name="m", model="m", provider=provider)
    )
    chat = TerminalChat(Conversation(base=BASE, chat=ChatLog(header=HEADER)), handle, FakeBuild(), now=lambda: NOW)
    predicted = []
    for text in ("Hello?", "And now?"):
        chat.take("normal", lambda _: None, text)
        assert chat.last is not None
        predicted.append((chat.last.usage or {}).get("predicted_cached_tokens"))
    assert (predicted[0], bool(predicted[1])) == ((0, True) if known else (None, False))
