"""Steps ``macro_expansion`` and ``plan_assembly`` of text prompts: the chat's lines, and how the reply is opened.

``macro_expansion`` writes the lines with texts at depths between and leaves `TextHistory`. The lines' own macros are not
resolved (`sillytavern.md` 4): only templates and what the tavern adds have theirs done. ``plan_assembly`` writes the reply's
opening and sets options; it leaves `TextAssembly`. Stop strings are in SillyTavern's order (`sillytavern.md` 62): names,
sequences, separators, the user's own. Banned strings are the lines in quotes of the sampler settings' lists; lines without
quotes name tokens of one model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from innkeeper.content.preset import TextPreset
from innkeeper.prompt.block import Origin
from innkeeper.prompt.data import thaw
from innkeeper.prompt.run.pipeline import NoConfig, Step
from innkeeper.prompt.run.state import State
from innkeeper.taverns.silly.card_texts import ANY_TEXT
from innkeeper.taverns.silly.chat.plan_assembly import (
    bias_of,
    custom_stop_strings,
    provider_options,
    resolve_greeting,
    set_options,
)
from innkeeper.taverns.silly.expansion import Expander, origin_of
from innkeeper.taverns.silly.injection import MAX_DEPTH, InjectedText, joined_depths, note_depths
from innkeeper.taverns.silly.inputs import TextSettings
from innkeeper.taverns.silly.lines.line import Line, note_calls, spoken_lines
from innkeeper.taverns.silly.scene import Scene, reasoned, scene_of
from innkeeper.taverns.silly.scratch import INJECTIONS, STORY_TEXTS, TEXT_COMPILED, TEXT_LINES, TEXT_REPLY
from innkeeper.taverns.silly.text.story import (
    NOBODY,
    InstructMode,
    SequenceTurn,
    instruct_of,
    post_history,
    settings_of,
)
from innkeeper.text.javascript.values import strip


class Utterance(msgspec.Struct, frozen=True, kw_only=True):
    """An element of the chat: a line, an inserted text, the text after the history."""

    role: str
    name: str
    text: str
    source: str = "history"
    is_user: bool = False
    guest: bool = False
    depth: int = 0
    origin: Origin | None = None

    @property
    def is_injected(self) -> bool:
        """Whether it is a text put in at a depth."""
        return self.source == "injection"


class TextLine(msgspec.Struct, frozen=True):
    """An utterance as text."""

    utterance: Utterance
    text: str


class TextHistory(msgspec.Struct, frozen=True, kw_only=True):
    """``lines`` newest first; ``continued`` is the one to continue; ``alignment`` the user's, if one must be first."""

    lines: tuple[TextLine, ...]
    continued: TextLine | None = None
    alignment: TextLine | None = None


def _run_macro_expansion(state: State, _config: NoConfig) -> None:
    """Line up the chat and write it."""
    scene = scene_of(state)
    instruct = instruct_of(scene)
    note_calls(state, scene.lines, "a text prompt has no place for them")
    # newest first; tool calls are not text
    nameless = "" if instruct_of(scene) is None else scene.inputs.char
    chat = [_of_line(scene, line, nameless) for line in spoken_lines(reversed(scene.lines))]
    lines: list[TextLine] = []
    alignment: list[TextLine | None] = []
    scene.order.follow(
        {
            "depths": lambda: _put_depths(state, scene, chat),
            "post_history": lambda: _put_tail(scene, chat),
            "lines": lambda: lines.extend(_written(scene, instruct, chat)),
            "alignment": lambda: alignment.append(_alignment(scene, instruct)),
        }
    )
    continued = lines.pop(0) if scene.type == "continue" and len(lines) > 1 else None
    state.scratch[TEXT_LINES] = TextHistory(
        lines=tuple(lines) or (TextLine(NOTHING, ""),), continued=continued, alignment=alignment[0]
    )


NOTHING: Final = Utterance(role="assistant", name="", text="", source="reply")
"""The line of a chat without any: the reply is opened on it."""


def _of_line(scene: Scene, line: Line, nameless: str) -> Utterance:
    """A line, under the name ``nameless`` where it is the character's and has none."""
    role = "system" if line.narrator else "user" if line.is_user else "assistant"
    return Utterance(
        role=role,
        name=line.name if role == "user" else line.name or nameless,
        text=reasoned(scene, line),
        is_user=line.is_user,
        guest=line.force_avatar is not None,
        origin=line.origin,
    )


