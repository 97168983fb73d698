"""Step ``plan_assembly``: what surrounds the history, and the plan's greeting and options. Leaves `Assembly`.

That is control prompts, the message to continue and its nudge, prefill, and the start of the reply that the user
wants.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from innkeeper.content.regex_script import ScriptPlacement
from innkeeper.prompt.block import Block, Origin, OriginAsset
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.once import decode
from innkeeper.prompt.run.pipeline import NoConfig, Step
from innkeeper.prompt.run.state import State
from innkeeper.prompt.run.variables import StagedVariables
from innkeeper.taverns.silly.chat.macro_expansion import History, again_expanded
from innkeeper.taverns.silly.chat.prompts import Pinned, pinned_of
from innkeeper.taverns.silly.chat.room import message_block
from innkeeper.taverns.silly.expansion import Expander, pieces_of
from innkeeper.taverns.silly.scene import Scene, scene_of
from innkeeper.taverns.silly.scripts.run import ScriptUse
from innkeeper.taverns.silly.settings import listed
from innkeeper.tokens import SILLYTAVERN_TOKENIZERS

FRAME: Final = ("new_chat_prompt", "group_nudge_prompt")
"""The sources of what frames the history, which squashing leaves alone."""


class Assembly(msgspec.Struct, frozen=True, kw_only=True):
    """What surrounds the history. ``nudge`` stands behind it, ``control`` at the very end.

    ``prefilled`` is the beginning of the reply: it stands at the very end, even without a history.
    """

    nudge: Block | None = None
    control: tuple[Block, ...] = ()
    prefilled: tuple[Block, ...] = ()
    bias: Block | None = None


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """What frames a history that is sent: ``continued`` stands behind it, before the nudge that asks to go on with it."""

    new_chat: Block
    continued: tuple[Block, ...] = ()
    continue_nudge: Block | None = None


def run(state: State, _config: NoConfig) -> None:
    """Put together what frames the history, and set the plan's greeting."""
    scene, pinned = scene_of(state), pinned_of(state)
    history: History = state.made_by("macro_expansion")
    resolve_greeting(state, scene)
    state.scratch["plan_assembly"] = Assembly(
        nudge=_nudge(scene, pinned),
        control=tuple(_control(scene, pinned)),
        prefilled=history.continued if scene.inputs.preset.continue_prefill else (),
        bias=_bias(pinned),
    )


def finish(state: State, _config: NoConfig) -> None:
    """Set the plan's options: what they hold is expanded when the prompt is done."""
    scene, injections = scene_of(state), state.made_by("injection")
    expand = without_effects(scene.expand) if scene.inputs.generation.dry_run else scene.expand
    stop: list[str] = []
    prefill: list[str] = []
    work = {
        "stop_strings": lambda: stop.extend(custom_stop_strings(scene, expand)),
        "reply_start": lambda: prefill.append(_prefill(scene, expand)),
    }
    if not scene.inputs.generation.dry_run:
        work["injections_again"] = lambda: expand.again("\n".join(injections.written))
        work["stop_strings_again"] = lambda: _stop_again(scene)
    scene.order.follow(work)
    _set_options(state, scene, tuple(stop), "".join(prefill))
    state.result.dialect_options["sillytavern"] = provider_options(state, scene)


_WITH_OWN_STOPS: Final = frozenset({"claude", "makersuite", "vertexai", "cohere", "mistralai", "zai", "chutes"})
"""Sources whose requests take stop strings in a form of their own: for these they are resolved twice."""


def _stop_again(scene: Scene) -> None:
    power = scene.inputs.power
    if scene.inputs.preset.chat_completion_source in _WITH_OWN_STOPS and power.custom_stopping_strings_macro:
        for text in listed(power.custom_stopping_strings) or ():
            scene.expand.again(text)


def without_effects(expand: Expander) -> Expander:
    """The same, with changes of variables going nowhere."""
    return replace(expand, env=replace(expand.env, variables=StagedVariables(expand.env.variables)))


