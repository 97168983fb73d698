"""Fourteen requests, and the doors at which each can be asked: what a door sends a provider, and what it says about it.

A request is a profile (a folder of files) and the input of a client. Where a door speaks another protocol, the input is written
in that protocol; one that it has no place for it refuses, or says so in a note.
"""

from __future__ import annotations

import io
import json
import logging
import struct
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec
import pytest
from starlette.testclient import TestClient

from innkeeper.budget import accounting
from innkeeper.chat import Chat
from innkeeper.cli.app.root import main
from innkeeper.conversation import TurnInput, profile_turn
from innkeeper.dialects.plan_payload import answer_limit
from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.client import model_clients
from innkeeper.inference.client.model_clients import client_options
from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Route, Routes
from innkeeper.library.db.engine import Database
from innkeeper.library.models.stores import ProviderStore, ToolStore
from innkeeper.library.prompts import llm_factory
from innkeeper.prompt import BuildRequest, Plan
from innkeeper.service import Settings, create_app
from innkeeper.service.guard.accounts import cost_of, read_prices
from innkeeper.service.inspector.access import Access
from innkeeper.service.inspector.surface import Inspector
from innkeeper.service.inspector.talking import InspectorTalk
from innkeeper.taverns import open_profile, replay
from tests.inference.adapters.answers import WIRES, Said
from tests.service.inspector.opened import Browser, session_of
from tests.shared import ROOT

EXAMPLES: Final = ROOT / "examples"
NOW: Final = "2026-01-15T12:00:00+00:00"
SAID: Final = Said(text=("The reef ", "is safe."), usage=(900, 30))
PRICES: Final = ("*=2,8",)
"""What a million tokens cost in and out, on every route."""

MODELS: Final[Mapping[str, tuple[str, str]]] = {
    "openai": ("openai", "gpt-4o"),
    "anthropic": ("anthropic", "claude-sonnet-4-5"),
    "gemini": ("gemini", "gemini-2.5-flash"),
    "openrouter": ("openrouter", "deepseek/deepseek-chat"),
}
"""Four models at providers of four dialects."""


class RefusedError(Exception):
    """A door has refused a request, with these words."""


# ------------------------------------------------------------------------------------------------------------ the requests


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A request: a profile's files and further lines, and what a client sends: its chat, options, tools, schema, a picture."""

    files: tuple[str, ...] = ("wenna.png", "ansel.persona.json")
    profile: str = ""
    content: Mapping[str, Any] = {}
    history: tuple[tuple[str, str], ...] = ()
    message: str = "Is the reef safe?"
    options: Mapping[str, Any] = {}
    tools: tuple[Mapping[str, Any], ...] = ()
    schema: Mapping[str, Any] | None = None
    has_picture: bool = False

    @property
    def response_format(self) -> dict[str, Any] | None:
        """The schema as Chat Completions has it."""
        if self.schema is None:
            return None
        return {"type": "json_schema", "json_schema": {"name": "reply", "schema": self.schema, "strict": True}}

    @property
    def asked(self) -> dict[str, Any]:
        """The options under the names of Chat Completions, the schema among them."""
        return {**self.options, **({"response_format": self.response_format} if self.schema else {})}

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The chat as a client of Chat Completions sends it."""
        content: Any = self.message
        if self.has_picture:
            content = [{"type": "text", "text": self.message}, {"type": "image_url", "image_url": {"url": PICTURE}}]
        return [*({"role": role, "content": text} for role, text in self.history), {"role": "user", "content": content}]

    def lines(self, model: str) -> str:
        """The profile's document."""
        provider, name = MODELS[model]
        own = f'model = "{name}"\nprovider = "{provider}"\nseed = 7\nnow = "{NOW}"\n'
        return (self.profile or CARD) + own + WINDOW * ("context_window" not in self.profile)


def _png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + b"\x20\x40\x80" * 8 for _ in range(8)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


PICTURE: Final = "data:image/png;base64," + b64encode(_png()).decode()
CARD: Final = 'character = "wenna.png"\npersona = "ansel.persona.json"\n'
WINDOW: Final = "context_window = 8192\nreserve = 200\n"
TIDE: Final = {
    "type": "object",
    "properties": {"harbour": {"type": "string"}},
    "required": ["harbour"],
    "additionalProperties": False,
}
TOOL: Final = {"type": "function", "function": {"name": "tide", "description": "When it turns.", "parameters": TIDE}}
CHAT: Final = (
    ("assistant", "*The door opens.* Come in."),
    ("user", "The skipper did not like the fog."),
    ("assistant", "Then he is in a good mood."),
)
LONG: Final = tuple(
    (("assistant", "user")[number % 2], f"Line {number} of a long evening: " + "fog over the reef, " * 12)
    for number in range(41)
)
FLAT: Final = {
    "name": "Odo",
    "description": "{{char}} counts spoons with {{user}}.",
    "personality": "calm",
    "scenario": "A kitchen.",
    "first_mes": "Eleven.",
    "mes_example": "<START>\n{{user}}: How many?\n{{char}}: Eleven.",
}

