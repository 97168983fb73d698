"""Tools of a talk: what the user names is run, told of, and used; what nobody names is not."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.talk.conversation import TerminalChat
from innkeeper.cli.talk.tools import load_function
from innkeeper.content.chat import ChatLog
from innkeeper.conversation.conversation import Conversation
from innkeeper.inference import EchoServer, FakeClient, FakeReply, Fault, Toolbox
from innkeeper.inference.client.model_clients import RouteClient
from innkeeper.inference.client.model_handle import ModelHandle
from innkeeper.inference.routing.route import Route
from innkeeper.prompt import BuildRequest, InnkeeperError, UnavailableError, UsageError
from tests.cli.running import Run
from tests.shared import ROOT

CARD = str(ROOT / "examples" / "wenna.png")
SERVER = f"{sys.executable} {ROOT / 'tests' / 'inference' / 'tools' / 'a_rude_server.py'}"
NOTHING: Any = lambda _: None  # noqa: E731 - nobody listens

TOOLS = '''
def tide(harbour: str) -> str:
    """When the tide turns."""
    return f"at nine in {harbour}"

async def later(harbour: str) -> str:
    """The next tide."""
    return "at three"

def stop(harbour: str) -> str:
    """Ctrl-C."""
    raise KeyboardInterrupt

number = 7
'''


def call(name: str, **arguments: Any) -> FakeReply:
    """A reply that calls a tool."""
    return FakeReply(tool_calls=((name, arguments),))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with functions."""
    path = tmp_path / "my tools.py"
    path.write_text(TOOLS)
    return path


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A function that starts a provider with these replies, which is settled."""
    servers: list[EchoServer] = []

    def start(*replies: Any) -> EchoServer:
        servers.append(EchoServer(*replies).__enter__())
        monkeypatch.setenv("INNKEEPER_BASE_URL", servers[-1].base_url)
        monkeypatch.setenv("INNKEEPER_MODEL", "m")
        return servers[-1]

    yield start
    for server in servers:
        server.__exit__(None, None, None)


@pytest.mark.parametrize("tavern", ["silly", "smart", "vibe"])
def test_ask_with_tools(run: Run, settled: Any, file: Path, tavern: str) -> None:
    """What is run is said; calls are answered by messages of the role tool; the reply is what the model says after them."""
    server = settled(call("tide", harbour="Skerrow"), call("add"), call("later", harbour="x"), "At *nine*.")
    named = ("--tool", f"{file}:tide", "--tool", f"{file}:later", "--mcp", SERVER)
    ran = run("ask", CARD, "When?", "--tavern", tavern, *named)
    assert (ran.code, ran.out) == (0, "At *nine*.\n")
    for said in (f"loads {file}:tide", f"runs {SERVER}", "may call tide, later, add", 'tide {"harbour": "Skerrow"}'):
        assert said in ran.err
    messages = server.requests[-1].body["messages"]
    results = [json.loads(one["content"])["data"] for one in messages if one["role"] == "tool"]
    assert results == [{"value": "at nine in Skerrow"}, {"text": "3"}, {"value": "at three"}]
    assert any(one["role"] == "user" and "When?" in one["content"] for one in messages)


def test_without_tools_there_are_none(run: Run, settled: Any) -> None:
    """Nothing is offered that was not named, and a call that a model makes all the same runs nothing."""
    server = settled("Hello.")
    assert run("ask", CARD, "When?").code == 0
    assert "tools" not in server.requests[0].body


def test_a_dry_run_runs_nothing(run: Run, settled: Any, tmp_path: Path) -> None:
    """Where nothing is sent, no server is started and no file is run."""
    trap = tmp_path / "trap.py"
    trap.write_text("raise SystemExit(9)")
    server = settled()
    ran = run("ask", CARD, "When?", "--dry-run", "--tool", f"{trap}:f", "--mcp", "no-such-program")
    assert ran.code == 0
    assert "nothing is run" in ran.err
    assert server.requests == []


def test_a_provider_that_refuses_tools(run: Run, settled: Any, file: Path) -> None:
    """It is asked once more without them, and that is said."""
    server = settled(Fault.status(400), "Plain words.")
    ran = run("ask", CARD, "When?", "--tool", f"{file}:tide")
    assert (ran.code, ran.out) == (0, "Plain words.\n")
    assert "without" in ran.err
    assert "tools" not in server.requests[1].body


def test_ctrl_c_in_a_tool(run: Run, settled: Any, file: Path) -> None:
    """Ctrl-C while a tool runs ends the command as anywhere else."""
    settled(call("stop", harbour="x"))
    assert run("ask", CARD, "When?", "--tool", f"{file}:stop").code == 130


def test_a_server_that_does_not_start(run: Run, settled: Any) -> None:
    """A command that is no MCP server ends the command before anything is asked."""
    server = settled("Hello.")
    ran = run("ask", CARD, "When?", "--mcp", "no-such-program")
    assert (ran.code, server.requests) == (69, [])
    assert "cannot be run" in ran.err


REFUSED: dict[str, tuple[str, type[InnkeeperError], str]] = {
    "no function": ("tools.py", UsageError, "FILE"),
    "no file": ("nobody.py:f", UnavailableError, "no such file"),
    "no Python": ("notes.txt:f", UsageError, "not a function"),
    "not there": ("tools.py:other", UsageError, "there is no function"),
    "no callable": ("tools.py:number", UsageError, "there is no function"),
    "broken": ("broken.py:f", UnavailableError, "SyntaxError"),
    "failing": ("failing.py:f", UnavailableError, "ZeroDivisionError"),
}


@pytest.mark.parametrize(("name", "kind", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_function(tmp_path: Path, name: str, kind: type[InnkeeperError], said: str) -> None:
    """What names no function in a file is told with the way to name one."""
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "broken.py").write_text("def")
    (tmp_path / "failing.py").write_text("1 / 0")
    with pytest.raises(kind) as caught:
        load_function(str(tmp_path / name))
    assert said in caught.value.message or said == "FILE"


def handle(client: FakeClient) -> ModelHandle:
    """What answers with the script of a fake client."""
    route = Route(name="m", model="m")
    return ModelHandle(RouteClient(route, transport=client._client._transport), "m", 4000, route=route)


def talk(*replies: Any, tavern: str = "silly") -> tuple[TerminalChat, FakeClient]:
    """A conversation with a model that says these things, and a tool."""
    client = FakeClient(*replies)
    base = BuildRequest(
        tavern=tavern,
        character={"name": "Wenna", "description": "Keeps the light.", "first_mes": "Come in."},
        context_window=4000,
        reserved_tokens=200,
        model="m",
    )
    conversation = TerminalChat(Conversation(base=base, chat=ChatLog(header={})), handle(client))
    conversation.tools = Toolbox.of(tide)
    return conversation, client


def tide(harbour: str) -> str:
    """When the tide turns."""
    return "at nine"


def test_the_first_request_is_the_plan() -> None:
    """What is asked first are the messages of the plan, tools counted; it is explained and kept like any other."""
    conversation, client = talk("Hello.")
    conversation.keep(conversation.conversation.greeted(["Come in."], when="2026-01-15"))
    conversation.take("normal", NOTHING, "When?")
    assert conversation.plan is not None
    assert client.requests[0]["messages"] == conversation.plan.to_messages("openai")
    body = conversation.handle.request(conversation.plan, stream=False).body
    options = {name: value for name, value in body.items() if name not in {"model", "messages", "tools"}}
    assert options
    assert options.items() <= {name: one for name, one in client.requests[0].items() if name in options}.items()
    assert conversation.plan.tools
    assert conversation.figures(conversation.plan).tools > 0


@pytest.mark.parametrize("tavern", ["silly", "smart", "vibe"])
def test_the_chat_keeps_the_answer(tavern: str) -> None:
    """Calls and results are for one answer; asked again, or for an alternative, the old reply is not before them."""
    uses = call("tide", harbour="Skerrow")
    conversation, client = talk(uses, "At nine.", uses, "At ten.", uses, "At eleven.", "More.", tavern=tavern)
    heard: list[str] = []
    assert conversation.take("normal", heard.append, "When?") == "At nine."
    assert conversation.take("regenerate", heard.append) == "At ten."
    assert conversation.take("swipe", heard.append) == "At eleven."
    assert "".join(heard) == "At nine.At ten.At eleven."
    assert [message.text for message in conversation.chat.messages] == ["When?", "At eleven."]
    for number in (3, 5):
        said = [str(one["content"]) for one in client.requests[number]["messages"]]
        assert not any("At nine." in text or "At ten." in text for text in said)
        assert [one["role"] for one in client.requests[number]["messages"]].count("tool") == 1
    conversation.take("normal", heard.append, "And then?")
    assert any("At eleven." in str(one["content"]) for one in client.requests[-1]["messages"])
    assert not any(one["role"] == "tool" for one in client.requests[-1]["messages"])


def test_in_a_group_the_speaker_stays() -> None:
    """Who speaks is decided once; the prompts after calls are theirs, too."""
    conversation, _ = talk()
    members = (
        {"name": "Wenna", "description": "Keeps the light."},
        {"name": "Tobin", "description": "Rows the ferry."},
    )
    base = conversation.base.with_(character=None, group={"members": members})
    client = FakeClient(call("tide", harbour="Skerrow"), "Nine.", call("tide", harbour="Skerrow"), "Ten.")
    conversation = TerminalChat(Conversation(base=base, chat=ChatLog(header={})), handle(client))
    conversation.tools = Toolbox.of(tide)
    conversation.take("normal", NOTHING, "Tobin, when?")
    assert conversation.conversation.character_name == "Tobin"
    conversation.take("normal", NOTHING, member="Wenna")
    for number, own in ((0, "Rows"), (1, "Rows"), (2, "Keeps"), (3, "Keeps")):
        said = [str(one["content"]) for one in client.requests[number]["messages"]]
        assert any(own in text for text in said), number
    assert [message.name for message in conversation.chat.messages] == ["User", "Tobin", "Wenna"]


def test_words_that_go_on_use_no_tools() -> None:
    """A continuation and words in the user's place are asked for without tools."""
    conversation, client = talk("At", " nine.", "I see.")
    conversation.take("normal", NOTHING, "When?")
    conversation.take("continue", NOTHING)
    conversation.take("impersonate", NOTHING)
    assert ["tools" in request for request in client.requests] == [True, False, False]


def test_what_is_said_before_a_call_is_heard() -> None:
    """While it comes, on a line of its own; the chat keeps what is said last."""
    conversation, _ = talk(FakeReply(content="Let me see.", tool_calls=(("tide", {"harbour": "Skerrow"}),)), "At nine.")
    heard: list[str] = []
    assert conversation.take("normal", heard.append, "When?") == "At nine."
    assert "".join(heard) == "Let me see.\nAt nine."
    assert len(heard) > 3
    assert conversation.chat.messages[-1].text == "At nine."
