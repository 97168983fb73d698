"""The runner of SillyTavern 1.19 cases: a case's input as a `BuildRequest`, our plan in the case's terms.

The case format is described in the vectors' own README. Input fields that a request has under another name are moved; what
only SillyTavern has goes to ``request.settings`` under its own name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from innkeeper.content.chat import OURS
from innkeeper.prompt import BuildRequest, Randomness
from innkeeper.prompt.data import EMPTY, thaw
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.plan import Plan
from scripts.parity.case import Case

_NOW: Final = "2026-01-15T12:34:56Z"
_TEXTS: Final = {"prompt_placeholder": "(begin)", "tool_call_text": "I'm going to call a tool for that: "}
"""What the original puts in where nobody speaks, as the cases were recorded: its settings, not ours."""
_COUNTED: Final = (
    "messages", "prompt", "stop", "banned_strings", "texts", "variables_local", "variables_global", "token_usage",
    "systemPrompt", "contents", "system_instruction", "chatHistory", "message", "named", "plain", "metadata", "timed",
)  # fmt: skip
_COUNTED_LORE: Final = ("activated", "overflowed", "budget")
_SETTINGS: Final = (
    "character_filename", "character_tags", "chat_id", "chat_metadata", "wi_settings", "power_user", "text",
    "character_note", "cfg", "regex", "import_character_book", "character_allowed_regex", "preset_allowed_regex",
    "server", "bias_presets",
)  # fmt: skip


def request_of(given: Mapping[str, Any], generation: Mapping[str, Any] | None = None) -> BuildRequest:
    """The build request of a case's input (``kind`` absent or ``macro``), for one of its generations."""
    from innkeeper.content.chat import ChatLog

    step = dict(given.get("generation") or {} if generation is None else generation)
    schema = step.pop("json_schema", None)
    api = given.get("api", "chat")
    settings = {key: given[key] for key in _SETTINGS if key in given}
    books = given.get("world_info") or []
    if (given.get("group") or {}).get("speaker"):  # the note and the book are the first member's
        settings.pop("character_note", None)
        books = [book for book in books if book.get("scope") != "character"]
    return BuildRequest.of(
        {
            "tavern": "silly",
            "dialect": "text" if api == "text" else "openai",
            "character": given.get("character"),
            "user": given.get("persona") or {"name": "User"},
            "group": given.get("group"),
            "history": ChatLog.of(given.get("chat") or []).to_messages(hidden=True),
            "message": step.pop("user_input", ""),
            "generation": step.pop("type", None) or "normal",
            "preset": given.get("preset"),
            "lorebooks": books,
            "injections": [_injection(item) for item in _by_key(given.get("injections") or ())],
            "authors_note": given.get("authors_note"),
            "variables": {scope: (given.get("variables") or {}).get(scope) or {} for scope in ("local", "global")},
            "tools": given.get("tools") or [],
            "model": _tokenizer(given),
            "context_window": _window(given),
            "now": given.get("now") or _NOW,
            "seed": given.get("seed", 1),
            "options": {"response_format": _response_format(schema)} if schema else {},
            "settings": {"generation": step, "import_character_book": False, **_TEXTS, **settings},
        }
    )


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    named = {name: schema[name] for name in ("name", "description", "strict") if name in schema}
    return {"type": "json_schema", "json_schema": {**named, "schema": schema["value"]}}


_WINDOW: Final = 8192
"""The original's window where a case says none. The model is a tokenizer here, whose own window says nothing."""


def _window(given: Mapping[str, Any]) -> int | None:
    text, preset = given.get("text") or {}, given.get("preset") or {}
    is_named = text.get("max_context") if given.get("api") == "text" else preset.get("openai_max_context")
    return None if is_named else _WINDOW


_NOT_HERE: Final = {"makersuite": "gemma", "vertexai": "gemma", "ai21": "jamba"}
"""The tokenizers, beside those that are here, that sources count by, whatever the model."""