CASES: Final[Mapping[str, Case]] = {
    "card": Case(),
    "flat-card": Case(files=("odo.json",), content={"odo.json": FLAT}, profile='character = "odo.json"\n'),
    "group": Case(
        files=("wenna.png", "tobin.json", "ansel.persona.json"),
        profile='character = ["wenna.png", "tobin.json"]\npersona = "ansel.persona.json"\n',
    ),
    "lorebook": Case(
        files=("wenna.png", "ansel.persona.json", "larks.lorebook.json"),
        profile=CARD + 'lorebooks = ["larks.lorebook.json"]\n',
        history=CHAT,
    ),
    "preset": Case(
        files=("wenna.png", "ansel.persona.json", "skerrow.preset.json"),
        profile=CARD + 'preset = "skerrow.preset.json"\n',
    ),
    "text": Case(
        files=("wenna.png", "ansel.persona.json", "plain.context.json", "plain.instruct.json"),
        profile=CARD + 'preset = ["plain.context.json", "plain.instruct.json"]\ndialect = "text"\n',
    ),
    "options": Case(options={"temperature": 0.4, "max_tokens": 90, "stop": ["\nAnsel:"]}),
    "tools": Case(tools=(TOOL,)),
    "picture": Case(has_picture=True),
    "schema": Case(schema=TIDE),
    "memory": Case(
        profile=CARD + 'authors_note = "Wenna remembers the wreck."\nvariables = {local = {asked = "twice"}}\n',
        message="{{getvar::asked}}: is the reef safe at {{time}}, {{random::now::later}}?",
    ),
    "words": Case(message="Zwölf 🙂\n\n  \u202eabc\u200b <|im_end|> {{char}}\t"),
    "smart": Case(profile=CARD + 'tavern = "smart"\n'),
    "long": Case(profile=CARD + "context_window = 2048\nreserve = 200\n", history=LONG),
}


# --------------------------------------------------------------------------------------------------------------- what is seen


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a door sent, and what it says: fingerprint, tokens (used, reserved, window), price; None where it says nothing."""

    body: Any = None
    fingerprint: str | None = None
    tokens: tuple[int, int, int | None] | None = None
    price: float | None = None
    notes: tuple[str, ...] = ()
    refusal: str = ""

    def differs_from(self, other: Seen) -> frozenset[str]:
        """In what it differs from what was seen elsewhere; a price only where both say one."""
        aspects = [name for name in ("body", "fingerprint", "tokens") if getattr(self, name) != getattr(other, name)]
        return frozenset(aspects + ["price"] * (self.price not in (None, other.price)))


class House:
    """A service with a profile for each case and model, the terminal, and one provider that all of them reach."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sent: list[httpx.Request] = []
        self.costs: list[float] = []
        self.client: TestClient

    def profile(self, case: str, model: str) -> Path:
        """The folder of a profile."""
        return self.folder / "profiles" / f"{case}-{model}"

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Answer as the provider of this address does, in its own protocol."""
        self.sent.append(request)
        wire = next(WIRES[route.adapter] for route in map(route_of, MODELS) if request.url.host in route.base_url)
        streams = json.loads(request.content).get("stream") or "stream" in request.url.path
        content = wire.stream(SAID) if streams else wire.whole(SAID)
        headers = {"content-type": wire.kind if streams else "application/json"}
        return httpx.Response(200, headers=headers, content=content)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The reply to a body; a problem of the caller's is `RefusedError`."""
        reply = self.client.post(path, json=body)
        if reply.status_code != 200:
            raise RefusedError(f"{reply.status_code} {reply.text}")
        return reply

    def body(self, at: int = -1) -> Any:
        """What the provider was sent, last or then, without what says that the answer streams."""
        body = json.loads(self.sent[at].content)
        return {name: value for name, value in body.items() if name not in ("stream", "stream_options")}