def _put_depths(state: State, scene: Scene, chat: list[Utterance]) -> None:
    """Texts at depths put between, newest first. The line to continue stays the newest."""
    injections, compiled = state.scratch[INJECTIONS], state.scratch[TEXT_COMPILED]
    depths: dict[int, list[InjectedText]] = {}
    texts = (*injections.depth, *([compiled.placed] if compiled.placed else []))
    note_depths(state, texts)
    for text in joined_depths(scene.expand, texts, end=False):
        if text.text and 0 <= text.depth <= MAX_DEPTH:
            depths.setdefault(text.depth, []).append(text)
    put = 0
    for depth in sorted(depths):
        placed = [_injected(scene, text) for text in depths[depth]]
        index = (1 if depth == 0 and scene.type == "continue" else depth) + put
        chat[index:index] = placed
        put += len(placed)


def _injected(scene: Scene, text: InjectedText) -> Utterance:
    return Utterance(
        role=text.role,
        name=scene.inputs.user if text.role == "user" else scene.inputs.char,
        text=text.text,
        source="injection",
        is_user=text.role == "user",
        depth=text.depth,
        origin=origin_of(text.pieces),
    )


def _put_tail(scene: Scene, chat: list[Utterance]) -> None:
    """Put the text after the history: the user's, without a name (`sillytavern.md` 64)."""
    text = post_history(scene)
    if text:
        origin = Origin("preset", "post_history")
        tail = Utterance(role="user", name="", text=text, source="post_history", is_user=True, origin=origin)
        chat.insert(1 if scene.type == "continue" and chat else 0, tail)


def _written(scene: Scene, instruct: InstructMode | None, chat: list[Utterance]) -> list[TextLine]:
    """The lines, newest first; the chat's first, the user's last and the one to continue have sequences of their own.

    They are written from the oldest on, each as any other line is first.
    """
    own = scene.type == "impersonate"
    last_user = None if own else next((index for index, utterance in enumerate(chat) if utterance.is_user), None)
    every = instruct is not None and instruct.is_restless and scene.inputs.compat.repeated_effects
    lines: list[TextLine] = []
    for index, utterance in reversed(tuple(enumerate(chat))):
        opened = index == 0 and scene.type == "continue"
        turns = [SequenceTurn.MIDDLE]
        turns += [SequenceTurn.FIRST] if index == len(chat) - 1 else []
        turns += [SequenceTurn.LAST] if index == last_user else []
        if every:
            for turn in turns if opened else turns[:-1]:
                _text(instruct, utterance, turn, opened=False)
        turn = SequenceTurn.LAST if opened else turns[-1]
        lines.append(TextLine(utterance, _text(instruct, utterance, turn, opened=opened)))
    return lines[::-1]


def _text(instruct: InstructMode | None, utterance: Utterance, turn: SequenceTurn, *, opened: bool) -> str:
    if instruct is not None:
        return instruct.line(
            utterance.role, utterance.name, utterance.text, turn, guest=utterance.guest, closed=not opened
        )
    named = utterance.name and utterance.role != "system"
    text = f"{utterance.name}: {utterance.text}\n" if named else f"{utterance.text}\n"
    return text[: text.rfind(utterance.text) + len(utterance.text)] if opened else text


def _alignment(scene: Scene, instruct: InstructMode | None) -> TextLine | None:
    if instruct is None or not instruct.template.user_alignment_message:
        return None
    text = scene.expand(instruct.template.user_alignment_message)
    utterance = Utterance(
        role="user", name=scene.inputs.user, text=text, source="alignment", origin=Origin("preset", "instruct")
    )
    return TextLine(utterance, instruct.line("user", utterance.name, text, SequenceTurn.FIRST))


TEXT_HISTORY: Final = Step("macro_expansion", _run_macro_expansion, NoConfig)


class Guided(msgspec.Struct, frozen=True, kw_only=True):
    """Guidance as it is sent: the positive ``text`` at its depth, and ``against``, which stands there in a second prompt.

    ``start_against`` is what the chat begins with in that one.
    """

    scale: float
    depth: float
    text: str = ""
    against: str = ""
    start_against: str = ""

    @property
    def is_glued(self) -> bool:
        """Whether a text stands behind the reply's opening."""
        return self.depth == 0

    def position(self, lines: int) -> int | None:
        """The index of the line that a text precedes, among so many, the oldest being 0; ``None`` if it precedes none."""
        if self.depth != self.depth or self.depth >= lines:
            return 0
        return lines - int(self.depth) if self.depth >= 1 and self.depth == int(self.depth) else None