def _tokenizer(given: Mapping[str, Any]) -> str:
    """The tokenizer a case was counted by, which is the model to this tavern.

    ``counted_by`` in a case names another where the source's own may not be shipped and no count is expected.
    """
    from innkeeper.taverns.silly.chat.room import BY_SOURCE

    if given.get("counted_by"):
        return str(given["counted_by"])
    if given.get("api") == "text":
        return given.get("tokenizer") or "none"
    source = (given.get("preset") or {}).get("chat_completion_source")
    return BY_SOURCE.get(str(source)) or _NOT_HERE.get(str(source)) or given.get("tokenizer") or "gpt-4o"


def _by_key(items: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """Injections as SillyTavern keeps them: a later one takes the place of an earlier one of its key."""
    return {item["key"]: item for item in items}.values()


def _injection(item: Mapping[str, Any]) -> dict[str, Any]:
    from innkeeper.prompt.run.extensions import InjectionPosition

    roles = {0: "system", 1: "user", 2: "assistant"}
    return {
        "id": item["key"],
        "content": item.get("value") or "",
        "position": InjectionPosition.of(item.get("position", 0)),
        "depth": item.get("depth") or 0,
        "scan": bool(item.get("scan")),
        "role": roles.get(item.get("role") or 0, "system"),
    }


def input_of(case: Case) -> Any:
    """A case's input: a merge patch (RFC 7396) over the one its file shares, where there is such a one."""
    shared = case.base.get("input")
    return case.input if shared is None else merged(shared, case.input)


def merged(value: Any, patch: Any) -> Any:
    """A JSON value with a merge patch over it: members of objects, ``null`` for one that goes; anything else is replaced."""
    if not isinstance(patch, Mapping):
        return patch
    members = dict(value) if isinstance(value, Mapping) else {}
    for name, part in patch.items():
        if part is None:
            members.pop(name, None)
        else:
            members[name] = merged(members.get(name), part)
    return members


def answer(case: Case) -> Any:
    """Our answer to a case, in the shape of its ``expected``."""
    given = input_of(case)
    kind = given.get("kind")
    if kind == "folder":
        return _from_folder(case)
    if kind in _KINDS:
        return _KINDS[kind](given)
    if given.get("steps"):
        return {"steps": _steps(given)}
    return _facts(_build(request_of(given)), given)


_UNCOUNTED_METADATA: Final = frozenset({"integrity", "tainted", "chat_id_hash", "persona", OURS})
"""Keys of a chat's metadata that are the page's own, or ours; a persona that is gone the page takes out, and we do not."""


def _from_folder(case: Case) -> dict[str, Any]:
    """A case of a whole install: the folder beside the case's file, with settings changed, and what is opened in it."""
    from innkeeper.taverns.silly.install import Install

    given = case.input
    install = Install.open(Path(case.source).parent / given["folder"], changes=given.get("settings") or {})
    prepared = install.prepare(
        given.get("speaker") if given.get("group") else given.get("character"),
        group=given.get("group"),
        chat=given.get("chat"),
        message=given.get("message") or "",
        generation=given.get("generation") or "normal",
        now=given.get("now") or _NOW,
        seed=given.get("seed", 1),
    )
    plan = _build(prepared.request, media=prepared.media)
    facts = _facts(plan, {"api": "text" if prepared.request.dialect == "text" else "chat"})
    kept = prepared.chat.with_(plan).metadata
    return facts | {"metadata": {key: thaw(value) for key, value in kept.items() if key not in _UNCOUNTED_METADATA}}


def _build(request: BuildRequest, chance: Any = None, media: Any = None) -> Plan:
    """The plan by SillyTavern's rules, drawing from one stream as it does (``chance``: the stream of earlier steps)."""
    from innkeeper.prompt import Ports
    from innkeeper.taverns import silly

    options = {"trimming": {"on_overflow": "warn"}, "fit": {"keep_user": False}}
    ports = Ports(random=lambda seed: chance or Randomness.shared(seed), media=media)
    return silly.build(request.with_(step_options=options), ports)


def _converted(given: Mapping[str, Any]) -> Any:
    from innkeeper.dialects.sillytavern.conversion import Texts
    from innkeeper.dialects.sillytavern.dialect import convert

    if given.get("fn") == "claude_cache_depth":
        return {"messages": _marked(given)}
    return convert(given, Texts(placeholder=_TEXTS["prompt_placeholder"], tool_call=_TEXTS["tool_call_text"]))


def _marked(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Messages as Claude's source has them, with the marks of its cache at a depth."""
    from innkeeper.dialects.sillytavern.caching import mark_depths

    mark = {"type": "ephemeral", "ttl": given.get("ttl") or "5m"}
    return mark_depths(list(given["messages"]), given["depth"], mark)


def _requested(given: Mapping[str, Any]) -> Any:
    """The provider's body for a request of the original's page."""
    from innkeeper.dialects.sillytavern.conversion import Texts
    from innkeeper.dialects.sillytavern.dialect import body_of_page

    texts = Texts(placeholder=_TEXTS["prompt_placeholder"], tool_call=_TEXTS["tool_call_text"])
    return {"server_request": {"body": body_of_page(given["request"], given.get("server"), texts).body}}


def _texts(given: Mapping[str, Any]) -> Any:
    from innkeeper.prompt import Ports
    from innkeeper.taverns import silly

    texts, variables = silly.substitute(request_of(given), given["texts"], Ports(random=Randomness.shared))
    return {"texts": texts, **_variables(variables)}


def _token_counts(given: Mapping[str, Any]) -> Any:
    from innkeeper.tokens import sillytavern

    return sillytavern.counts(given["text"])


_KINDS: Final[Mapping[Any, Callable[[Mapping[str, Any]], Any]]] = {
    "convert": _converted,
    "body": _requested,
    "tokens": _token_counts,
    "macro": _texts,
}
"""What answers a case of each kind that is not a build."""


def _steps(given: Mapping[str, Any]) -> list[Any]:
    """Several generations on one chat, drawing from one stream, each with the state and the chat as the one before left them."""
    chat = list(given.get("chat") or [])
    answers: list[Any] = []
    carry: Any = None
    chance = Randomness.shared(given.get("seed", 1))
    variables = given.get("variables")
    for step in given["steps"]:
        if step.get("truncate") is not None:
            del chat[step["truncate"] :]
        chat += step.get("append") or []
        request = request_of({**given, "chat": chat, "variables": variables}, step.get("generation"))
        try:
            plan = _build(request.with_(lore_state=carry), chance)
        except InnkeeperError as error:
            answers.append({"error": error.to_dict()})
            continue
        answers.append(_facts(plan, given))
        carry, variables = plan.carry, plan.variables
        chat = _left(chat, plan)
    return answers


def _left(chat: list[Any], plan: Plan) -> list[Any]:
    """The chat as a generation leaves it: without a reply to make anew, its first message resolved, what was typed at its end."""
    request, stored = plan.request, plan.stored or EMPTY
    if request is None or (request.settings.get("generation") or EMPTY).get("dry_run"):
        return chat
    if request.generation == "regenerate" and request.group is None and chat and not chat[-1].get("is_user"):
        chat = chat[:-1]
    for index, text in stored.get("messages", EMPTY).items():
        chat[int(index)] = {**chat[int(index)], "mes": text}
    if "message" in stored:
        bias, hidden = stored.get("message_bias"), stored.get("message_hidden", False)
        extra = {"bias": bias} if bias else {}
        line = {"is_user": not hidden, "is_system": hidden, "mes": stored["message"], "extra": extra}
        chat = [*chat, line]
    return chat


def _facts(plan: Plan, given: Mapping[str, Any]) -> dict[str, Any]:
    """A plan in the words of a case's ``expected``; the original stops at a story string that we warn of."""
    broken = [note for note in plan.warnings if note.where is not None and note.where.path == "story_string"]
    if broken:
        return {"error": broken[0].to_dict()}
    lore = plan.lore
    activated = [{"world": item.book, "uid": item.uid} for item in lore.activated]
    wi = {"activated": activated, "overflowed": lore.overflowed, "budget": lore.budget, "loops": lore.loops}
    facts: dict[str, Any] = {"wi": wi, **_variables(plan.variables)}
    if given.get("api") == "text":
        body = plan.to_messages("text")
        facts |= {
            "prompt": body["prompt"],
            "stop": list(plan.stop),
            "banned_strings": plan.options.get("banned_strings"),
            "body": {"guidance_scale": 1, "negative_prompt": "", **_chosen(plan.options, _GUIDED)},
        }
    else:
        facts |= {"messages": _sent(_page_messages(plan)), "token_usage": plan.trim_report.filled_tokens}
    if given.get("record_timed"):
        facts["timed"] = _timed(plan)
    if given.get("capture_server"):
        from innkeeper.taverns import silly

        facts["server_request"] = {"body": silly.to_provider(plan).body}
    return facts


def _timed(plan: Plan) -> Any:
    """The table of timed effects that the chat has after a generation. A dry run stores nothing: it is what was carried."""
    metadata = (plan.stored or EMPTY).get("chat_metadata", EMPTY)
    if "timedWorldInfo" in metadata:
        return thaw(metadata["timedWorldInfo"])
    return {
        kind: {key: {"protected": False, **effect} for key, effect in effects.items()}
        for kind, effects in thaw(plan.carry["timed"]).items()
    }


def _page_messages(plan: Plan) -> list[dict[str, Any]]:
    """The messages as SillyTavern's page makes them."""
    from innkeeper.dialects.sillytavern.dialect import PageMessages

    if not any(block.attachments for block in plan.blocks):
        messages: list[dict[str, Any]] = plan.to_messages("openai")
        return messages
    return list(PageMessages("sillytavern").messages(plan.messages, {}).body)


_GUIDED: Final = ("guidance_scale", "negative_prompt")
"""Parts of a text-completion request beside the prompt that count where a case has them."""


def _chosen(fields: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: fields[name] for name in names if name in fields}


def _sent(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages as SillyTavern writes them: a message of tool calls without text has no content."""
    return [
        {key: value for key, value in message.items() if key != "content" or value or "tool_calls" not in message}
        for message in messages
    ]


def _variables(scopes: Mapping[str, Any]) -> dict[str, Any]:
    return {f"variables_{scope}": dict(scopes.get(scope) or {}) for scope in ("local", "global") if scopes.get(scope)}


def counted(case: Case, found: Any) -> tuple[Any, Any]:
    """The parts of the expected and the found answer that must agree.

    A typed error of ours agrees with an error of the original's in the same case. Where the original stopped with a
    message on the screen it still made a prompt, which must agree. Of token counts only those of tokenizers that are here.
    A case in which nothing is recorded that counts does not agree.
    """
    expected = case.expected if isinstance(case.expected, dict) else {}
    if isinstance(case.input, dict) and case.input.get("kind") == "tokens":
        return _counts_here(expected, found)
    if "steps" in expected:
        theirs, ours = expected["steps"], found.get("steps", [])
        pairs = [_pair(*step) for step in zip(theirs, ours, strict=False)]
        return (
            {"steps": [a for a, _ in pairs], "n": len(theirs)},
            {"steps": [b for _, b in pairs], "n": len(ours)},
        )
    return _pair(expected, found)


def _counts_here(expected: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[Any, Any]:
    """The counts that can be compared. A case of which none can is not agreed."""
    theirs = {
        key: {name: count for name, count in expected[key].items() if name not in found.get("unavailable", ())}
        for key in expected
    }
    ours = {key: {name: found[key].get(name) for name in theirs[key]} for key in theirs if key in found}
    return theirs, ours if any(theirs.values()) else None


def _pair(expected: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[Any, Any]:
    if "error" in expected:
        return {"error": True}, {"error": "error" in found}
    if "error" in found:
        return {"error": False}, {"error": found["error"].get("message")}
    keys = [key for key in _COUNTED if key in expected]
    theirs: dict[str, Any] = {key: expected[key] for key in keys}
    ours: dict[str, Any] = {key: found.get(key) for key in keys}
    if "wi" in expected:
        theirs["wi"] = {key: expected["wi"][key] for key in _COUNTED_LORE if key in expected["wi"]}
        ours["wi"] = {key: found["wi"].get(key) for key in theirs["wi"]}
    if expected.get("body") and "body" in found:
        theirs["body"], ours["body"] = _chosen(expected["body"], _GUIDED), found["body"]
    if "server_request" in expected:
        theirs["server_request"] = (expected["server_request"] or {}).get("body")
        ours["server_request"] = (found.get("server_request") or {}).get("body")
    return theirs, ours if theirs else None
