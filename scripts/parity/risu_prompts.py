"""The answers to RisuAI's cases of lorebooks, prompts and requests: its own objects as a `BuildRequest`, our plan in its words.

Cases were recorded from 166.3.3; those that are marked ``later`` hold for the versions after it. A case counts tokens by four
units of UTF-16 each, or as it says itself, and draws from one generator (mulberry32).
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.prompt import BuildRequest, Plan, Ports, Randomness
from innkeeper.prompt.determinism import Mulberry32
from innkeeper.prompt.errors import InputError, UnavailableError, UnsupportedError, UsageError
from scripts.parity import risu
from scripts.parity.case import Case

_SEED: Final = 42
_PARTS: Final = ("db", "char", "chat")


class CaseCounter:
    """Counts as a case does: by its own table, else a token for each four units of UTF-16."""

    def __init__(self, table: Mapping[str, int]) -> None:
        self._table = table

    def count(self, text: str, model: str | None = None) -> int:
        """The tokens of a text."""
        return self._table.get(text, -(-len(text.encode("utf-16-le", "surrogatepass")) // 8))

    def describe(self, model: str | None = None) -> Mapping[str, Any]:
        """The name of the rule."""
        return {"name": "char4"}


def profile_of(case: Case) -> str:
    """The version that a case was recorded from."""
    return "later" if case.raw.get("later") or "expected_166_3_3" in case.raw else "166.3.3"


def objects_of(case: Case) -> dict[str, Any]:
    """RisuAI's objects of a case: settings, character (or group), chat, and the members of a group."""
    options = {**case.input, **(case.input.get("options") or {})}
    db, char, chat = ({**case.base.get(part, {}), **(options.get(part) or {})} for part in _PARTS)
    shared = {**db.get("globalChatVariables", {}), **(options.get("globals") or {})}
    objects = {"database": {**db, "globalChatVariables": shared}, "character": char, "chat": chat}
    if "members" in options:
        objects |= {"members": options["members"], "speaker": options.get("speaker_index", 0)}
    return objects


def variables_of(case: Case) -> dict[str, Any]:
    """The variables of the chat before the case."""
    options = {**case.input, **(case.input.get("options") or {})}
    return dict(options.get("vars") or {})


def request_of(case: Case) -> BuildRequest:
    """The build request of a case."""
    return BuildRequest(
        tavern="risu",
        profile=profile_of(case),
        settings={"risu": objects_of(case)},  # type: ignore[arg-type] # frozen by the request
        variables={"local": variables_of(case)},  # type: ignore[arg-type]
        now=case.base.get("clock_iso"),
        seed=(case.input.get("options") or {}).get("seed", _SEED),
    )


def build_of(case: Case, *, flags: bool = False) -> Plan:
    """The plan of a case, as it is before the flags of its model unless they are asked for."""
    from innkeeper.taverns.risu import TAVERN

    request = request_of(case).with_(step_options={"request_flags": {"flags": []}})
    ports = Ports(token_counter=CaseCounter(case.input.get("token_counts") or {}), random=Randomness.shared)
    return TAVERN.build(request, ports, pipeline=None if flags else TAVERN.pipeline.without("request_flags"))


def counted(case: Case, actual: Any) -> tuple[Any, Any]:
    """The parts of the expected and the actual answer that must agree; of an error only that there is one."""
    if case.area.partition(".")[0] not in ANSWERS:
        return risu.counted(case, actual)
    expected = {"vars": {}, **case.expected} if "actives" in case.expected else case.expected
    failed = isinstance(expected, dict) and (
        "throws" in expected or "error" in expected or expected.get("sent") is False
    )
    if case.area.startswith("format.") and not failed:
        return expected, _as_expected(expected, actual)
    if "preview" in expected:
        body = expected["preview"].get("body")
        body = {"error": True} if body is None else {"body": {key: body[key] for key in body if key not in _NOT_OURS}}
        return {"preview": body}, actual
    if failed:
        return {"throws": True}, {"throws": "error" in actual} if isinstance(actual, dict) else actual
    return expected, {name: actual.get(name, "(missing)") for name in expected} if isinstance(actual, dict) else actual