class TextAssembly(msgspec.Struct, frozen=True, kw_only=True):
    """The texts after the newest line: the quiet prompt, then the reply's opening, each as if on a line of its own.

    ``breaks`` says whether a line break must stand before the opening; ``bias`` ends a plain prompt.
    """

    quiet: str = ""
    opening: str = ""
    breaks: bool = False
    role: str = "assistant"
    bias: str = ""
    drops_break: bool = False
    start: str = ""
    """The text before the chat."""
    guided: Guided | None = None

    def after(self, line: str) -> str:
        """The text that follows a line."""
        opening = "\n" if self.breaks and not (line + self.quiet).endswith("\n") else ""
        return self.quiet + opening + self.opening


def _run_plan_assembly(state: State, _config: NoConfig) -> None:
    """Write the reply's opening and the chat's start; set greeting, stop strings and options."""
    scene, injections = scene_of(state), state.scratch[INJECTIONS]
    text, instruct = settings_of(scene), instruct_of(scene)
    resolve_greeting(state, scene)
    start, expand = text.context.chat_start, scene.expand
    made: dict[str, Any] = {}
    work: dict[str, Callable[[], None]] = {
        "chat_start_again": lambda: _again(expand, f"{start}\n" if start else "", 2 if scene.type == "continue" else 1),
        "reply_again": lambda: _reply_again(scene, instruct),
        "reply": lambda: made.update(reply=_reply(scene, instruct)),
        "chat_start": lambda: made.update(start=_started(expand, start)),
        "banned_strings": lambda: made.update(banned=_banned(scene, text)),
        "negative_prompt": lambda: made.update(negative=_negative_prompt(expand, text.textgen)),
        "stop_strings_first": lambda: _stop_again(scene, text),
        "stop_strings": lambda: made.update(stop=stop_strings(scene, text)),
        "stop_strings_again": lambda: _stop_again(scene, text),
    }
    if not scene.inputs.generation.dry_run:
        resolved = scene.inputs.power.prefer_character_prompt and state.scratch[STORY_TEXTS].fields["system"]
        system = resolved or text.sysprompt.content
        placed = state.scratch[TEXT_COMPILED].placed
        written = (*injections.written, *([placed.text] if placed else []))
        work["injections_again"] = lambda: expand.again("\n".join(written))
        work["system_again"] = lambda: expand.again("" if text.sysprompt.enabled is False else system)
    guidance = scene.inputs.guidance
    if guidance is not None:
        work["guided"] = lambda: made.update(text=guidance.joined(guidance.positive, expand))
        work["guided_against"] = lambda: made.update(
            against=guidance.joined(guidance.negative, expand), start_against=_started(expand, start)
        )
    scene.order.follow(work)
    guided = guidance and Guided(
        scale=guidance.scale,
        depth=guidance.depth,
        text=made["text"],
        against=made["against"],
        start_against=made["start_against"],
    )
    state.scratch[TEXT_REPLY] = msgspec.structs.replace(made["reply"], start=made["start"], guided=guided)
    state.result.stop = made["stop"]
    more = {"max_tokens": text.amount_gen, "banned_strings": made["banned"]}
    more |= {} if guided is not None else _own_guidance(text.textgen, made["negative"])
    set_options(state, TextPreset.of(thaw(text.textgen)), _SAMPLING, more)
    state.result.dialect_options["sillytavern"] = provider_options(state, scene)


def _banned(scene: Scene, text: TextSettings) -> list[str]:
    """The banned strings, between other settings of the sampler that are resolved and are not ours to send."""
    banned = banned_strings(scene, text.textgen)
    _again(scene.expand, ANY_TEXT, 4)
    return banned


def _negative_prompt(expand: Expander, textgen: Mapping[str, Any]) -> str:
    against = textgen.get("negative_prompt")
    return expand(against) if isinstance(against, str) else ""


def _own_guidance(textgen: Mapping[str, Any], negative: str) -> dict[str, Any]:
    """The sampler settings' own scale and negative text, which hold where nothing else guides."""
    scale = textgen.get("guidance_scale")
    return {"guidance_scale": None if scale == 1 else scale, "negative_prompt": negative or None}


def _started(expand: Expander, start: str) -> str:
    return expand(f"{start}\n") if start else ""


def _again(expand: Expander, text: str, times: int) -> None:
    for _ in range(times):
        expand.again(text)


