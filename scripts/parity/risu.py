"""The runner of RisuAI's cases: a case's database, character and chat over those all begin with, and our answer to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

import msgspec

from innkeeper.macros.cbs import LATER, RISU_166, CbsScope, default_variables, expand
from innkeeper.prompt.determinism import Clock, Mulberry32
from innkeeper.taverns.risu.scripts import ScriptRunner, read_scripts
from innkeeper.taverns.risu.stored import RisuSettings, StoredCharacter, module_list, read_stored
from innkeeper.taverns.risu.triggers.run import run_triggers
from innkeeper.taverns.risu.triggers.state import TriggerInputs, read_triggers
from scripts.parity.case import Case

_SEED: Final = 42


class Room(msgspec.Struct):
    """A case's database, character and chat, and the options they came with."""

    db: dict[str, Any]
    char: dict[str, Any]
    chat: dict[str, Any]
    options: Mapping[str, Any]
    is_later: bool
    base: Mapping[str, Any]
    random: Any


def room_of(case: Case) -> Room:
    """A case's own data over the base of its file."""
    options = case.input.get("options") or {}
    db, char, chat = ({**deepcopy(case.base[part]), **options.get(part, {})} for part in ("db", "char", "chat"))
    db["globalChatVariables"] = {**db["globalChatVariables"], **options.get("globals", {})}
    is_later = case.source.endswith("_later.json") or "expected_166_3_3" in case.raw
    draws = case.input.get("random_draws")
    random = Mulberry32(options.get("seed", _SEED)) if draws is None else _Draws(draws)
    return Room(db, char, chat, options, is_later, case.base, random)


class _Draws:
    """Recorded draws, in their order."""

    def __init__(self, numbers: list[float]) -> None:
        self._numbers: Iterator[float] = iter(numbers)

    def random(self) -> float:
        return next(self._numbers)


def scope_of(room: Room, **more: Any) -> CbsScope:
    """What the tags of a case read."""
    db, char, chat, options = room.db, room.char, room.chat, room.options
    persona = next((item for item in db.get("personas", ()) if item["id"] == chat.get("bindedPersona")), None)
    enabled = {"enabledModules": options["enabled"]} if "enabled" in options else {}
    modules = module_list(
        read_stored(RisuSettings, {**db, **enabled}), chat.get("modules") or [], char.get("modules") or []
    )
    index = chat.get("fmIndex", -1)
    conditions = options.get("cbs") or {}
    facts: dict[str, Any] = {
        "char": char.get("nickname") or char["name"],
        "user": persona["name"] if persona else db["username"],
        "description": char["desc"],
        "personality": char["personality"],
        "scenario": char["scenario"],
        "example_messages": char["exampleMessage"],
        "persona": persona["personaPrompt"] if persona else db["personaPrompt"],
        "main_prompt": db["mainPrompt"],
        "jailbreak": db["jailbreak"],
        "global_note": db["globalNote"],
        "greeting": char["firstMessage"] if index == -1 else char["alternateGreetings"][index],
        "greeting_index": index,
        "lorebook": lambda: [
            *char["globalLore"],
            *chat["localLore"],
            *(entry for module in modules for entry in module.get("lorebook") or ()),
        ],
        "messages": chat["message"],
        "character_id": char.get("chaId", ""),
        "chat_id": chat.get("id", ""),
        "variables": options.get(
            "vars", {name.removeprefix("$"): value for name, value in chat["scriptstate"].items()}
        ),
        "defaults": default_variables(char["defaultVariables"], db["templateDefaultVariables"]),
        "global_variables": db["globalChatVariables"],
        "chat_index": options.get("chatID", -1),
        "role": options.get("role"),
        "chat_role": conditions.get("chatRole"),
        "is_first_message": bool(conditions.get("firstmsg")),
        "run_variables": bool(options.get("runVar")),
        "drop_variables": bool(options.get("rmVar")),
        "counting": bool(options.get("tokenizeAccurate")),
        "generic_names": bool(options.get("consistantChar")),
        "display": bool(options.get("visualize")),
        "model": db["aiModel"],
        "sub_model": db["subModel"],
        "jailbreak_on": db["jailbreakToggle"],
        "max_context": db["maxContext"],
        "emotions": [emotion[0] for emotion in char["emotionImages"]],
        "assets": [asset[0] for asset in char["additionalAssets"]],
        "display_assets": read_stored(StoredCharacter, char).display_assets,
        "modules": {
            module["namespace"]: [asset[0] for asset in module.get("assets") or ()]
            for module in modules
            if module.get("namespace")
        },
        "metadata": _GPT4O if db["aiModel"] == "gpt4o" else {},
        "clock": Clock.at(room.base["clock_iso"]),
        "random": room.random,
        "compat": LATER if room.is_later else RISU_166,
    }
    return CbsScope(**{**facts, **more})


