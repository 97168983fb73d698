"""The answers to RisuAI's cases of lorebooks, prompts and requests: its own objects as a `BuildRequest`, our plan in its words.

Cases were recorded from 166.3.3; those that are marked ``later`` hold for the versions after it. A case counts tokens by four
units of UTF-16 each, or as it says itself, and draws from one generator (mulberry32).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from innkeeper.prompt import BuildRequest, Plan, Ports, Randomness
from innkeeper.prompt.determinism import Mulberry32
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


def counted(case: Case, found: Any) -> tuple[Any, Any]:
    """The parts of the expected and the found answer that must agree; of an error only that there is one."""
    if case.area.partition(".")[0] not in ANSWERS:
        return risu.counted(case, found)
    expected = {"vars": {}, **case.expected} if "actives" in case.expected else case.expected
    if "throws" in expected or expected.get("sent") is False:
        return {"throws": True}, {"throws": "error" in found} if isinstance(found, dict) else found
    return expected, {name: found.get(name, "(missing)") for name in expected} if isinstance(found, dict) else found


_DELIBERATE: Final[Mapping[str, str]] = {
    "reformat/edge/01": "a prompt of system messages alone is sent as it is; RisuAI crashes",
}
"""Cases that differ on purpose, with the reason."""


def reason_for(case: Case) -> str | None:
    """Why a case that differs does so on purpose, where it does."""
    return _DELIBERATE.get(case.name)


def _prompt(case: Case) -> dict[str, Any]:
    is_group = "members" in case.input
    messages = [_message(block, flagged=not is_group) for block in build_of(case).blocks]
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


def _lorebook(case: Case) -> dict[str, Any]:
    """The entries that fire, without a build: RisuAI expands the macros of the chat before it, and was not asked to here."""
    from innkeeper.taverns.risu.lore.activation import LoreQuery, scan
    from innkeeper.taverns.risu.lore.compiled import compile_lore
    from innkeeper.taverns.risu.lore.entry import stored_entries

    objects, former = objects_of(case), profile_of(case) == "166.3.3"
    own, db, chat = objects["character"].get("loreSettings") or {}, objects["database"], objects["chat"]
    variables, counter = variables_of(case), CaseCounter(case.input.get("token_counts") or {})
    entries = case.input.get("lorebook", objects["character"].get("globalLore") or [])
    outcome = scan(
        compile_lore(stored_entries(entries), full_words=bool(own.get("fullWordMatching")), keep_slash=former),
        LoreQuery(
            messages=[(message["role"], message["data"]) for message in chat["message"]],
            budget=own.get("tokenBudget", db["loreBookToken"]),
            depth=own.get("scanDepth", db["loreBookDepth"]),
            recursive=own.get("recursiveScanning", True),
            greeting=chat.get("fmIndex", -1) + 1,
            variables=variables,
            random=Mulberry32(request_of(case).seed),
            count=counter.count,
            report=lambda _what, _why: None,
            first_text_only=former,
            leak=former,
        ),
    )
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

    given = case.input
    lines = [
        PromptLine(
            role=each["role"],
            pieces=(Piece(each["content"], Origin("case")),),
            thoughts=tuple(each.get("thoughts") or ()),
            cache_point=bool(each.get("cachePoint")),
        )
        for each in given["messages"]
    ]
    replacement = given.get("systemContentReplacement") or ""
    role = given.get("systemRoleReplacement") or "user"
    return {
        "messages": [
            {
                "role": each.role,
                "content": each.content,
                **({"thoughts": list(each.thoughts)} if each.thoughts else {}),
                **({"cachePoint": True} if each.cache_point else {}),
            }
            for each in flagged(lines, given["flags"], replacement=replacement, role=role)
        ]
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
}
"""What answers the cases of each area, by the first part of its name."""
