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
        "cache": Entry("innkeeper.cli.cache:cache", "See what requests are answered from, and build it anew."),
        "call": Entry("innkeeper.cli.call:call", "Run one operation of the gateway, here or in a running service."),
        "card": Entry("innkeeper.cli.card:card", "Look into character cards, check, convert and compare them."),
        "chat": Entry("innkeeper.cli.chat:chat", "Chat with a card in the terminal."),
        "db": Entry(
            "innkeeper.cli.db:db", "Look after the database of the library: schema, backups, imports, questions."
        ),
        "demo": Entry("innkeeper.cli.demo:demo", "Show a whole turn: a card, its prompt, the answer of a local model."),
        "lint": Entry("innkeeper.cli.lint:lint", "Find what in cards, lorebooks and presets can never have an effect."),
        "logs": Entry("innkeeper.cli.logs:logs", "Read the log of the library: calls, times, percentiles."),
        "lore": Entry("innkeeper.cli.lore:lore", "Try lorebooks against a chat, with a reason for every entry."),
        "model": Entry("innkeeper.cli.model:model", "Keep the catalogue of models that the library answers for."),
        "models": Entry("innkeeper.cli.models:models", "Install and list models that run on this machine."),
        "negative": Entry(
            "innkeeper.cli.negative:negative", "Keep fragments of negative prompts, and see them joined."
        ),
        "parity": Entry("innkeeper.cli.parity:parity", "Run golden cases of the originals and show where we differ."),
        "provider": Entry("innkeeper.cli.provider:provider", "Keep the providers of models."),
        "replay": Entry("innkeeper.cli.replay:replay", "Build a recorded prompt again and compare the bytes."),
        "serve": Entry("innkeeper.cli.serve:serve", "Answer HTTP calls of prompt operations."),
        "template": Entry(
            "innkeeper.cli.template:template", "Keep prompt templates: versions, labels, which answers and why."
        ),
        "tier": Entry("innkeeper.cli.tier:tier", "Decide which audience a text may be served for, and why."),
        "tokens": Entry("innkeeper.cli.tokens:tokens", "Count the tokens of a text for one model or many."),
        "tool": Entry("innkeeper.cli.tool:tool", "Keep the tools that models may call."),
        "vault": Entry("innkeeper.cli.vault:vault", "Keep secrets, encrypted; no command shows one."),
    }
)