_GPT4O: Final = {
    "modelname": "GPT-4o",
    "modelshortname": "GPT-4o",
    "modelinternalid": "gpt-4o",
    "modelformat": "0",
    "modelprovider": "0",
    "modeltokenizer": "2",
}


def _expanded(case: Case) -> Any:
    room = room_of(case)
    scope = scope_of(room)
    result = expand(case.input["template"], scope)
    return {"text": result.text, **_changed(scope.variables, result.variables)}


def _changed(variables: Mapping[str, Any], changes: Mapping[str, str | None]) -> dict[str, Any]:
    """The variables after a case, as far as they have changed."""
    after = {name: value for name, value in {**variables, **changes}.items() if value is not None}
    return {} if after == variables else {"vars": after}


def _rewritten(case: Case) -> Any:
    room = room_of(case)
    index, conditions = case.input.get("chatID", -1), case.input.get("cbsConditions") or {}
    scope = scope_of(
        room,
        chat_index=index,
        chat_role=conditions.get("chatRole"),
        is_first_message=bool(conditions.get("firstmsg")),
    )
    modules = [module for module in room.db.get("modules", ()) if module["id"] in room.db.get("enabledModules", ())]
    own = room.char["customscript"] or case.input["scripts"]
    scripts = read_scripts(room.db.get("presetRegex") or (), own, *(module.get("regex") or () for module in modules))
    result = ScriptRunner(scripts).run(case.input["text"], case.input["mode"], scope)
    answered: dict[str, Any] = {"text": result.text}
    if result.stored is not None:
        answered["message_after"] = result.stored
    return {**answered, "emotion_changed": True} if result.emotion else answered


def _triggered(case: Case) -> Any:
    room = room_of(case)
    scope = scope_of(room)
    modules = [module for module in room.db.get("modules", ()) if module["id"] in room.db.get("enabledModules", ())]
    triggers = [
        *read_triggers(
            room.char["triggerscript"] or case.input["triggers"], low_level=bool(room.char.get("lowLevelAccess"))
        ),
        *(
            trigger
            for module in modules
            for trigger in read_triggers(module.get("trigger") or (), low_level=bool(module.get("lowLevelAccess")))
        ),
    ]
    inputs = TriggerInputs(
        scope=scope,
        lorebook=room.char["globalLore"],
        author_note=room.chat["note"],
        global_note=room.char["replaceGlobalNote"],
        display_data=case.input.get("display_data"),
    )
    outcome = run_triggers(triggers, case.input["mode"], inputs, name=case.input.get("name"))
    if outcome is None:
        return None
    answered: dict[str, Any] = {
        "system_prompts": outcome.prompts,
        "stop_sending": outcome.stop_sending,
        "send_ai_prompt": outcome.send_prompt,
        "tokens": outcome.tokens,
        "messages": [{"role": message["role"], "data": message["data"]} for message in outcome.messages],
        **_changed(scope.variables, outcome.variables),
    }
    if outcome.lorebook is not None:
        names = ("key", "comment", "content", "insertorder")
        answered["lorebook"] = [{name: entry[name] for name in names} for entry in outcome.lorebook]
    if outcome.author_note is not None:
        answered["author_note"] = outcome.author_note
    if outcome.display_data is not None:
        answered |= {"display_data": outcome.display_data, "temp_vars": outcome.temporary}
    return answered


_ANSWERS: Final[Mapping[str, Callable[[Case], Any]]] = {"cbs": _expanded, "regex": _rewritten, "trigger": _triggered}
"""How the cases of a kind are answered, by the first part of their area."""


def answer(case: Case) -> Any:
    """Our answer in the case's terms."""
    return _ANSWERS[case.area.partition(".")[0]](case)


def counted(case: Case, actual: Any) -> tuple[Any, Any]:
    """What the original answered, and ours, as far as both are compared."""
    return case.expected, actual
