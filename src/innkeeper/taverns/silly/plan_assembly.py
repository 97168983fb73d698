"""Step ``plan_assembly``: what surrounds the history, and the plan's greeting and options. Leaves `Assembly`.

That is control prompts, the message to continue and its nudge, prefill, and the start of the reply that the user
wants.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.prompt.block import Block
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.origin import Origin, OriginAsset
from innkeeper.prompt.pipeline import NoConfig, Step
from innkeeper.prompt.state import State
from innkeeper.taverns.silly.macro_expansion import History
from innkeeper.taverns.silly.room import message_block
from innkeeper.taverns.silly.scene import Scene, scene_of
from innkeeper.taverns.silly.settings import listed

__all__ = [
    "FRAME",
    "PLAN_ASSEMBLY",
    "Assembly",
    "bias_of",
    "custom_stop_strings",
    "provider_options",
    "resolve_greeting",
    "set_options",
]


FRAME: Final = ("new_chat_prompt", "group_nudge_prompt")
"""The sources of what frames the history, which squashing leaves alone."""


class Assembly(msgspec.Struct, frozen=True, kw_only=True):
    """What surrounds the history. ``nudge`` stands behind it, ``control`` at the very end, ``continued`` before that."""

    new_chat: Block
    nudge: Block | None = None
    control: tuple[Block, ...] = ()
    continued: tuple[Block, ...] = ()
    continue_nudge: Block | None = None
    bias: Block | None = None
    prefilled: bool = False
    """Whether ``continued`` is the beginning of the reply: then it stands at the very end, even without a history."""


def run(state: State, _config: NoConfig) -> None:
    """Expand what frames the history and set the plan's greeting and options."""
    scene = scene_of(state)
    history: History = state.made_by("macro_expansion")
    resolve_greeting(state, scene)
    _set_options(state, scene)
    state.result.dialect_options["sillytavern"] = provider_options(state, scene)
    state.scratch["plan_assembly"] = Assembly(
        new_chat=_new_chat(scene),
        nudge=_nudge(scene),
        control=tuple(_control(scene)),
        continued=history.continued,
        continue_nudge=_continue_nudge(scene, history),
        bias=_bias(scene),
        prefilled=scene.inputs.preset.continue_prefill,
    )


def _block(scene: Scene, text: str, source: str, slot: str) -> Block:
    """A text of the preset, its macros resolved."""
    pieces = scene.expand.written(text, Origin(OriginAsset.PRESET, source))
    return message_block("system", pieces, source, slot)


def _new_chat(scene: Scene) -> Block:
    preset = scene.inputs.preset
    text = preset.new_chat_prompt if scene.inputs.group is None else preset.new_group_chat_prompt
    return _block(scene, text, "new_chat_prompt", "chatHistory")


def _nudge(scene: Scene) -> Block | None:
    nudge = _block(scene, scene.inputs.preset.group_nudge_prompt, "group_nudge_prompt", "chatHistory")
    return nudge if scene.inputs.group is not None and scene.type != "impersonate" and nudge.content else None


def _control(scene: Scene) -> list[Block]:
    prompts = []
    if scene.type == "impersonate" and scene.inputs.preset.impersonation_prompt:
        prompts.append(_block(scene, scene.inputs.preset.impersonation_prompt, "impersonation_prompt", "control"))
    quiet = scene.inputs.generation.quiet_prompt
    if quiet.strip():
        prompts.append(
            message_block(
                "system", quiet, "quiet_prompt", "control", origin=Origin(OriginAsset.REQUEST, "quiet_prompt")
            )
        )
    return prompts


def _continue_nudge(scene: Scene, history: History) -> Block | None:
    if scene.type != "continue" or scene.inputs.preset.continue_prefill:
        return None
    text = scene.inputs.preset.continue_nudge_prompt.replace("{{lastChatMessage}}", history.last_text.strip())
    return _block(scene, text, "continue_nudge_prompt", "continue")


