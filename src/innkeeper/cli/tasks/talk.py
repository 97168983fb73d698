"""``innkeeper playground-chat``, ``roleplay-chat`` and ``character-suggestions``: conversations and characters of the library."""

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
    """What both chats take."""
    for option in (
        click.option(
            "--message-id", metavar="ID", help="Your own id of the turn: asked for again, it is answered once."
        ),
        click.option("--model", help="The model that answers: its key in the catalogue."),
        click.option("--intent", help="What is wanted instead of a reply: scene, scene_narrative ..."),
        click.option(
            "--memory-tier", type=click.Choice(["conversation", "character", "profile"]), help="How far it remembers."
        ),
        click.option(
            "--remember", multiple=True, metavar="TEXT", help="Something to remember from now on; may be repeated."
        ),
        click.option("--scene", metavar="TEXT", help="Where the story is now."),
        click.option("--continue", "goes_on", is_flag=True, help="Have the character go on."),
        click.option("--kickoff", is_flag=True, help="Have the character speak first."),
        click.option("--persona", metavar="ID", help="The character that you play."),
        click.option(
            "--card", type=click.Path(path_type=Path), help="A character card to speak with; it is stored once."
        ),
        click.option("--character", metavar="ID", help="The character to speak with."),
        click.option("--conversation", metavar="ID", help="The conversation to go on with; a new one where left out."),
    ):
        command = option(command)
    return task_options(command)


@click.command(
    "playground-chat",
    epilog=examples(
        'innkeeper playground-chat "Where is the inn?"',
        'innkeeper playground-chat "And how far is that?" --conversation ID --json',
    ),
)
@click.argument("message", default="")
@_turn_options
def playground_chat(message: str, *, as_json: bool, **options: Any) -> int:
    """Say MESSAGE in a conversation of the library, with or without a character.

    The answer goes to the output; which conversation it is, and why the answer is a makeshift, to the error stream.
    """
    return _chat("playground-chat", message, as_json, options)


@click.command(
    "roleplay-chat",
    epilog=examples(
        "innkeeper roleplay-chat --card mira.png --kickoff",
        'innkeeper roleplay-chat "Hello" --character ID --remember "Tomas is afraid of water"',
        'innkeeper roleplay-chat "Hello" --card mira.json --remote http://127.0.0.1:8050',
    ),
)
@click.argument("message", default="")
@_turn_options
def roleplay_chat(message: str, *, as_json: bool, **options: Any) -> int:
    """Say MESSAGE to a character, with what is remembered and where the story is.

    The answer goes to the output; which conversation it is, and why the answer is a makeshift, to the error stream.
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
    """A card as the columns of a character. Names stand for ``{{char}}`` and ``{{user}}``, once. Raises what loading raises."""
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
        'innkeeper character-suggestions Mira --type traits --description "A ferrywoman"',
        "innkeeper character-suggestions Mira --json",
    ),
)
@click.argument("name", default="")
@click.option(
    "--type",
    "kind",
    type=click.Choice(["traits", "voice", "appearance", "backstory", "voice_examples", "description", "all"]),
    default="all",
    show_default=True,
    help="What is to be suggested.",
)
@click.option("--description", help="What is known of the character.")
@click.option("--trait", "traits", multiple=True, help="A trait that it has; may be repeated.")
@click.option("--model", help="The model that suggests: its key in the catalogue.")
@task_options
def character_suggestions(name: str, *, kind: str, as_json: bool, **options: Any) -> int:
    """Have a model suggest parts of the character NAME, as JSON of a known shape."""
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
    """The suggestions, each under its name; a refusal as it is."""
    suggestions = {key: value for key, value in answer.items() if key.startswith("suggested")}
    parts = [
        f"{key}: {value}" if isinstance(value, str) else "\n- ".join([f"{key}:", *value])
        for key, value in suggestions.items()
    ]
    return "\n".join(parts) or str(answer.get("refusal") or "")
