"""Memory: the summary of a chat, which SillyTavern stores with a message, and whether a new one is due (`sillytavern.md` E2).

The summary that counts is the newest one that is kept with any message but the last; it goes into the prompt as the injection
``1_memory``. A summary that is due is not made here: what would be asked of a model is said, for the application to do.

Called by the step ``hooks``, before the lore scan, which may read the summary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Any, Final

import msgspec

from innkeeper.prompt.run.extensions import Injection
from innkeeper.taverns.silly.extensions.injections import filled, injection_of
from innkeeper.taverns.silly.lines.line import Line
from innkeeper.text.javascript.values import strip

SUMMARY_KEY: Final = "1_memory"
"""The summary's key among injections."""


class SummaryBuilder(IntEnum):
    """How a summary is requested; the numbers are SillyTavern's."""

    CHAT = 0
    """As a quiet generation of the chat itself."""
    RAW_BLOCKING = 1
    """With a prompt of its own, made of the messages since the last one."""
    RAW = 2
    """The same; the page can be used meanwhile."""


class MemorySettings(msgspec.Struct, frozen=True, kw_only=True):
    """SillyTavern's ``extension_settings.memory``, under its own names. Words, messages and tokens are counts; 0 is no limit."""

    source: str = "extras"
    template: str = "[Summary: {{summary}}]"
    position: int = 0
    depth: int = 2
    role: int = 0
    scan: bool = False
    memoryFrozen: bool = False  # noqa: N815 - their names
    SkipWIAN: bool = False
    prompt: str = "Write down what has happened in this chat so far, in {{words}} words or fewer, and nothing else."
    promptWords: int = 200  # noqa: N815
    promptInterval: int = 10  # noqa: N815
    promptForceWords: int = 0  # noqa: N815
    prompt_builder: int = SummaryBuilder.CHAT
    maxMessagesPerRequest: int = 0  # noqa: N815
    overrideResponseLength: int = 0  # noqa: N815


_WORDS: Final = re.compile(r"\{\{words\}\}", re.IGNORECASE)
_WORD: Final = re.compile(r"\w+")
_MAKES_ITS_OWN: Final = ("main", "webllm")
"""Sources that ask a model of the user's; the default, ``extras``, is a server that hardly anybody runs."""


def summary_injection(settings: MemorySettings, lines: Sequence[Line]) -> Injection | None:
    """The summary as an injection; ``None`` without one. ``lines`` is the whole chat, hidden lines too."""
    summary = next((strip(line.memory) for line in reversed(lines[:-1]) if line.memory), "")
    template = settings.template if strip(settings.template) else "Summary: {{summary}}"
    return injection_of(
        SUMMARY_KEY,
        filled(template, "summary", summary),
        position=settings.position,
        depth=settings.depth,
        role=settings.role,
        scan=settings.scan,
    )


def due(settings: MemorySettings, lines: Sequence[Line]) -> tuple[int, int] | None:
    """Messages and words since the last summary if a new one is due, else ``None``. ``lines`` is the whole chat."""
    interval = settings.promptInterval
    if settings.source not in _MAKES_ITS_OWN or settings.memoryFrozen or not interval or len(lines) < interval:
        return None
    messages = words = 0
    for line in reversed(lines):
        if line.memory:
            break
        messages += 1
        words += len(_WORD.findall(line.text)) if settings.promptForceWords else 0
    forced = 0 < settings.promptForceWords <= words
    return (messages, words) if messages >= interval or forced else None


class SummaryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a model would be asked for a summary, and with which message (``store_at``) the answer is kept as ``extra.memory``.

    ``quiet_prompt`` is for a quiet generation of the chat; where it is empty ``messages`` are the whole prompt.
    ``max_tokens`` is 0 where the preset's length of replies holds.
    """

    store_at: int
    quiet_prompt: str = ""
    skip_wian: bool = False
    messages: tuple[tuple[str, str], ...] = ()
    max_tokens: int = 0

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; messages as ``{role, content}``."""
        messages = tuple({"role": role, "content": content} for role, content in self.messages)
        return {name: getattr(self, name) for name in self.__struct_fields__} | {"messages": messages}


LEAST: Final = 2
"""The fewest messages of a chat with a summary, which is stored with the last but one."""


def summary_request(
    settings: MemorySettings, lines: Sequence[Line], expand: Callable[[str], str], fits: Callable[[str], bool]
) -> SummaryRequest | None:
    """The request for a summary now; ``None`` if there is nothing to sum up.

    ``expand`` replaces macros, ``fits`` says whether a prompt of this text fits the window.
    """
    prompt = expand(_WORDS.sub(str(settings.promptWords), settings.prompt))
    length = max(settings.overrideResponseLength, 0)
    if settings.prompt_builder not in (SummaryBuilder.RAW, SummaryBuilder.RAW_BLOCKING):
        return (
            None
            if len(lines) < LEAST
            else SummaryRequest(
                store_at=len(lines) - LEAST, quiet_prompt=prompt, skip_wian=settings.SkipWIAN, max_tokens=length
            )
        )
    last = next((index for index in range(len(lines) - 1, -1, -1) if lines[index].memory), -1)
    taken = [lines[last].memory] if last >= 0 else []
    newest = None
    for line in _since(lines, last, settings.maxMessagesPerRequest):
        item = f"{line.name}:\n{line.text}"
        if not fits("\n\n".join((prompt, *taken, item))):
            break
        taken.append(item)
        newest = line.index
    if newest is None:
        return None
    messages = (("system", prompt), ("user", "\n\n".join(taken)))
    return SummaryRequest(store_at=newest, messages=messages, max_tokens=length)


def _since(lines: Sequence[Line], last: int, most: int) -> Iterator[Line]:
    """The lines behind a summary that can be summed up, oldest first: none that is hidden, never the chat's last."""
    length = 0
    for line in lines[last + 1 : -1]:
        if line.hidden or line.tool_calls:
            continue
        length += 1
        if 0 < most < length:
            return
        yield line