def _reply(scene: Scene, instruct: InstructMode | None) -> TextAssembly:
    quiet, bias = scene.inputs.generation.quiet_prompt, bias_of(scene)
    return _plain(scene, quiet, bias) if instruct is None else _instructed(scene, instruct, quiet, scene.bias)


def _reply_again(scene: Scene, instruct: InstructMode | None) -> None:
    if instruct is not None and instruct.is_restless:
        _reply(scene, instruct)
        _reply(scene, instruct)


def _stop_again(scene: Scene, text: TextSettings) -> None:
    settings = (text.context.chat_start, text.context.example_separator, scene.inputs.power.custom_stopping_strings)
    instruct = instruct_of(scene)
    if any(map(scene.expand.is_restless, settings)) or (instruct is not None and instruct.is_restless):
        stop_strings(scene, text)


def _instructed(scene: Scene, instruct: InstructMode, quiet: str, bias: str) -> TextAssembly:
    written = instruct.line("system", scene.inputs.user, quiet) if quiet else ""
    if scene.type == "continue":
        return TextAssembly(quiet=written)
    impersonates = scene.type == "impersonate"
    alone = bool(quiet) and not scene.inputs.generation.quiet_to_loud and not impersonates
    name = scene.inputs.user if impersonates else scene.inputs.char
    if alone:
        name = scene.inputs.generation.quiet_name or NOBODY
    asked = bool(quiet) and scene.type == "quiet"
    role = "user" if impersonates else "assistant"
    opening = instruct.reply(role, name, bias, quiet=asked and alone) or (instruct.joint if asked else "")
    return TextAssembly(quiet=written, opening=opening, breaks=instruct.template.wrap and not asked, role=role)


def _plain(scene: Scene, quiet: str, bias: str) -> TextAssembly:
    written, drops = f"\n{quiet}" if quiet else "", scene.type != "continue"
    name = "" if quiet and not scene.inputs.generation.quiet_to_loud else _speaker(scene)
    role = "user" if scene.type == "impersonate" else "assistant"
    breaks = bool(name) or (not quiet and _forces_name(scene))
    opening = f"{name}:" if name else ""
    return TextAssembly(quiet=written, opening=opening, breaks=breaks, role=role, bias=bias, drops_break=drops)


def _speaker(scene: Scene) -> str:
    """The name that opens a plain reply: none if the user's line is continued (`sillytavern.md` 65)."""
    if scene.type == "impersonate":
        return scene.inputs.user
    newest = scene.all_lines[-1] if scene.all_lines else None
    users = scene.type == "continue" and newest is not None and newest.is_user
    return scene.inputs.char if _forces_name(scene) and not users else ""


def _forces_name(scene: Scene) -> bool:
    power, generation = scene.inputs.power, scene.inputs.generation
    forced = power.always_force_name2 is not False or generation.force_name2 or scene.bias_is_own
    return bool(forced) and not (scene.type == "continue" and len(scene.all_lines) == 1)


_SAMPLING: Final = (
    "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty",
)  # fmt: skip


TEXT_ASSEMBLY: Final = Step("plan_assembly", _run_plan_assembly, NoConfig)


def stop_strings(scene: Scene, text: TextSettings) -> tuple[str, ...]:
    """All of them, empty ones left out, each once."""
    instruct = instruct_of(scene)
    matching = [
        *(["\n"] if scene.inputs.power.single_line else ()),
        *_names(scene, text),
        *(instruct.stops() if instruct is not None else ()),
        *_separators(scene, text),
        *custom_stop_strings(scene, scene.expand),
    ]
    return tuple(dict.fromkeys(stop for stop in matching if stop))


def _names(scene: Scene, text: TextSettings) -> Iterator[str]:
    """The names whose turn stops the reply; first the one that would speak next."""
    if not text.context.names_as_stop_strings:
        return
    user, char, group = scene.inputs.user, scene.inputs.char, scene.inputs.group
    newest = scene.all_lines[-1] if scene.all_lines else None
    names = [char if scene.type == "impersonate" else user, user]
    if scene.type == "continue" and newest is not None and newest.is_user:
        names.append(char)
    names += [name for name in (group.names if group else ()) if name != char]
    yield from (f"\n{name}:" for name in names)


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
    texts = [scene.expand(str(textgen[name])) for name in _LISTS if textgen.get(name)]
    lines = [strip(line) for text in texts for line in text.split("\n")]
    quoted = [line[1:-1] for line in lines if len(line) > _LEAST and line.startswith('"') and line.endswith('"')]
    return list(dict.fromkeys(quoted))