def opened_history(state: State, *, expand: bool = True) -> Opened:
    """What frames the history, its macros replaced when its turn has come; without ``expand`` as it is written."""
    scene, opened = scene_of(state), Opened(new_chat=_new_chat(scene_of(state)))
    history: History = state.made_by("macro_expansion")
    if scene.type == "continue" and not scene.inputs.preset.continue_prefill:
        nudge = _block(scene, scene.inputs.preset.continue_nudge_prompt, "continue_nudge_prompt", "continue")
        opened = msgspec.structs.replace(opened, continued=history.continued, continue_nudge=nudge)
    if expand:
        made = [opened]
        scene.order.follow(
            {
                "new_chat": lambda: made.append(_with_new_chat(scene, made[-1])),
                "continued": lambda: made.append(_with_continued(scene, made[-1], history.last_text)),
            }
        )
        opened = made[-1]
    return opened


def _with_new_chat(scene: Scene, opened: Opened) -> Opened:
    return msgspec.structs.replace(opened, new_chat=again_expanded(scene, opened.new_chat))


def _with_continued(scene: Scene, opened: Opened, last_text: str) -> Opened:
    """The nudge, the message to continue, and the nudge once more, with the message in it as it is written."""
    if opened.continue_nudge is None:
        return opened
    nudge = again_expanded(scene, opened.continue_nudge)
    continued = tuple(again_expanded(scene, block) for block in opened.continued)
    text = nudge.content.replace("{{lastChatMessage}}", last_text.strip())
    if text != nudge.content:
        nudge = nudge.with_(content=text, pieces=())
    return msgspec.structs.replace(opened, continued=continued, continue_nudge=again_expanded(scene, nudge))


def _block(scene: Scene, text: str, source: str, slot: str) -> Block:
    """A text of the preset."""
    return message_block("system", pieces_of(text, Origin(OriginAsset.PRESET, source)), source, slot)


def _new_chat(scene: Scene) -> Block:
    preset = scene.inputs.preset
    text = preset.new_chat_prompt if scene.inputs.group is None else preset.new_group_chat_prompt
    return _block(scene, text, "new_chat_prompt", "chatHistory")


def _nudge(scene: Scene, pinned: Pinned) -> Block | None:
    nudged = scene.inputs.group is not None and scene.type != "impersonate" and pinned.group_nudge
    return message_block("system", pinned.group_nudge, "group_nudge_prompt", "chatHistory") if nudged else None


def _control(scene: Scene, pinned: Pinned) -> Iterator[Block]:
    if scene.type == "impersonate" and pinned.impersonation:
        yield message_block("system", pinned.impersonation, "impersonation_prompt", "control")
    if pinned.quiet:
        yield message_block("system", pinned.quiet, "quiet_prompt", "control")


def _bias(pinned: Pinned) -> Block | None:
    text, origin = pinned.bias, Origin(OriginAsset.REQUEST, "settings", "user_prompt_bias")
    return message_block("assistant", text, "user_prompt_bias", "bias", origin=origin) if text.strip() else None


_SAMPLING: Final = (
    "temperature", "top_p", "top_k", "top_a", "min_p", "frequency_penalty", "presence_penalty", "repetition_penalty",
    "seed", "n", "reasoning_effort", "verbosity",
)  # fmt: skip


def _set_options(state: State, scene: Scene, stop: tuple[str, ...], prefill: str) -> None:
    """Sampling settings, the beginning of the reply and stop strings; note tools that the preset does not offer."""
    preset = scene.inputs.preset
    more = {"max_tokens": preset.max_tokens or None, "assistant_prefill": prefill or None}
    set_options(state, preset, _SAMPLING, more)
    state.result.stop = state.result.stop or stop
    if state.request.tools and not scene.inputs.offers_tools:
        why = "its mode of post-processing drops them" if preset.function_calling else "function_calling is off in it"
        why = f"a generation of the type {scene.type} calls none" if scene.inputs.calls_tools else why
        state.note(NoteKind.IGNORED, f"the preset's tools are not offered: {why}")


def set_options(state: State, preset: Any, names: Iterable[str], more: Mapping[str, Any]) -> None:
    """The settings of these names and ``more`` as request options; the request's own options win."""
    options = {name: getattr(preset, name) for name in names} | dict(more)
    for name, value in options.items():
        if value is not None:
            state.result.options.setdefault(name, value)


def custom_stop_strings(scene: Scene, expand: Expander) -> tuple[str, ...]:
    """The strings of ``power_user.custom_stopping_strings``, expanded where it says so. None for what is not a list of texts."""
    power = scene.inputs.power
    texts = listed(power.custom_stopping_strings) or ()
    return tuple(map(expand, texts) if power.custom_stopping_strings_macro else texts)