def _as_expected(expected: Any, actual: Any) -> Any:
    """The fields that are expected, at each level; fields of RisuAI's own that no prompt depends on agree."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        ours = {**{key: expected[key] for key in expected if key in _PAGE_FIELDS}, **actual}
        return {key: _as_expected(expected[key], ours.get(key, "(missing)")) for key in expected}
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [_as_expected(*pair) for pair in zip(expected, actual, strict=True)]
    return actual


_PAGE_FIELDS: Final = frozenset({"extentions", "loreCache"})


_DELIBERATE: Final[Mapping[str, str]] = {
    "format/lore_external/01": "a book is read in the words of one program; this one mixes those of three",
    "reformat/edge/01": "a prompt of system messages alone is sent as it is; RisuAI crashes",
}
"""Cases that differ on purpose, with the reason."""


def reason_for(case: Case) -> str | None:
    """Why a case that differs does so on purpose, where it does."""
    return _DELIBERATE.get(case.name)


def _prompt(case: Case) -> dict[str, Any]:
    is_group = "members" in case.input
    messages = [_message(block, flagged=not is_group) for block in build_of(case).enabled_blocks]
    expected = (case.expected or {}).get("messages") or []
    for message, known in zip(messages, expected, strict=False):
        if known.get("memo") == "<uuid>":
            message["memo"] = known["memo"]
    return {"messages": messages, "last_memory": None}


def _message(block: Any, *, flagged: bool = True) -> dict[str, Any]:
    """A block in RisuAI's words."""
    facts, own = block.metadata, block.message_metadata
    message: dict[str, Any] = {"role": block.role, "content": block.content}
    message |= {"name": block.name} if block.name else {}
    message |= {"memo": facts["memo"]} if facts.get("memo") else {}
    message |= {"removable": True} if block.removable and flagged else {}
    message |= {"attr": ["nameAdded"]} if facts.get("name_added") else {}
    message |= {"thoughts": [item["text"] for item in own["reasoning"]]} if own.get("reasoning") else {}
    return message | ({"cachePoint": True} if own.get("cache_control") else {})


def lore_of(case: Case, variables: dict[str, Any]) -> Any:
    """The outcome of a scan without a build: RisuAI expands the macros of the chat before it, and was not asked to here."""
    from innkeeper.taverns.risu.lore.activation import LoreQuery, scan
    from innkeeper.taverns.risu.lore.compiled import compile_lore
    from innkeeper.taverns.risu.lore.entry import stored_entries
    from innkeeper.taverns.risu.stored import RisuSettings, module_list, read_stored

    objects, former = objects_of(case), profile_of(case) == "166.3.3"
    own, db, chat = objects["character"].get("loreSettings") or {}, objects["database"], objects["chat"]
    own_entries = case.input.get("lorebook", objects["character"].get("globalLore") or [])
    modules = module_list(
        read_stored(RisuSettings, db), chat.get("modules") or [], objects["character"].get("modules") or []
    )
    lists = [own_entries, chat.get("localLore"), *(module.get("lorebook") for module in modules)]
    entries = [entry for each in lists for entry in stored_entries(each)]
    return scan(
        compile_lore(entries, full_words=bool(own.get("fullWordMatching")), keep_slash=former),
        LoreQuery(
            messages=[(message["role"], message["data"]) for message in chat["message"]],
            budget=own.get("tokenBudget", db["loreBookToken"]),
            depth=own.get("scanDepth", db["loreBookDepth"]),
            recursive=own.get("recursiveScanning", True),
            greeting=chat.get("fmIndex", -1) + 1,
            variables=variables,
            random=Mulberry32(request_of(case).seed),
            count=lambda texts: list(map(CaseCounter(case.input.get("token_counts") or {}).count, texts)),
            report=lambda _what, _why: None,
            first_text_only=former,
            leak=former,
        ),
    )


