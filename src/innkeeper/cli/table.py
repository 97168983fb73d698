"""Every command of `innkeeper`: its name, where it lives and its line in the help.

To add a command, write its module and add one entry here. Help texts stand in the table, so that listing the commands
imports none of them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

__all__ = ["COMMANDS", "Entry"]


class Entry(NamedTuple):
    """One command: ``target`` is ``module:attribute`` of a click command or group, ``help`` one short sentence."""

    target: str
    help: str


COMMANDS: Final[Mapping[str, Entry]] = MappingProxyType(
    {
        # name: Entry("innkeeper.cli.name:name", "What it does, in a line."), sorted by name.
        "build": Entry(
            "innkeeper.cli.build:build", "Build a prompt from a card, a chat, lore, and show why it is as it is."
        ),
        "call": Entry("innkeeper.cli.call:call", "Run one operation of the gateway, here or in a running service."),
        "card": Entry("innkeeper.cli.card:card", "Look into character cards, check, convert and compare them."),
        "chat": Entry("innkeeper.cli.chat:chat", "Chat with a card in the terminal."),
        "db": Entry(
            "innkeeper.cli.db:db", "Look after the database of the library: schema, backups, imports, questions."
        ),
        "demo": Entry("innkeeper.cli.demo:demo", "Show a whole turn: a card, its prompt, the answer of a local model."),
        "lint": Entry("innkeeper.cli.lint:lint", "Find what in cards, lorebooks and presets can never have an effect."),
        "lore": Entry("innkeeper.cli.lore:lore", "Try lorebooks against a chat, with a reason for every entry."),
        "models": Entry("innkeeper.cli.models:models", "Install and list models that run on this machine."),
        "parity": Entry("innkeeper.cli.parity:parity", "Run golden cases of the originals and show where we differ."),
        "replay": Entry("innkeeper.cli.replay:replay", "Build a recorded prompt again and compare the bytes."),
        "serve": Entry("innkeeper.cli.serve:serve", "Answer HTTP calls of prompt operations."),
        "tokens": Entry("innkeeper.cli.tokens:tokens", "Count the tokens of a text for one model or many."),
    }
)