def route_of(model: str) -> Route:
    """The route of a model."""
    return Route.of(model, ":".join(MODELS[model]))


@contextmanager
def opened_house(folder: Path) -> Iterator[House]:
    """The house, while the block lasts."""
    house = House(folder)
    for name, case in CASES.items():
        for model in MODELS:
            path = house.profile(name, model)
            path.mkdir(parents=True)
            for file in case.files:
                content = case.content.get(file)
                data = (EXAMPLES / file).read_bytes() if content is None else json.dumps(content).encode()
                (path / file).write_bytes(data)
            (path / "profile.toml").write_text(case.lines(model), "utf-8")

    class Costs(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            call = getattr(record, "call", {})
            if call.get("model"):
                house.costs.append(call.get("cost", 0.0))

    transport = httpx.MockTransport(house.answer)
    logger, handler = logging.getLogger("innkeeper.service"), Costs()
    with pytest.MonkeyPatch.context() as patch:
        for module in (model_clients, llm_factory):
            patch.setattr(module, "client_options", lambda given: {**client_options(given), "transport": transport})
        patch.setenv("INNKEEPER_API_KEY", "sk-lantern-0123456789")
        patch.setenv("INNKEEPER_LOGGING", "on")
        patch.setenv("INNKEEPER_HOME", str(folder / "home"))
        logger.addHandler(handler)
        level = logger.level
        logger.setLevel(logging.INFO)
        settings = Settings(
            profiles=(folder / "profiles",),
            database=str(folder / "library.db"),
            workers=1,
            prices=PRICES,
            grpc_port=None,
        )
        models = RouteModels(Routes.read(tuple(f"{model}={':'.join(MODELS[model])}" for model in MODELS)))
        try:
            with TestClient(create_app(settings, models=models), base_url="http://127.0.0.1") as client:
                house.client = client
                yield house
        finally:
            logger.setLevel(level)
            logger.removeHandler(handler)


def _tokens(plan: Plan) -> tuple[int, int, int | None]:
    figures = accounting(plan)
    return figures.total, figures.reserve, figures.window


# ------------------------------------------------------------------------------------------------------------------ the doors


Door = Callable[[House, str, str], Seen]
"""Asks the request of a case of a model, and returns what was seen."""


def python(house: House, name: str, model: str) -> Seen:
    """A program: `open_profile`, `profile_turn`, and a client of the route."""
    case, route = CASES[name], route_of(model)
    profile = open_profile(house.profile(name, model))
    turn = TurnInput.of(
        case.messages,
        options=case.asked,
        tools=case.tools,
        model=route.model,
        dialect=profile.profile.dialect or route.dialect,
    )
    built = profile_turn(profile, turn)
    request = ModelRequest.of(ADAPTERS[route.adapter], built.body.body, model=route.model)
    with model_clients.RouteClient(route) as client:
        response = model_clients.answered(client.events(request), route.model, lambda _: None)
    assert response.usage is not None
    price = cost_of(model, response.usage, read_prices(PRICES))
    return Seen(body=house.body(), fingerprint=built.plan.fingerprint(), tokens=_tokens(built.plan), price=price)


def _command_words(house: House, name: str, model: str) -> list[str]:
    """The words of a command line that build the request of a case."""
    case = CASES[name]
    if case.has_picture:
        raise RefusedError("a command's message is a text; a picture comes in a chat")
    words = ["--profile", str(house.profile(name, model))]
    words += [f"--set=options.{option}={json.dumps(value)}" for option, value in case.asked.items()]
    return words + ([f"--set=tools={json.dumps(case.tools)}"] if case.tools else [])


def _chat_file(house: House, name: str) -> list[str]:
    """The option that names a chat's file."""
    if not CASES[name].history:
        return []
    path = house.folder / f"{name}.chat.jsonl"
    lines: list[dict[str, Any]] = [{"user_name": "Ansel", "character_name": "Wenna Carrow"}]
    speakers = {"user": "Ansel", "assistant": "Wenna Carrow"}
    lines += [
        {"name": speakers[role], "is_user": role == "user", "mes": text, "send_date": NOW}
        for role, text in CASES[name].history
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return ["--chat", str(path)]


def _run(words: list[str], typed: str = "") -> str:
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
        code = main(words)
    if code != 0:
        raise RefusedError(err.getvalue())
    return out.getvalue()


def build_command(house: House, name: str, model: str) -> Seen:
    """``innkeeper build``: the body of the model's dialect, and what ``--json`` says of the prompt."""
    words = ["build", *_command_words(house, name, model), *_chat_file(house, name), "--message", CASES[name].message]
    facts = json.loads(_run([*words, "--json"]))
    dialect = "text" if name == "text" else route_of(model).dialect
    body, figures = json.loads(_run([*words, "--dialect", dialect])), facts["tokens"]
    tokens = figures["total"], figures["reserve"], figures["window"]
    return Seen(body=body, fingerprint=facts["fingerprint"], tokens=tokens, notes=tuple(map(str, facts["notes"])))


def ask_command(house: House, name: str, model: str) -> Seen:
    """``innkeeper ask``, or ``innkeeper chat`` where a chat goes on: the log has the plan."""
    from innkeeper.cli.talk.log import TalkLog

    case, words, chat = CASES[name], _command_words(house, name, model), _chat_file(house, name)
    before, log = len(house.sent), TalkLog()
    if chat:
        _run(["chat", *words, *chat], f"{case.message}\n")
    else:
        _run(["ask", *words, case.message])
    first = log.lines(log.line().chat)[0]  # in a group others answer, too
    plan = replay(log.bundle(first.id))
    return Seen(
        body=house.body(before), fingerprint=plan.fingerprint(), tokens=_tokens(plan), notes=tuple(map(str, plan.notes))
    )


def chat(house: House, name: str, model: str) -> Seen:
    """`innkeeper.Chat`, over the request of the profile."""
    case, file = CASES[name], _chat_file(house, name)
    if case.has_picture:
        raise RefusedError("a chat's message is a text; a picture comes in what was said before")
    profile = open_profile(house.profile(name, model))
    base = profile.request
    request = base.with_(options={**base.options, **case.asked}, tools=case.tools or base.tools)
    store, greeting = file[1] if file else None, profile.profile.greeting_number
    with Chat(request=request, model=route_of(model), store=store, greeting=greeting) as talk:
        talk.send(case.message).text()
        assert talk.last is not None
        plan = talk.last.plan
    return Seen(
        body=house.body(), fingerprint=plan.fingerprint(), tokens=_tokens(plan), notes=tuple(map(str, plan.notes))
    )


def _served(house: House, reply: Any, plan: str) -> Seen:
    """What a reply of a profile leads to: its plan, and the cost in the service's log."""
    facts = house.client.get(plan).json()
    notes = (*filter(None, (reply.headers.get("x-innkeeper-notes"),)), *map(str, facts["notes"]))
    return Seen(
        body=house.body(),
        fingerprint=facts["fingerprint"],
        tokens=_summed(facts["tokens"]),
        price=house.costs[-1],
        notes=notes,
    )


def _summed(tokens: Mapping[str, Any]) -> tuple[int, int, int | None]:
    return tokens["used"], tokens["reserved"], tokens["window"]


def completions(house: House, name: str, model: str) -> Seen:
    """``POST /v1/chat/completions``."""
    case = CASES[name]
    body: dict[str, Any] = {"model": f"{name}-{model}", "messages": case.messages, **case.asked}
    reply = house.post("/v1/chat/completions", body | ({"tools": list(case.tools)} if case.tools else {}))
    return _served(house, reply, reply.headers["x-innkeeper-plan"])


def responses(house: House, name: str, model: str) -> Seen:
    """``POST /v1/responses``."""
    case = CASES[name]
    names = {"max_tokens": "max_output_tokens"}
    body: dict[str, Any] = {"model": f"{name}-{model}", "input": case.messages}
    body |= {names.get(option, option): value for option, value in case.options.items()}
    if case.has_picture:
        parts = [{"type": "input_text", "text": case.message}, {"type": "input_image", "image_url": PICTURE}]
        body["input"] = [{"role": "user", "content": parts}]
    if case.schema is not None:
        body["text"] = {"format": {"type": "json_schema", "name": "reply", "schema": case.schema, "strict": True}}
    if case.tools:
        body["tools"] = [{"type": "function", **tool["function"]} for tool in case.tools]
    reply = house.post("/v1/responses", body)
    return _served(house, reply, reply.headers["x-innkeeper-plan"])


def messages(house: House, name: str, model: str) -> Seen:
    """``POST /v1/messages``. The protocol wants the longest answer said: it is what the profile reserves."""
    case = CASES[name]
    body: dict[str, Any] = {"model": f"{name}-{model}", "messages": case.messages, "max_tokens": 200}
    names = {"stop": "stop_sequences"}
    body |= {names.get(option, option): value for option, value in case.options.items()}
    if case.has_picture:
        source = {"type": "base64", "media_type": "image/png", "data": PICTURE.partition(",")[2]}
        parts = [{"type": "text", "text": case.message}, {"type": "image", "source": source}]
        body["messages"] = [{"role": "user", "content": parts}]
    if case.schema is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": case.schema}}
    if case.tools:
        tools = [tool["function"] for tool in case.tools]
        body["tools"] = [
            {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}
            for tool in tools
        ]
    reply = house.post("/v1/messages", body)
    return _served(house, reply, reply.headers["x-innkeeper-plan"])


def roleplay(house: House, name: str, model: str) -> Seen:
    """``POST /v1/roleplay``: the conversation is the service's own."""
    case = CASES[name]
    if case.history:
        raise RefusedError("the turns before this one are those that the service has stored")
    if case.has_picture:
        raise RefusedError("a turn's message is a text")
    body: dict[str, Any] = {"message": case.message, "profile": f"{name}-{model}", **case.asked}
    reply = house.post("/v1/roleplay", body | ({"tools": list(case.tools)} if case.tools else {}))
    return _served(house, reply, reply.json()["plan"])


def connect(house: House, name: str, model: str) -> Seen:
    """``PromptService/Run``: a tool of the library, never a profile."""
    house.post("/prompt.v1.PromptService/Run", {"tool_name": f"{name}-{model}", "input": CASES[name].message})
    return Seen(body=house.body())


def connect_prompt(house: House, name: str, model: str) -> Seen:
    """The prompt of a program, and its options, as the input of a tool that is asked over Connect."""
    case, (provider, model_name) = CASES[name], MODELS[model]
    profile = open_profile(house.profile(name, model))
    route = route_of(model)
    turn = TurnInput.of(case.messages, options=case.asked, tools=case.tools, model=route.model, dialect=route.dialect)
    plan = profile_turn(profile, turn).plan
    with Database.open(house.folder / "library.db") as db:
        if provider not in {row.name for row in ProviderStore(db).list()}:
            ProviderStore(db).put({"name": provider})
        tool = {"name": f"tool-{name}-{model}", "provider": provider, "model": model_name}
        ToolStore(db).put({**tool, "settings": {**plan.options, **answer_limit(plan)}})
    asked = {"tool_name": tool["name"], "input": plan.to_messages("openai"), "tools": list(case.tools)}
    house.post("/prompt.v1.PromptService/Run", asked)
    return Seen(body=house.body(), price=house.costs[-1])


def preview(house: House, name: str, model: str) -> Seen:
    """``POST /v1/prompts/build``: the prompt that would be sent."""
    case = CASES[name]
    asked = {"profile": f"{name}-{model}", "messages": case.messages, "options": case.asked, "tools": list(case.tools)}
    facts = house.post("/v1/prompts/build", asked).json()
    return Seen(
        body=facts["body"],
        fingerprint=facts["fingerprint"],
        tokens=_summed(facts["tokens"]),
        notes=tuple(map(str, facts["notes"])),
    )


def page(house: House, name: str, model: str) -> Seen:
    """The calls of the inspector's page: a talk, and the request that a provider gets."""
    case, folder = CASES[name], house.profile(name, model)
    if case.has_picture:
        raise RefusedError("what is typed on the page is a text")
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    if chat := _chat_file(house, name):
        files["evening.jsonl"] = Path(chat[1]).read_bytes()
    if case.asked or case.tools:
        files["own.request.json"] = BuildRequest.of({"options": case.asked, "tools": case.tools}).to_json()
    talk = InspectorTalk(RouteModels(Routes(route_of(model))), model)
    with Browser(Inspector(session_of(files, settings={"now": NOW}), Access(), talk)) as browser:
        reply = browser.post("/v1/inspector/talk", json={"message": case.message})
        if reply.status_code != 200:
            raise RefusedError(reply.text)
        end = next(line for line in reply.text.splitlines() if line.startswith('data: {"message"'))
    inspection = json.loads(end.removeprefix("data: "))["plan"]
    figures = inspection["tokens"]
    return Seen(
        body=house.body(),
        fingerprint=inspection["fingerprint"],
        tokens=_summed(figures),
    )


DOORS: Final[Mapping[str, Door]] = {
    "build": build_command,
    "ask": ask_command,
    "chat": chat,
    "completions": completions,
    "responses": responses,
    "messages": messages,
    "roleplay": roleplay,
    "connect": connect,
    "preview": preview,
    "page": page,
}
"""The doors that are compared with a program's."""
