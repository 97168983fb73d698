"""``innkeeper fn playground-chat``, ``roleplay-chat``, ``character-suggestions``: the library's conversations and characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from innkeeper.cli.app.commands import examples
from innkeeper.cli.tasks.calling import called, shown, task_options

F = TypeVar("F", bound=Callable[..., Any])

_NAMES: Final = {
    "conversation": "conversation_id",
    "character": "character_id",
    "persona": "user_character_id",
    "memory_tier": "memory_tier",
    "model": "model_key_override",
    "message_id": "client_msg_id",
    "scene": "scene_context",
    "intent": "intent",
}


def _turn_options(command: F) -> F:
    """Add the options of both chat commands."""
    for option in (
        click.option(
            "--message-id", metavar="ID", help="Your own id of the turn; a repeated request is answered once."
        ),
        click.option("--model", help="The model that answers: its key in the catalogue."),
        click.option("--intent", help="The task instead of a reply: scene, scene_narrative and so on."),
        click.option(
            "--memory-tier", type=click.Choice(["conversation", "character", "profile"]), help="The memory tier."
        ),
        click.option(
            "--remember", multiple=True, metavar="TEXT", help="Something to remember from now on; repeatable."
        ),
        click.option("--scene", metavar="TEXT", help="The current scene of the story."),
        click.option("--continue", "goes_on", is_flag=True, help="Let the character continue."),
        click.option("--kickoff", is_flag=True, help="Let the character speak first."),
        click.option("--persona", metavar="ID", help="The character that you play."),
        click.option("--card", type=click.Path(path_type=Path), help="A character card to talk to; it is stored once."),
        click.option("--character", metavar="ID", help="The character to talk to."),
        click.option("--conversation", metavar="ID", help="The conversation to continue (default: a new one)."),
    ):
        command = option(command)
    return task_options(command)


@click.command(
    "playground-chat",
    epilog=examples(
        'innkeeper fn playground-chat "Where is the inn?"',
        'innkeeper fn playground-chat "And how far is that?" --conversation ID --json',
    ),
)
@click.argument("message", default="")
@_turn_options
def playground_chat(message: str, *, as_json: bool, **options: Any) -> int:
    """Send MESSAGE in a conversation of the library, with or without a character.

    The answer is printed to standard output; the conversation's id and the reasons of a degraded answer to standard error.
    """
    return _chat("playground-chat", message, as_json, options)


@click.command(
    "roleplay-chat",
    epilog=examples(
        "innkeeper fn roleplay-chat --card mira.png --kickoff",
        'innkeeper fn roleplay-chat "Hello" --character ID --remember "Tomas is afraid of water"',
        'innkeeper fn roleplay-chat "Hello" --card mira.json --remote http://127.0.0.1:8050',
    ),
)
@click.argument("message", default="")
@_turn_options
def roleplay_chat(message: str, *, as_json: bool, **options: Any) -> int:
    """Send MESSAGE to a character, with memories and the current scene.

    The answer is printed to standard output; the conversation's id and the reasons of a degraded answer to standard error.
    """
    return _chat("roleplay-chat", message, as_json, options)


def _chat(function: str, message: str, as_json: bool, options: dict[str, Any]) -> int:  # noqa: FBT001 - our own call only
    card, remember = options.pop("card"), list(options.pop("remember"))
    body: dict[str, Any] = {
        "message": message or None,
        "kickoff": options.pop("kickoff") or None,
        "continue": options.pop("goes_on") or None,
        "remember": remember or None,
        "character": None if card is None else card_character(card),
        **{name: options.pop(option) for option, name in _NAMES.items()},
    }
    answer = called(function, body, **options)
    code = shown(answer, answer.get("response"), as_json)
    if not as_json:
        click.echo(f"conversation: {answer.get('conversation_id')}", err=True)
    return code


_MACRO: Final = re.compile(r"\{\{\s*(char|user)\s*\}\}", re.IGNORECASE)
_MARK: Final = re.compile(r"<START>", re.IGNORECASE)


def card_character(path: Path) -> dict[str, Any]:
    """Return a card as the columns of a character, with ``{{char}}`` and ``{{user}}`` replaced. Raises as loading does."""
    from innkeeper.content import load_character

    card = load_character(path)
    names = {"char": card.display_name, "user": "User"}

    def plain(text: str) -> str:
        return _MACRO.sub(lambda match: names[match[1].lower()], text).strip()

    spoken = [
        line for part in _MARK.split(plain(card.mes_example)) for line in part.strip().splitlines() if line.strip()
    ]
    columns = {
        "name": card.display_name,
        "description": plain(card.description),
        "persona": plain(card.personality),
        "backstory": plain(card.scenario),
        "first_message": plain(card.first_mes),
        "voice_examples": spoken,
    }
    return {name: value for name, value in columns.items() if value}


@click.command(
    "character-suggestions",
    epilog=examples(
        'innkeeper fn character-suggestions Mira --type traits --description "A ferrywoman"',
        "innkeeper fn character-suggestions Mira --json",
    ),
)
@click.argument("name", default="")
@click.option(
    "--type",
    "kind",
    type=click.Choice(["traits", "voice", "appearance", "backstory", "voice_examples", "description", "all"]),
    default="all",
    show_default=True,
    help="What to suggest.",
)
@click.option("--description", help="A description of the character.")
@click.option("--trait", "traits", multiple=True, help="A trait of the character; repeatable.")
@click.option("--model", help="The model to ask: its key in the catalogue.")
@task_options
def character_suggestions(name: str, *, kind: str, as_json: bool, **options: Any) -> int:
    """Let a model suggest parts of the character NAME, as JSON with fixed keys."""
    body: dict[str, Any] = {
        "name": name or None,
        "type": kind,
        "description": options.pop("description"),
        "traits": list(options.pop("traits")) or None,
        "modelKey": options.pop("model"),
    }
    answer = called("character-suggestions", body, **options)
    return shown(answer, _listed(answer), as_json)


def _listed(answer: Mapping[str, Any]) -> str:
    """Return the suggestions by name, or the refusal."""
    suggestions = {key: value for key, value in answer.items() if key.startswith("suggested")}
    parts = [
        f"{key}: {value}" if isinstance(value, str) else "\n- ".join([f"{key}:", *value])
        for key, value in suggestions.items()
    ]
    return "\n".join(parts) or str(answer.get("refusal") or "")
