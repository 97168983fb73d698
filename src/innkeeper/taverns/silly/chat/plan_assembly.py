"""Step ``plan_assembly``: the plan of what has got in, and at the end its options, stop strings and the start of the reply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from innkeeper.budget.trim import switched_off
from innkeeper.content.regex_script import ScriptPlacement
from innkeeper.prompt.block import Block
from innkeeper.prompt.data import EMPTY, thaw
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.plan import Plan
from innkeeper.prompt.run.pipeline import NoConfig, Step
from innkeeper.prompt.run.state import State
from innkeeper.prompt.run.variables import StagedVariables
from innkeeper.prompt.typed.once import decode
from innkeeper.taverns.assets import NOTE_KEYS
from innkeeper.taverns.silly.cache_friendly import cut_of
from innkeeper.taverns.silly.chat.room import is_empty
from innkeeper.taverns.silly.expansion import LINE_BREAK, Expander
from innkeeper.taverns.silly.lore import Carry
from innkeeper.taverns.silly.scene import Scene, scene_of
from innkeeper.taverns.silly.scratch import ASSEMBLED, FILLED, INJECTIONS, LORE_TEXTS
from innkeeper.taverns.silly.scripts.run import ScriptUse
from innkeeper.taverns.silly.settings import listed
from innkeeper.text.javascript.values import strip
from innkeeper.tokens import SILLYTAVERN_TOKENIZERS

FRAME: Final = ("new_chat_prompt", "group_nudge_prompt")
"""The sources of what frames the history, which squashing leaves alone."""


def run(state: State, _config: NoConfig) -> None:
    """Put the messages together, neighbouring system messages as one; what did not get in is switched off behind them."""
    scene, room = scene_of(state), state.scratch[FILLED].room
    placed = room.placed()
    if scene.inputs.preset.squash_system_messages and not scene.inputs.generation.dry_run:
        placed = _squashed(state, placed)
    sent = [block for block in placed if not is_empty(block)] if room.has_empty else placed
    left_out = switched_off(room.omitted)
    state.scratch[ASSEMBLED] = set_plan(state, (*sent, *left_out))


def set_plan(state: State, blocks: Iterable[Block]) -> Plan:
    """Set the plan, and what it leaves to the next build."""
    scene, lore = scene_of(state), state.result.lore
    generation, carried = scene.expand.env.generation, state.scratch[INJECTIONS].carried
    outlets = dict(state.result.outlets) if scene.inputs.generation.dry_run else EMPTY
    state.result.plan = plan = Plan(blocks=tuple(blocks))
    cut = cut_of(scene, plan.blocks)
    frozen = tuple(entry for entry in state.scratch[LORE_TEXTS].frozen if cut is None or entry.behind >= cut.first - 1)
    timed = lore.state if lore is not None else None
    state.result.carry = Carry(timed, carried, generation, outlets, frozen, cut).to_dict()
    state.result.stored = stored_by(state, scene, plan)
    state.stat("plan_blocks", len(plan.blocks))
    return plan


def _squashed(state: State, placed: list[Block]) -> list[Block]:
    """Neighbouring system messages as one; separators, examples and named messages stay apart, others are between them."""
    vanish = scene_of(state).inputs.compat.squashed_media_vanish
    squashed: list[Block] = []
    for block in placed:
        if block.role == "system" and is_empty(block):
            continue
        last = squashed[-1] if squashed else None
        if last is not None and _joins(last) and _joins(block):
            if last.attachments or block.attachments:
                if not vanish:
                    squashed.append(block)
                    continue
                last, block = _without_media(state, last), _without_media(state, block)  # noqa: PLW2901 - as text
            pieces = (*last.ranges(), LINE_BREAK, *block.ranges())
            squashed[-1] = last.with_(content=f"{last.content}\n{block.content}", pieces=pieces)
        else:
            squashed.append(block)
    return squashed


def _without_media(state: State, block: Block) -> Block:
    """A message with media as the text that SillyTavern makes of its parts (quirk ``squashed_media_vanish``)."""
    if not block.attachments:
        return block
    message = "a system message with media is joined with its neighbour: text and media are lost, as in SillyTavern"
    hint = "turn squash_system_messages off, or use the profile `fixed`"
    state.note(NoteKind.QUIRK, message, data={"block": block.id}, hint=hint)
    parts = [item for item in block.attachments if item.data_url]
    text = ",".join(["[object Object]"] * (1 + len(parts)))
    return block.with_(content=text, attachments=())


def _joins(block: Block) -> bool:
    apart = block.group == "examples" or (block.slot == "chatHistory" and block.source in FRAME)
    return block.role == "system" and not (block.name or block.message_metadata or apart)


def finish(state: State, _config: NoConfig) -> None:
    """Set the plan's options: what they hold is expanded when the prompt is done."""
    scene, injections = scene_of(state), state.scratch[INJECTIONS]
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
    return scene.bias if strip(scene.bias) else ""


