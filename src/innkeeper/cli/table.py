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
        "parity": Entry("innkeeper.cli.parity:parity", "Run golden cases of the originals and show where we differ."),
    }
)