def _lorebook(case: Case) -> dict[str, Any]:
    """The entries that fire."""
    variables = variables_of(case)
    outcome = lore_of(case, variables)
    matches = [{"source": match.source, "activated": match.key} for match in outcome.matches]
    return {"actives": [_active(item) for item in outcome.active], "match_log": matches, "vars": variables}


def _active(item: Any) -> dict[str, Any]:
    injection = item.injection
    names = ("operation", "location", "param", "lore")
    return {
        "depth": item.depth,
        "pos": item.position,
        "prompt": item.text,
        "role": item.role,
        "order": item.order,
        "tokens": item.tokens,
        "priority": item.priority,
        "source": item.source,
        "inject": None if injection is None else {name: getattr(injection, name) for name in names},
    }


def _reformat(case: Case) -> dict[str, Any]:
    from innkeeper.prompt.block import Origin, Piece
    from innkeeper.taverns.risu.line import PromptLine
    from innkeeper.taverns.risu.request_flags import flagged

    inputs = case.input
    lines = [
        PromptLine(
            role=each["role"],
            pieces=(Piece(each["content"], Origin("case")),),
            thoughts=tuple(each.get("thoughts") or ()),
            cache_point=bool(each.get("cachePoint")),
        )
        for each in inputs["messages"]
    ]
    replacement = inputs.get("systemContentReplacement") or ""
    role = inputs.get("systemRoleReplacement") or "user"
    return {
        "messages": [
            {
                "role": each.role,
                "content": each.content,
                **({"thoughts": list(each.thoughts)} if each.thoughts else {}),
                **({"cachePoint": True} if each.cache_point else {}),
            }
            for each in flagged(lines, inputs["flags"], replacement=replacement, role=role)
        ]
    }


_DEFAULTS: Final = {
    "temperature": 80,
    "frequencyPenalty": 70,
    "PresensePenalty": 70,
    "top_p": 1,
    "min_p": 0,
    "top_a": 0,
}
"""RisuAI's own sampling, where a case does not say."""

_NOT_OURS: Final = frozenset(
    {"model", "stream", "route", "transforms", "safe_prompt", "safety_mode", "thinking_tokens"}
)
"""Fields of a body that the page's other settings decide."""


def _payload(case: Case) -> dict[str, Any]:
    from innkeeper.taverns.risu.request_flags import request_body

    case = msgspec.structs.replace(case, base={**case.base, "db": {**_DEFAULTS, **case.base["db"]}})
    try:
        body = request_body(build_of(case, flags=True), case.input["model"])
    except UnsupportedError:
        return {"preview": {"error": True}}
    return {"preview": {"body": {name: value for name, value in body.items() if name not in _NOT_OURS}}}


def _format(case: Case) -> dict[str, Any]:
    kind = case.area.partition(".")[2]
    if kind not in _FORMATS:
        raise UnavailableError(f"{kind} of RisuAI is not a part of this project")
    return _FORMATS[kind]({**case.input, "note": case.raw.get("note")})


def _card(inputs: Mapping[str, Any]) -> dict[str, Any]:
    from innkeeper.content.character import Character
    from innkeeper.taverns.risu.imports import stored_character
    from innkeeper.taverns.risu.lore.entry import book_entries

    card = Character.of(dict(inputs["card"]))
    entries = [] if card.book is None else [_entry(each, imported=True) for each in book_entries(card.book)]
    return {"char_subset": stored_character(card), "lorebook": entries}


def _entry(each: Any, *, imported: bool) -> dict[str, Any]:
    entry = {
        "key": each.key,
        "secondkey": each.secondkey,
        "insertorder": each.insertorder,
        "comment": each.comment,
        "content": each.content,
        "mode": each.mode,
        "alwaysActive": each.always_active,
        "selective": each.selective,
    }
    return entry | ({"useRegex": each.use_regex} if imported else {})