def _bias(scene: Scene) -> Block | None:
    text = bias_of(scene)
    origin = Origin(OriginAsset.REQUEST, "settings", "user_prompt_bias")
    return message_block("assistant", text, "user_prompt_bias", "bias", origin=origin) if text else None


_SAMPLING: Final = (
    "temperature", "top_p", "top_k", "top_a", "min_p", "frequency_penalty", "presence_penalty", "repetition_penalty",
    "seed", "n", "reasoning_effort", "verbosity",
)  # fmt: skip


def _set_options(state: State, scene: Scene) -> None:
    """Sampling settings, the beginning of the reply and stop strings; note tools that the preset does not offer."""
    preset = scene.inputs.preset
    more = {"max_tokens": preset.max_tokens or None, "assistant_prefill": _prefill(scene) or None}
    set_options(state, preset, _SAMPLING, more)
    state.result.stop = state.result.stop or custom_stop_strings(scene)
    if state.request.tools and not scene.inputs.calls_tools:
        why = "its mode of post-processing drops them" if preset.function_calling else "function_calling is off in it"
        state.note(NoteKind.IGNORED, f"the preset's tools are not offered: {why}")


def set_options(state: State, preset: Any, names: Iterable[str], more: Mapping[str, Any]) -> None:
    """The settings of these names and ``more`` as request options; the request's own options win."""
    options = {name: getattr(preset, name) for name in names} | dict(more)
    for name, value in options.items():
        if value is not None:
            state.result.options.setdefault(name, value)


def custom_stop_strings(scene: Scene) -> tuple[str, ...]:
    """The strings of ``power_user.custom_stopping_strings``, expanded where it says so. None for what is not a list of texts."""
    power = scene.inputs.power
    texts = listed(power.custom_stopping_strings) or ()
    return tuple(map(scene.expand, texts) if power.custom_stopping_strings_macro else texts)


def _prefill(scene: Scene) -> str:
    """The start of the reply for Claude sources; not for quiet prompts or a prefilled continuation."""
    preset = scene.inputs.preset
    quiet = scene.type == "quiet" or (scene.type == "continue" and preset.continue_prefill)
    if preset.chat_completion_source != "claude" or quiet:
        return ""
    text = preset.assistant_impersonation if scene.type == "impersonate" else preset.assistant_prefill
    return scene.expand(text)


def provider_options(state: State, scene: Scene) -> dict[str, Any]:
    """What the dialect ``sillytavern`` wants to know besides the plan; what has its default is left out."""
    inputs, preset, settings = scene.inputs, scene.inputs.preset, state.request.settings
    options = {
        "source": preset.chat_completion_source,
        "model": preset.model,
        "speakers": {
            "char": inputs.char,
            "user": inputs.user,
            "group": list(inputs.group.names if inputs.group else ()),
        },
        "post_processing": preset.custom_prompt_post_processing,
        "placeholder": settings.get("prompt_placeholder"),
        "tool_call_text": settings.get("tool_call_text"),
        "use_sysprompt": preset.use_sysprompt,
        "stream": preset.stream,
    }
    switches = {"calls_tools": inputs.calls_tools, "show_thoughts": preset.show_thoughts is not False}
    return {key: value for key, value in options.items() if value} | {
        key: value for key, value in switches.items() if not value
    }


PLAN_ASSEMBLY: Final = Step("plan_assembly", run, NoConfig)


def bias_of(scene: Scene) -> str:
    """The bias; empty when it is blank."""
    return scene.bias if scene.bias.strip() else ""


def resolve_greeting(state: State, scene: Scene) -> None:
    """Set the plan's greeting: index 0 or -1 is the first message, then alternates, then a group's own; else a warning."""
    index = state.request.greeting
    if index is None:
        return
    greetings = scene.inputs.character.greetings(group=scene.inputs.group is not None)
    position = max(index, 0)
    if position >= len(greetings):
        state.warn(f"there is no greeting {index}; the card has {len(greetings)}", kind=NoteKind.WARNING)
        position = 0
    state.result.greeting = scene.expand(greetings[position]) if greetings else ""
    state.result.greeting_index = position
