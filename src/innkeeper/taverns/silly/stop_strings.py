"""Stop strings of a text prompt, in SillyTavern's order (`sillytavern.md` 62): names, sequences, separators, the user's own."""

from __future__ import annotations

from collections.abc import Iterator

from innkeeper.taverns.silly.inputs import TextSettings
from innkeeper.taverns.silly.instruct import instruct_of
from innkeeper.taverns.silly.own_stop_strings import custom_stop_strings
from innkeeper.taverns.silly.scene import Scene

__all__ = ["stop_strings"]


def stop_strings(scene: Scene, text: TextSettings) -> tuple[str, ...]:
    """All of them, empty ones left out, each once."""
    found = [
        *_line(scene),
        *_names(scene, text),
        *_sequences(scene),
        *_separators(scene, text),
        *custom_stop_strings(scene),
    ]
    return tuple(dict.fromkeys(stop for stop in found if stop))


def _line(scene: Scene) -> Iterator[str]:
    if scene.inputs.power.single_line:
        yield "\n"


def _names(scene: Scene, text: TextSettings) -> Iterator[str]:
    """The names of those who must not speak; first of the one who is next by nature."""
    if not text.context.names_as_stop_strings:
        return
    user, char, group = scene.inputs.user, scene.inputs.char, scene.inputs.group
    newest = scene.all_lines[-1] if scene.all_lines else None
    names = [char if scene.type == "impersonate" else user, user]
    if scene.type == "continue" and newest is not None and newest.is_user:
        names.append(char)
    names += [name for name in (group.names if group else ()) if name != char]
    yield from (f"\n{name}:" for name in names)


def _sequences(scene: Scene) -> list[str]:
    instruct = instruct_of(scene)
    return instruct.stops() if instruct is not None else []


def _separators(scene: Scene, text: TextSettings) -> Iterator[str]:
    if text.context.use_stop_strings:
        for separator in (text.context.chat_start, text.context.example_separator):
            if separator:
                yield "\n" + scene.expand(separator)