def _prefill(scene: Scene, expand: Expander) -> str:
    """The start of the reply for Claude sources; not for quiet prompts or a prefilled continuation."""
    preset = scene.inputs.preset
    quiet = scene.type == "quiet" or (scene.type == "continue" and preset.continue_prefill)
    if preset.chat_completion_source != "claude" or quiet:
        return ""
    text = preset.assistant_impersonation if scene.type == "impersonate" else preset.assistant_prefill
    return expand(text)


_SOURCE_SETTINGS: Final = (
    "enable_web_search", "request_images", "request_image_aspect_ratio", "request_image_resolution", "openrouter_middleout",
    "openrouter_providers", "openrouter_quantizations", "openrouter_allow_fallbacks", "openrouter_use_fallback",
    "nanogpt_provider", "nanogpt_payg_override", "pollinations_endpoint", "zai_endpoint", "siliconflow_endpoint",
    "minimax_endpoint", "workers_ai_account_id", "azure_base_url", "azure_deployment_name", "azure_api_version",
    "vertexai_auth_mode", "vertexai_region", "vertexai_express_project_id", "custom_url", "reverse_proxy",
)  # fmt: skip
_EXPANDED_SETTINGS: Final = ("custom_include_body", "custom_exclude_body", "custom_include_headers")
"""What a preset says about single sources: as it is, and with macros."""


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
        "generation": inputs.type if inputs.type != "normal" else None,
        "settings": _source_settings(scene),
        "server": settings.get("server"),
        "model_list": settings.get("model_list"),
        "logprobs": inputs.power.request_token_probabilities,
        "logit_bias": _logit_bias(state, scene),
    }
    switches = {"calls_tools": inputs.calls_tools, "show_thoughts": preset.show_thoughts is not False}
    return {key: value for key, value in options.items() if value} | {
        key: value for key, value in switches.items() if not value
    }


def _source_settings(scene: Scene) -> dict[str, Any]:
    raw = scene.inputs.preset.raw
    texts = {name: raw[name] for name in _EXPANDED_SETTINGS if isinstance(raw.get(name), str) and raw[name]}
    plain = {name: raw[name] for name in _SOURCE_SETTINGS if raw.get(name) not in (None, "")}
    return plain | {name: scene.expand(text) for name, text in texts.items()}


def _logit_bias(state: State, scene: Scene) -> dict[str, float]:
    """The chosen of ``settings.bias_presets`` by token ids: of texts by the model's tokenizer, or as a list in brackets.

    (sillytavern-bodies.md 2.) Models that SillyTavern counts as Claude have none.
    """
    presets, chosen = state.request.settings.get("bias_presets") or {}, scene.inputs.preset.bias_preset_selected
    entries = presets.get(chosen) or () if isinstance(presets, Mapping) else ()
    bias: dict[str, float] = {}
    for entry in entries:
        for token in _biased(state, str(entry.get("text") or ""), str(scene.inputs.preset.model or "")):
            bias[str(token)] = entry.get("value")
    return bias


_NEWER: Final = re.compile(r"gpt-5|gpt-6-astra|gpt-4o|gpt-4\.[15]|chatgpt-4o|o1|o3|o4-mini")


def _biased(state: State, text: str, model: str) -> Iterable[int]:
    try:
        return decode(text, list[int])
    except (msgspec.DecodeError, ValueError):
        pass
    if "claude" in model or not text:
        return ()
    name = "gpt-4o" if _NEWER.search(model) else "mistral" if "mistral" in model else "gpt-4"
    tokenizer = SILLYTAVERN_TOKENIZERS[name]
    if not tokenizer.available:
        state.note(NoteKind.LOSS, f"a bias is not sent: the vocabulary of {name} is not here")
        return ()
    return tokenizer.counter().tokenize(text, name).ids or ()


PLAN_ASSEMBLY: Final = Step("plan_assembly", run, NoConfig, finish)


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
    text = greetings[position] if greetings else ""
    if scene.scripts is not None and scene.inputs.group is None:
        text = scene.scripts.text(text, ScriptPlacement.AI_OUTPUT, ScriptUse.STORED)
    state.result.greeting = scene.expand(text)
    state.result.greeting_index = position
