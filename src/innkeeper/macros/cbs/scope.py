"""Scope: all that an expansion of CBS reads. Nothing else decides what comes out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Any, Final

import msgspec

from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.determinism import EPOCH, Clock, Mulberry32, RandomStream
from innkeeper.text.javascript.values import text_of

NO_VALUE: Final = "null"
"""What a variable without a value reads as."""


class CbsCompat(msgspec.Struct, frozen=True, kw_only=True):
    """The behaviour of one version of RisuAI. The defaults are those of the later versions."""

    name: str = "later"
    version: str = "later"
    """What ``{{metadata::version}}`` prints where the scope has none."""
    ordered_comparisons: bool = True
    """``#when::5::>::3`` asks whether 5 is above 3; 166.3.3 asks whether 3 is above 5."""
    whitespace_modes: bool = True
    """``#when::keep::…`` and ``#when::legacy::…`` test the condition behind them; in 166.3.3 they are false."""
    each_as: bool = True
    """``#each list as x`` cuts at the last `` as ``; a header of one word makes nothing."""
    json_items: bool = True
    """``#each`` writes items that are no text as JSON; 166.3.3 as JavaScript prints them."""
    block_keep: bool = True
    """``#each::keep`` and ``#escape::keep`` leave white space as it is; 166.3.3 does not know them."""
    else_in_pure: bool = True
    """``{{:else}}`` inside a block that is not evaluated is text; in 166.3.3 it shifts the closers behind it."""
    erasers: bool = True
    """``bkspc`` and ``erase`` exist."""


LATER: Final = CbsCompat()
_FORMER: Final = msgspec.structs.replace(
    LATER, name="166.3.3", version="166.3.3", ordered_comparisons=False, erasers=False
)
RISU_166: Final = msgspec.structs.replace(
    _FORMER, whitespace_modes=False, each_as=False, json_items=False, block_keep=False, else_in_pure=False
)

PROFILES: Final[Mapping[str, CbsCompat]] = {compat.name: compat for compat in (LATER, RISU_166)}
"""The profiles by name."""


class CbsScope(msgspec.Struct, frozen=True, kw_only=True):
    """What one expansion reads. ``chat_index`` is the index of its message, or -1."""

    char: str = ""
    """The character's nickname or name; in groups the speaker's."""
    user: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    example_messages: str = ""
    persona: str = ""
    main_prompt: str = ""
    jailbreak: str = ""
    global_note: str = ""
    greeting: str = ""
    """The greeting in use, not expanded."""
    greeting_index: int = -1
    """-1 for the first message, else the index of an alternate greeting."""
    lorebook: Callable[[], Sequence[Mapping[str, Any]]] = tuple
    """Gives the entries of character, chat and modules, as they are stored."""
    messages: Sequence[Mapping[str, Any]] = ()
    """The chat's messages as they are stored: ``role`` (user, char), ``data``, ``time`` in milliseconds."""
    character_id: str = ""
    chat_id: str = ""
    variables: Mapping[str, Any] = EMPTY
    """The chat's variables, without the ``$`` before their names."""
    defaults: Mapping[str, str] = EMPTY
    """Values of variables that the chat lacks (`default_variables`)."""
    global_variables: Mapping[str, Any] = EMPTY
    """The application's variables; a toggle KEY is ``toggle_KEY``."""
    chat_index: int = -1
    role: str | None = None
    chat_role: str | None = None
    is_first_message: bool = False
    run_variables: bool = False
    """Variables are written; else the tags that write them stay."""
    drop_variables: bool = False
    """Tags that write variables are removed."""
    counting: bool = False
    """The text is only counted: times and draws have fixed values."""
    generic_names: bool = False
    """Names read ``botname`` and ``username``."""
    display: bool = False
    """The text is shown on a screen."""
    model: str = ""
    sub_model: str = ""
    jailbreak_on: bool = False
    max_context: int = 4000
    emotions: Sequence[str] = ()
    assets: Sequence[str] = ()
    display_assets: Sequence[str] = ()
    modules: Mapping[str, Sequence[str]] = EMPTY
    """The enabled modules' namespaces, and the names of each one's assets."""
    metadata: Mapping[str, str] = EMPTY
    """Answers of ``{{metadata::key}}``, by the key in small letters."""
    screen: tuple[int, int] = (1280, 720)
    trigger_id: str | None = None
    clock: Clock = Clock(EPOCH)
    zone: tzinfo = UTC
    random: RandomStream = msgspec.field(default_factory=lambda: Mulberry32(0))
    compat: CbsCompat = LATER

    def variable(self, name: str) -> str:
        """The text of a chat variable: the chat's, else the default's, else ``null``."""
        value = self.variables.get(name)
        return self.defaults.get(name, NO_VALUE) if value is None else text_of(value)

    def global_variable(self, name: str) -> str:
        """The text of an application's variable, else ``null``."""
        value = self.global_variables.get(name)
        return NO_VALUE if value is None else text_of(value)

    def message(self, index: float) -> Mapping[str, Any] | None:
        """The message of this index, if there is one."""
        return self.messages[int(index)] if 0 <= index < len(self.messages) and index == int(index) else None


def data_of(message: Mapping[str, Any]) -> str:
    """The text of a message."""
    data = message.get("data", "")
    return data if isinstance(data, str) else text_of(data)


def time_of(message: Mapping[str, Any]) -> float:
    """When a message was written, in milliseconds; 0 where that is not known."""
    time = message.get("time")
    return time if isinstance(time, int | float) and math.isfinite(time) else 0


def default_variables(*texts: str) -> Mapping[str, str]:
    r"""Read ``name=value`` lines. The first value of a name counts, a later text's only where an earlier one has none.

    >>> default_variables("hp=30", "hp=1\ngold=2=3")
    {'hp': '30', 'gold': '2'}
    """
    defaults: dict[str, str] = {}
    for name, value in (pair for text in texts for pair in key_values(text)):
        defaults.setdefault(name, value)
    return defaults


def key_values(text: str) -> list[tuple[str, str]]:
    """The ``name=value`` lines of a text; lines without a name or a value are left out."""
    pairs = [[*line.split("="), ""] for line in text.split("\n")]
    return [(name, value) for name, value, *_ in pairs if name and value]