def _external(inputs: Mapping[str, Any]) -> dict[str, Any]:
    from innkeeper.content.lorebook import Lorebook
    from innkeeper.taverns.risu.lore.entry import book_entries

    entries = book_entries(Lorebook.of({"entries": inputs["entries"]}))
    return {"lorebook": [_entry(each, imported=False) for each in entries]}


def _preset(inputs: Mapping[str, Any]) -> dict[str, Any]:
    from innkeeper.content.preset import Preset
    from innkeeper.taverns.risu.imports import imported_preset

    return {"preset_subset": imported_preset(Preset.of(inputs["st_preset"]))}


def _json_preset(inputs: Mapping[str, Any]) -> dict[str, Any]:
    from innkeeper.taverns.risu.imports import whole_preset

    return {"preset_subset": whole_preset(inputs["json"])}


def _packed(inputs: Mapping[str, Any]) -> dict[str, Any]:
    from innkeeper.content.files.loading import load_preset

    return {"preset_subset": dict(load_preset(b64decode(inputs["data_b64"])).raw)}


def _module(inputs: Mapping[str, Any]) -> dict[str, Any]:
    from innkeeper.content.files.risu import read_module

    try:
        return {"module": read_module(b64decode(inputs["data_b64"])).module}
    except InputError:
        return {"result": "undefined"}


def _rpacked(inputs: Mapping[str, Any]) -> dict[str, Any]:
    from innkeeper.content.files.risu import RPACK

    return {"encoded_b64": b64encode(inputs["plain_utf8"].encode().translate(RPACK)).decode()}


def _toggles(inputs: Mapping[str, Any]) -> dict[str, Any]:
    from innkeeper.taverns.risu.imports import read_toggles

    return {"items": read_toggles(inputs["text"])}


def _pairs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    from innkeeper.macros.cbs.scope import key_values

    return {"items": [list(pair) for pair in key_values(inputs["text"])]}


def _detected(inputs: Mapping[str, Any]) -> dict[str, Any]:
    from innkeeper.taverns.risu.imports import file_kind

    try:
        return {"type": file_kind(json.loads(inputs["text"]))}
    except ValueError:
        return {"type": file_kind(None)}


def _chat_ml(inputs: Mapping[str, Any]) -> dict[str, Any]:
    from innkeeper.macros.cbs import CbsScope, expand
    from innkeeper.taverns.risu.cards import read_chat_ml

    text = expand(inputs["text"], CbsScope(char="Sable", user="Mira")).text.strip()
    return {
        "messages": [{"role": role, "content": words, "thoughts": list(own)} for role, words, own in read_chat_ml(text)]
    }


def _completion(inputs: Mapping[str, Any]) -> dict[str, Any]:
    from innkeeper.prompt import Message
    from innkeeper.taverns.risu import completion_text

    template = inputs.get("template") or ("ooba" if inputs["note"] == "ooba" else "plain")
    messages = [Message.of(message) for message in inputs["messages"]]
    try:
        text = completion_text(messages, template, name=inputs.get("char", ""), goes_on=bool(inputs.get("continued")))
    except UsageError as error:
        return {"error": error.message}
    return {"text": text}


_FORMATS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "card": _card,
    "lore_external": _external,
    "st_preset": _preset,
    "preset_json": _json_preset,
    "risup": _packed,
    "risum": _module,
    "rpack": _rpacked,
    "toggle": _toggles,
    "keyvalue": _pairs,
    "chatml": _chat_ml,
    "detect": _detected,
    "instruct": _completion,
    "stringlize": _completion,
}


def answer(case: Case) -> Any:
    """Our answer to a case, in the shape of its ``expected``; macros and scripts answer in `scripts.parity.risu`."""
    own = ANSWERS.get(case.area.partition(".")[0])
    return risu.answer(case) if own is None else own(case)


ANSWERS: Final[Mapping[str, Callable[[Case], dict[str, Any]]]] = {
    "prompt": _prompt,
    "memory": _prompt,
    "lorebook": _lorebook,
    "reformat": _reformat,
    "payload": _payload,
    "format": _format,
}
"""What answers the cases of each area, by the first part of its name."""
