"""A user's program: it only has to type-check, and to run. What must not type-check has its error on the line."""

from __future__ import annotations

import asyncio
from pathlib import Path

from innkeeper import (
    AsyncClient,
    AsyncPromptRunner,
    BuildRequest,
    Chat,
    Client,
    Message,
    Plan,
    PromptRunner,
    RunnerConfig,
)
from innkeeper.content import Character, ChatLog, Lorebook, load_character, load_chat, load_lorebook
from innkeeper.inference import EchoServer, FakeClient, PromptResult
from innkeeper.operations import CHAT, EVALUATE, EvaluateTier, TakeTurn
from innkeeper.prompt import InnkeeperError, NoteKind, UsageError
from innkeeper.taverns import TAVERNS, silly, smart, template, vibe
from innkeeper.taverns.keywords import BuildInputs

EXAMPLES = Path(__file__).parents[2] / "examples"


def turn(card: Character, chat: ChatLog, books: list[Lorebook]) -> Plan:
    """A prompt, by keywords of many types."""
    return silly.build(
        character=card,
        history=chat,
        lorebooks=books,
        user={"name": "Ansel"},
        message="Is the reef safe?",
        model="gpt-4o",
        context_window=8192,
        options={"temperature": 0.7},
        now="2026-01-15T18:00:00Z",
        seed=7,
        warning_handler=lambda note: print(note.kind is NoteKind.WARNING),  # noqa: T201 - a program of a user
    )


def same_for_each(inputs: BuildInputs) -> dict[str, Plan]:
    """Inputs that were collected elsewhere, in each tavern."""
    return {
        "vibe": vibe.build(**inputs),
        "silly": silly.build(**inputs),
        "smart": smart.build(**inputs),
        "template": template.build(**inputs),
        "by name": TAVERNS["vibe"].build(BuildRequest(seed=1), **inputs),
    }


def mistakes() -> list[str]:
    """What a type checker finds before the program runs; at run time it is an error that names it."""
    hints: list[str] = []
    try:
        silly.build(histroy=[])  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    except UsageError as error:
        hints.append(error.hint or "")
    try:
        silly.build(context_window="many")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    except InnkeeperError as error:
        hints.append(error.message)
    return hints


def ask(base_url: str) -> PromptResult:
    """An answer."""
    config = RunnerConfig.build(provider="openai", model="gpt-4o")
    with Client(base_url) as client:
        runner = PromptRunner(client)
        return runner.perform(runner.build_request(config, [Message("user", "Hello.")]))


async def ask_async(base_url: str) -> PromptResult:
    """The same in an event loop."""
    config = RunnerConfig.build(provider="openai", model="gpt-4o")
    async with AsyncClient(base_url) as client:
        runner = AsyncPromptRunner(client)
        return await runner.perform(await runner.build_request(config, message="Hello."))


async def talk(card: Character) -> list[str]:
    """A chat with a character: the pieces of a reply, a whole one, and what a keyword that there is not gets."""
    chat = Chat(card, persona={"name": "Ansel"}, model=FakeClient("It is.", "It is not.", "Perhaps."))
    pieces = [piece async for piece in chat.send("Is the reef safe?")]
    reply: str = await chat.swipe()
    speaker = "" if chat.last is None else chat.last.speaker
    try:
        Chat(card, lorebook=[])  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    except UsageError as error:
        return [*pieces, reply, speaker, error.message]
    return []


def ask_service(base_url: str) -> tuple[bool, str]:
    """Replies of a service's operations have their types; a request of another operation has not the right one."""
    with Client(base_url) as client:
        passed: bool = client.call(EVALUATE, EvaluateTier(text="a fox"))["passed"]
        response: str = client.call(CHAT, TakeTurn(message="Hello."))["response"]
        client.call(EVALUATE, TakeTurn())  # type: ignore[misc] # pyright: ignore[reportArgumentType]
    return passed, response


def main() -> list[str]:
    """Everything above, on the examples."""
    card = load_character(EXAMPLES / "wenna.png")
    chat = load_chat(EXAMPLES / "wenna.chat.jsonl")
    plan = turn(card, chat, [load_lorebook(EXAMPLES / "larks.lorebook.json")])
    said: list[str] = [block.source or "" for block in plan.blocks][:1]
    said += [plan.messages[-1].role for plan in same_for_each({"message": "Hello.", "seed": 2}).values()]
    said += mistakes()
    with EchoServer("It is late.") as server:
        said += [ask(server.base_url).content, asyncio.run(ask_async(server.base_url)).content]
    said += asyncio.run(talk(card))
    said.append(PromptRunner(FakeClient("Good.")).client.__class__.__name__)
    return said


if __name__ == "__main__":
    main()