def resolve_greeting(state: State, scene: Scene) -> None:
    """Set the plan's greeting: index 0 or -1 is the first message, then alternates, then a group's own; else a warning."""
    index = state.request.greeting
    if index is None:
        return
    greetings = scene.inputs.character.greetings(group=scene.inputs.group is not None)
    position = max(index, 0)
    if position >= len(greetings) or index < -1:
        state.warn(f"there is no greeting {index}; the card has {len(greetings)}", kind=NoteKind.WARNING)
        position = 0
    text = greetings[position] if greetings else ""
    if scene.scripts is not None and scene.inputs.group is None:
        text = scene.scripts.text(text, ScriptPlacement.AI_OUTPUT, ScriptUse.STORED)
    state.result.greeting = scene.expand(text)
    state.result.greeting_index = position


def stored_by(state: State, scene: Scene, plan: Plan) -> dict[str, Any]:
    """The changes that SillyTavern would store in the chat's file after a build: `Plan.stored`, which `ChatLog.with_` writes.

    ``chat_metadata``: keys and values; ``messages``: texts by index; ``message``: the stored form of the user's message.

    ``message_bias`` is the beginning of the reply that it asks for, which is kept in its ``extra.bias``; ``message_hidden`` says
    that it does nothing else, and is in no prompt. Where nothing is said, ``message`` is what the preset sends in its place.

    What has not changed is left out. A dry run stores nothing but the first message.
    """
    metadata = {} if scene.inputs.generation.dry_run else _metadata(state, scene, plan)
    stored: dict[str, Any] = {"chat_metadata": metadata} if metadata else {}
    lines, before = scene.all_lines, state.request.history
    if lines and before and not lines[0].is_new and lines[0].text != before[0].content:
        stored["messages"] = {"0": lines[0].text}
    if len(lines) > len(scene.inputs.lines):
        last = lines[-1]
        stored["message"] = last.text
        stored |= {"message_bias": last.bias} if last.bias else {}
        stored |= {"message_hidden": True} if last.hidden else {}
    return stored


def _metadata(state: State, scene: Scene, plan: Plan) -> dict[str, Any]:
    """The keys of the chat's metadata that are not as they were."""
    before = scene.inputs.metadata
    note = {key: getattr(scene.inputs.note, field) for key, field in NOTE_KEYS.items() if before.get(key) is None}
    after: dict[str, Any] = note if state.request.authors_note is not None or state.request.settings.get("note") else {}
    if variables := state.variables.to_dict().get("local"):
        after["variables"] = variables
    timed = state.result.carry.get("timed") if isinstance(state.result.carry, Mapping) else None
    if timed is not None:
        after["timedWorldInfo"] = {
            kind: {key: {**effect, "protected": effect.get("protected", False)} for key, effect in effects.items()}
            for kind, effects in timed.items()
        }
    after["lastInContextMessageId"] = max(len(scene.all_lines) - _sent(scene, plan), 0)
    return {key: value for key, value in after.items() if thaw(before.get(key)) != value}


_AGAIN: Final = ("continue", "swipe", "regenerate")
"""Generations whose last message counts as sent in any case; in a text prompt the one to continue is sent as a line."""


def _sent(scene: Scene, plan: Plan) -> int:
    """The number of messages in the prompt by SillyTavern's count (measured on SillyTavern 1.19).

    In chats that is all that the user or the character says, whatever it comes from; in text prompts the lines of the chat, and
    what stands behind them as one.
    """
    again = int(scene.type in _AGAIN)
    if not scene.inputs.is_text:
        return again + sum([block.enabled and block.role in _SPEAKERS for block in plan.blocks])
    again -= scene.type == "continue"
    tail = any(block.slot == "chat_history" and block.source == "post_history" for block in plan.enabled_blocks)
    return again + tail + sum([block.enabled and block.group == "history" for block in plan.blocks])


_SPEAKERS: Final = ("user", "assistant")
