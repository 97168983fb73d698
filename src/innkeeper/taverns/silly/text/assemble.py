"""Step ``plan_assembly`` of text prompts: how the reply is opened, and its options. Leaves `TextAssembly`.

Stop strings are in SillyTavern's order (`sillytavern.md` 62): names, sequences, separators, the user's own. Banned
strings are the lines in quotes of the sampler settings' lists; lines without quotes name tokens of one model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from innkeeper.content.preset import TextPreset
from innkeeper.prompt.frozen import thaw
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.silly.inputs import TextSettings
from innkeeper.taverns.silly.plan_assembly import bias_of, provider_options, resolve_greeting
from innkeeper.taverns.silly.scene import Scene, scene_of
from innkeeper.taverns.silly.settings import custom_stop_strings
from innkeeper.taverns.silly.text.instruct import NOBODY, Instruct, instruct_of
from innkeeper.taverns.silly.text.story import settings_of

__all__ = ["TEXT_ASSEMBLY", "TextAssembly", "banned_strings", "stop_strings"]


class TextAssembly(msgspec.Struct, frozen=True, kw_only=True):
    """What follows the newest line: the quiet prompt, then the reply's opening, each as if on a line of its own.

    ``breaks`` says whether a line break must stand before the opening; ``bias`` ends a plain prompt.
    """

    quiet: str = ""
    opening: str = ""
    breaks: bool = False
    role: str = "assistant"
    bias: str = ""
    drops_break: bool = False

    def after(self, line: str) -> str:
        """The text that follows a line."""
        opening = "\n" if self.breaks and not (line + self.quiet).endswith("\n") else ""
        return self.quiet + opening + self.opening


def run(state: State, _config: NoConfig) -> None:
    """Write the reply's opening; set greeting, stop strings and options."""
    scene = scene_of(state)
    text, instruct = settings_of(scene), instruct_of(scene)
    quiet = scene.inputs.generation.quiet_prompt
    resolve_greeting(state, scene)
    bias = bias_of(scene)
    state.scratch["plan_assembly"] = (
        _plain(scene, quiet, bias) if instruct is None else _instructed(scene, instruct, quiet, bias)
    )
    state.result.stop = stop_strings(scene, text)
    _set_options(state, scene, text)
    state.result.dialect_options["sillytavern"] = provider_options(state, scene)


def _instructed(scene: Scene, instruct: Instruct, quiet: str, bias: str) -> TextAssembly:
    written = instruct.line("system", scene.inputs.user, quiet) if quiet else ""
    if scene.type == "continue":
        return TextAssembly(quiet=written)
    impersonates = scene.type == "impersonate"
    alone = bool(quiet) and not _is_loud(scene) and not impersonates
    name = scene.inputs.user if impersonates else scene.inputs.char
    if alone:
        name = scene.inputs.generation.quiet_name or NOBODY
    asked = bool(quiet) and scene.type == "quiet"
    role = "user" if impersonates else "assistant"
    opening = instruct.reply(role, name, bias, quiet=asked and alone)
    return TextAssembly(quiet=written, opening=opening, breaks=instruct.template.wrap and not asked, role=role)


def _is_loud(scene: Scene) -> bool:
    """Whether the character answers a quiet prompt aloud; never in a group."""
    return scene.inputs.generation.quiet_to_loud and scene.inputs.group is None


def _plain(scene: Scene, quiet: str, bias: str) -> TextAssembly:
    written, drops = f"\n{quiet}" if quiet else "", scene.type != "continue"
    name = "" if quiet and not _is_loud(scene) else _speaker(scene)
    role = "user" if scene.type == "impersonate" else "assistant"
    breaks = bool(name) or (not quiet and _forces_name(scene))
    opening = f"{name}:" if name else ""
    return TextAssembly(quiet=written, opening=opening, breaks=breaks, role=role, bias=bias, drops_break=drops)


def _speaker(scene: Scene) -> str:
    """Whose name opens a plain reply: none where the user's line is continued (`sillytavern.md` 65)."""
    if scene.type == "impersonate":
        return scene.inputs.user
    newest = scene.all_lines[-1] if scene.all_lines else None
    users = scene.type == "continue" and newest is not None and newest.is_user
    return scene.inputs.char if _forces_name(scene) and not users else ""


def _forces_name(scene: Scene) -> bool:
    forced = scene.inputs.power.always_force_name2 is not False or bool(scene.inputs.generation.force_name2)
    return forced and not (scene.type == "continue" and len(scene.all_lines) == 1)


_SAMPLING: Final = (
    "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty",
)  # fmt: skip


def _set_options(state: State, scene: Scene, text: TextSettings) -> None:
    """Sampling settings as request options; the request's own options win."""
    preset = TextPreset.of(thaw(text.textgen))
    found: dict[str, Any] = {name: getattr(preset, name) for name in _SAMPLING if getattr(preset, name) is not None}
    found |= {"max_tokens": text.amount_gen, "banned_strings": banned_strings(scene, text.textgen)}
    for name, value in found.items():
        state.result.options.setdefault(name, value)


TEXT_ASSEMBLY: Final = Step("plan_assembly", run, NoConfig)


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


_LISTS: Final = ("banned_tokens", "global_banned_tokens")
_LEAST: Final = 2


def banned_strings(scene: Scene, textgen: Mapping[str, Any]) -> list[str]:
    """The strings, their macros resolved; none when ``send_banned_tokens`` is off."""
    if textgen.get("send_banned_tokens") is False:
        return []
    text = "\n".join(str(textgen.get(name) or "") for name in _LISTS)
    lines = [line.strip() for line in scene.expand(text).split("\n")]
    quoted = [line[1:-1] for line in lines if len(line) > _LEAST and line.startswith('"') and line.endswith('"')]
    return list(dict.fromkeys(quoted))
