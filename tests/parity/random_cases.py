"""Random cases of the silly tavern, of the kinds that are rarely written by hand; the format is that of the golden cases.

``python -m tests.parity.random_cases KIND FIRST COUNT`` prints them as JSON: a running original fills in what it answers,
``innkeeper admin parity`` compares. A seed gives the same case everywhere. The kinds:

- ``persona``: personas with macros, at every position, with white space around them
- ``effects``: cards, prompts, notes and lore that set and count variables
- ``joined``: groups whose members' cards are joined
- ``crlf``: carriage returns in every text
- ``typed``: macros in what the user sends
- ``media``: images, titles and files of messages
- ``tools``: definitions, calls and results, with and without tool calling
- ``scripts``: regex scripts of all sources
- ``odd``: values of other types than a program would write
- ``blanks``: white space of all kinds around every text, and lore keys that see it
"""

from __future__ import annotations

import base64
import json
import random
import struct
import sys
import zlib
from collections.abc import Callable
from typing import Any, Final

__all__ = ["KINDS", "random_case"]

Draw = random.Random
Fields = dict[str, Any]

WORDS: Final = ("fog", "lamp", "tram", "brass", "key", "bell", "harbor", "watch", "rain", "guild", "kettle", "bridge")
EFFECTS: Final = (
    "{{incvar::n}}",
    "{{setvar::v::a}}",
    "{{addvar::v::b}}",
    "{{getvar::v}}",
    "{{getvar::n}}",
    "{{decvar::n}}",
    "{{setglobalvar::g::1}}",
    "{{getglobalvar::g}}",
    "{{addglobalvar::g::2}}",
    "{{random::x::y::z}}",
    "{{roll:1d6}}",
    "{{pick::p::q::r}}",
)
PLAIN: Final = (
    "{{char}}",
    "{{user}}",
    "{{lastMessage}}",
    "{{lastUserMessage}}",
    "{{lastCharMessage}}",
    "{{// note }}",
    "{{trim}}",
    "{{newline}}",
    "<USER>",
    "<BOT>",
    "{{persona}}",
    "{{scenario}}",
    "{{description}}",
    "{{personality}}",
    "{{group}}",
    "{{isodate}}",
    "{{if .v}}yes{{else}}no{{/if}}",
    "{{nope}}",
    "{{reverse::abc}}",
)
ROLES: Final = ("system", "user", "assistant")
SLOTS: Final = (
    "main",
    "worldInfoBefore",
    "personaDescription",
    "charDescription",
    "charPersonality",
    "scenario",
    "enhanceDefinitions",
    "nsfw",
    "worldInfoAfter",
    "dialogueExamples",
    "chatHistory",
    "jailbreak",
)
MARKERS: Final = frozenset(SLOTS) - {"main", "enhanceDefinitions", "nsfw", "jailbreak"}


def words(draw: Draw, least: int = 1, most: int = 6) -> str:
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(least, most)))


def text(draw: Draw, macros: tuple[str, ...] = PLAIN, share: float = 0.5) -> str:
    """Words with macros between them, now and then with white space around them."""
    parts = [words(draw, 1, 3) if draw.random() > share else draw.choice(macros) for _ in range(draw.randint(1, 5))]
    return (
        draw.choice(("", "", "", " ", "\n"))
        + draw.choice((" ", " ", "\n", "")).join(parts)
        + draw.choice(("", "", " ", "\n"))
    )


def maybe(draw: Draw, make: Callable[[], str], share: float = 0.5) -> str:
    return make() if draw.random() < share else ""


def card(draw: Draw, name: str, macros: tuple[str, ...]) -> Fields:
    def field(share: float = 0.6) -> str:
        return maybe(draw, lambda: text(draw, macros, 0.35), share)

    examples = "".join(
        f"<START>\n{{{{user}}}}: {words(draw)}\n{{{{char}}}}: {text(draw, macros, 0.3)}\n"
        for _ in range(draw.randint(0, 2))
    )
    depth = {"prompt": field(0.4), "depth": draw.randint(0, 4), "role": draw.choice(ROLES)}
    return {
        "spec": "chara_card_v2",
        "spec_version": "2.0",
        "data": {
            "name": name,
            "description": field(0.9),
            "personality": field(),
            "scenario": field(),
            "first_mes": words(draw),
            "mes_example": examples,
            "system_prompt": draw.choice(("", "", "Card. {{original}} " + field())),
            "post_history_instructions": draw.choice(("", "", "Tail. {{original}} " + field())),
            "creator_notes": "",
            "tags": [],
            "creator": "",
            "character_version": "",
            "alternate_greetings": [],
            "extensions": {"talkativeness": "0.5", "fav": False, "world": "", "depth_prompt": depth},
        },
    }


def line(speaker: str, is_user: bool, mes: str, **extra: Any) -> Fields:
    fields = {
        "name": speaker,
        "is_user": is_user,
        "is_system": False,
        "send_date": "2026-01-15T12:00:00.000Z",
        "mes": mes,
    }
    return fields | ({"extra": extra} if extra else {})


def chat(draw: Draw, macros: tuple[str, ...] = (), names: tuple[str, ...] = ("Mira",)) -> list[Fields]:
    def said() -> str:
        return text(draw, macros, 0.3) if macros and draw.random() < 0.4 else words(draw)

    lines = [line(names[0], False, words(draw))]
    turns = range(draw.randint(1, 7))
    return lines + [
        line(draw.choice(names), False, said()) if turn % 2 else line("Tomas", True, said()) for turn in turns
    ]


def preset(draw: Draw, macros: tuple[str, ...]) -> Fields:
    contents = {
        "main": text(draw, macros, 0.3),
        "nsfw": words(draw),
        "jailbreak": text(draw, macros, 0.3),
        "enhanceDefinitions": words(draw),
    }
    prompts: list[Fields] = [
        {"identifier": slot, "name": slot, "system_prompt": True, "marker": True}
        if slot in MARKERS
        else {"identifier": slot, "name": slot, "system_prompt": True, "role": "system", "content": contents[slot]}
        for slot in SLOTS
    ]
    own: list[Fields] = [
        {
            "identifier": f"own{number}",
            "name": f"own{number}",
            "system_prompt": False,
            "role": draw.choice(ROLES),
            "content": text(draw, macros, 0.4),
            "injection_position": draw.choice((0, 1)),
            "injection_depth": draw.randint(0, 3),
            "injection_order": draw.choice((100, 50)),
            "injection_trigger": [],
            "forbid_overrides": False,
            "marker": False,
        }
        for number in range(draw.randint(0, 2))
    ]
    order = [{"identifier": slot, "enabled": draw.random() > 0.08} for slot in SLOTS] + [
        {"identifier": p["identifier"], "enabled": True} for p in own
    ]
    return {
        "openai_max_context": draw.choice((700, 2000, 8192)),
        "openai_max_tokens": 150,
        "wi_format": "{0}",
        "scenario_format": "{{scenario}}",
        "personality_format": "{{personality}}",
        "group_nudge_prompt": "(Only {{char}} speaks.)",
        "new_chat_prompt": draw.choice(("--- scene ---", "")),
        "new_group_chat_prompt": "--- scene with {{group}} ---",
        "new_example_chat_prompt": "--- sample ---",
        "continue_nudge_prompt": "(Go on after: {{lastChatMessage}})",
        "impersonation_prompt": "(Write for {{user}}.)",
        "send_if_empty": draw.choice(("", "", "(silence)")),
        "assistant_prefill": "",
        "assistant_impersonation": "",
        "names_behavior": draw.choice((-1, 0, 0, 1, 2)),
        "squash_system_messages": draw.random() < 0.3,
        "continue_prefill": draw.random() < 0.3,
        "continue_postfix": " ",
        "function_calling": False,
        "custom_prompt_post_processing": "",
        "media_inlining": False,
        "prompts": [*prompts, *own],
        "prompt_order": [{"character_id": 100001, "order": order}],
    }


def entry(draw: Draw, uid: int, macros: tuple[str, ...]) -> Fields:
    return {
        "uid": uid,
        "key": [draw.choice(WORDS)],
        "keysecondary": [],
        "comment": "",
        "content": text(draw, macros, 0.4),
        "constant": draw.random() < 0.5,
        "selective": True,
        "selectiveLogic": 0,
        "order": draw.choice((100, 50, 10)),
        "position": draw.choice((0, 1, 4, 4, 2, 3, 5, 6)),
        "disable": False,
        "probability": 100,
        "useProbability": True,
        "depth": draw.randint(0, 3),
        "role": draw.choice((0, 1, 2)),
        "group": "",
        "groupWeight": 100,
        "vectorized": False,
    }


def base(draw: Draw, macros: tuple[str, ...] = PLAIN) -> Fields:
    """A whole case; what a kind is about is put in on top of it."""
    kind = draw.choice(("normal",) * 5 + ("continue", "impersonate", "swipe", "quiet"))
    return {
        "api": "chat",
        "character": card(draw, "Mira", macros),
        "character_filename": "mira_card",
        "chat_id": "Mira - 2026-01-15",
        "persona": {
            "name": "Tomas",
            "description": words(draw),
            "position": draw.choice((0, 0, 2, 3, 4, 9)),
            "depth": draw.randint(0, 3),
            "role": draw.randint(0, 2),
        },
        "world_info": [
            {
                "name": "W",
                "scope": "global",
                "entries": {str(uid): entry(draw, uid, macros) for uid in range(draw.randint(0, 3))},
            }
        ],
        "wi_settings": {"world_info_depth": 4, "world_info_budget": 50, "world_info_recursive": draw.random() < 0.3},
        "preset": preset(draw, macros),
        "chat": chat(draw),
        "authors_note": {
            "text": maybe(draw, lambda: text(draw, macros, 0.4)),
            "depth": draw.randint(0, 4),
            "position": draw.choice((0, 1, 1, 2)),
            "role": draw.randint(0, 2),
            "interval": draw.choice((1, 1, 2)),
        },
        "injections": [],
        "variables": {"local": {"v": "old", "n": 3}, "global": {"g": 5}},
        "power_user": {},
        "generation": {"type": kind} | ({"quiet_prompt": text(draw, macros, 0.3)} if kind == "quiet" else {}),
        "tokenizer": "gpt-4o",
        "now": "2026-01-15T12:34:56Z",
    }


def as_text(draw: Draw, case: Fields) -> Fields:
    """The case in text completion, with instruct sequences."""
    parts = ("system", "wiBefore", "description", "personality", "scenario", "wiAfter", "persona")
    story = "".join(f"{{{{#if {part}}}}}{{{{{part}}}}}\n{{{{/if}}}}" for part in parts)
    instruct = {
        "input_sequence": "<|user|>",
        "input_suffix": "<|end|>",
        "output_sequence": "<|bot|>",
        "output_suffix": "<|end|>",
        "system_sequence": "<|sys|>",
        "system_suffix": "<|end|>",
        "stop_sequence": "<|end|>",
        "wrap": draw.random() < 0.5,
        "macro": True,
        "names_behavior": draw.choice(("force", "none", "always")),
        "last_system_sequence": "",
        "first_input_sequence": "",
        "first_output_sequence": "",
        "last_input_sequence": "",
        "last_output_sequence": "",
        "story_string_prefix": "",
        "story_string_suffix": "",
        "user_alignment_message": "",
        "system_same_as_user": False,
        "sequences_as_stop_strings": True,
    }
    context = {
        "story_string": story + "{{trim}}",
        "chat_start": "=== story ===",
        "example_separator": "=== sample ===",
        "use_stop_strings": False,
        "names_as_stop_strings": True,
        "story_string_position": 0,
        "story_string_depth": 1,
        "story_string_role": 0,
    }
    prompt = {"enabled": True, "content": text(draw, PLAIN, 0.3), "post_history": maybe(draw, lambda: words(draw), 0.3)}
    settings = {"context": context, "sysprompt": prompt, "max_context": draw.choice((700, 8192)), "amount_gen": 150}
    if draw.random() < 0.7:
        settings["instruct"] = instruct
    return {key: value for key, value in case.items() if key != "preset"} | {
        "api": "text",
        "tokenizer": "none",
        "text": settings,
    }


def persona(draw: Draw) -> Fields:
    case = base(draw)
    case["persona"]["description"] = text(draw, PLAIN + EFFECTS, 0.6)
    return case


def effects(draw: Draw) -> Fields:
    case = base(draw, EFFECTS + PLAIN[:4])
    case["chat"] = chat(draw, EFFECTS)
    return case


def joined(draw: Draw) -> Fields:
    case = base(draw, (*PLAIN, "{{charIfNotGroup}}", "{{notChar}}", "{{Char}}", "{{incvar::n}}"))
    names = ("Mira", "Nell", "Odo")
    macros = (*PLAIN, "{{notChar}}", "{{groupNotMuted}}", "{{Char}}", "<FIELDNAME>", "{{incvar::n}}")
    members = [{"card": card(draw, name, macros), "filename": f"{name.lower()}_card"} for name in names]
    affixes = ("", "", "[<FIELDNAME> of {{char}}: ", "{{char}} > ", "(", " <fieldname> ")
    case["group"] = {
        "name": "Trio",
        "members": members,
        "speaker": draw.randint(0, 2),
        "disabled": draw.choice(([], [], [1], [0, 2])),
        "generation_mode": draw.choice((0, 1, 1, 2, 2)),
        "join_prefix": draw.choice(affixes),
        "join_suffix": draw.choice(("", "", "]", "{{newline}}", " {{trim}}")),
    }
    case["chat"] = chat(draw, PLAIN[:4], names)
    if draw.random() < 0.2:
        case["chat_metadata"] = {"scenario": draw.choice(("", " ", "Chat scene of {{char}}"))}
    return case


def crlf(draw: Draw) -> Fields:
    """Line feeds become carriage return and line feed in every text but chat names."""

    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("\n", "\r\n") if draw.random() < 0.8 else value.replace(" ", "\r", 1)
        if isinstance(value, dict):
            return {
                key: item if key in {"name", "role", "spec", "type"} else changed(item) for key, item in value.items()
            }
        return [changed(item) for item in value] if isinstance(value, list) else value

    case = base(draw)
    return case | {key: changed(case[key]) for key in ("character", "chat", "persona", "authors_note", "world_info")}


def typed(draw: Draw) -> Fields:
    case = base(draw, PLAIN + EFFECTS)
    bias = ('{{bias "Well,"}}', "{{bias 'So'}}", "")
    case["generation"] = {
        "type": "normal",
        "user_input": text(draw, PLAIN + EFFECTS, 0.5) + draw.choice((*bias, "", "")),
    }
    return case


def png(width: int, height: int) -> str:
    """A grey picture of that size, as a data URL."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(b"".join(b"\0" + bytes(width) for _ in range(height)), 9)
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(data).decode()


def media(draw: Draw) -> Fields:
    case = base(draw)
    quality = draw.choice(("auto", "low", "high"))
    case["preset"] |= {
        "media_inlining": draw.random() < 0.8,
        "inline_image_quality": quality,
        "openai_max_context": draw.choice((2000, 8192)),
    }
    for message in case["chat"]:
        if draw.random() < 0.5:
            continue
        extra: Fields = {}
        if draw.random() < 0.6:
            picture = {"url": png(draw.choice((8, 300, 513)), draw.choice((8, 512, 700))), "type": "image"}
            extra["media"] = [
                picture | draw.choice(({}, {"title": words(draw), "append_title": True}))
                for _ in range(draw.randint(1, 2))
            ]
            extra |= draw.choice(
                ({}, {"media_display": "gallery", "media_index": draw.randint(0, 2)}, {"inline_image": True})
            )
        if draw.random() < 0.3:
            extra |= {"title": words(draw), "append_title": draw.random() < 0.7}
        if draw.random() < 0.3:
            extra["files"] = [
                {"url": "/user/files/a.txt", "name": "a.txt", "size": 9, "created": 0, "text": text(draw)}
            ]
        message["extra"] = extra
    return case


def tools(draw: Draw) -> Fields:
    case = base(draw)
    case["preset"] |= {
        "function_calling": draw.random() < 0.8,
        "custom_prompt_post_processing": draw.choice(("", "", "merge_tools", "semi_tools", "strict_tools", "strict")),
    }
    parameters = {
        "type": "object",
        "properties": {"what": {"type": "string", "description": words(draw)}},
        "required": ["what"],
    }
    case["tools"] = [
        {"name": name, "description": words(draw), "parameters": parameters}
        for name in ("look", "wind")[: draw.randint(0, 2)]
    ]
    lines: list[Fields] = []
    for message in case["chat"]:
        lines.append(message)
        if draw.random() < 0.3:
            calls = [
                {
                    "id": f"call_{len(lines)}_{number}",
                    "displayName": "look",
                    "name": draw.choice(("look", "wind", "gone")),
                    "parameters": json.dumps({"what": words(draw)}),
                    "result": text(draw, PLAIN, 0.2),
                }
                for number in range(draw.randint(1, 2))
            ]
            lines.append(line("Mira", False, words(draw), tool_invocations=calls) | {"is_system": True})
    case["chat"] = lines
    return case


def scripts(draw: Draw) -> Fields:
    case = base(draw, PLAIN + EFFECTS[:5])
    finds = (
        "/fog/g",
        "/(la)(mp)/gi",
        "tram",
        "/\\b\\w+ (key|bell)/",
        "/^\\w+/gm",
        "/{{char}}/g",
        "Mira",
        "/[aeiou]+/g",
        "/(?<w>rain)/",
        "/\\s+$/",
        "/./s",
        "/(/",
    )
    replaces = ("", "[$0]", "<$1|$2>", "{{match}}!", "$<w>", "{{incvar::n}}", "{{char}}", "$$0", "*$3*", "{{user}}: ")

    def script(number: int) -> Fields:
        only = draw.choice(((True, False), (True, False), (False, True), (True, True), (False, False)))
        made: Fields = {
            "id": str(number),
            "scriptName": f"s{number}",
            "findRegex": draw.choice(finds),
            "replaceString": draw.choice(replaces),
            "trimStrings": draw.choice(([], [], ["a"], ["{{char}}", " "])),
            "placement": draw.sample((1, 2, 5, 6), draw.randint(1, 4)),
            "disabled": draw.random() < 0.08,
            "promptOnly": only[0],
            "markdownOnly": only[1],
            "runOnEdit": draw.random() < 0.5,
            "substituteRegex": draw.randint(0, 2),
            "minDepth": draw.choice((None, None, 0, 1, -1)),
            "maxDepth": draw.choice((None, None, 0, 3)),
        }
        reaches = any(number in made["replaceString"] for number in ("$1", "$3"))
        return made | ({"trimStrings": []} if reaches else {})  # the original stops where it trims a match's place

    case["regex"] = [script(number) for number in range(draw.randint(1, 4))]
    if draw.random() < 0.4:
        case["character"]["data"]["extensions"]["regex_scripts"] = [script(10)]
        case["character_allowed_regex"] = draw.choice((["mira_card.png"], []))
    case["power_user"] = {
        "reasoning": {
            "name": "x",
            "auto_parse": False,
            "add_to_prompts": draw.random() < 0.6,
            "prefix": "<think>",
            "suffix": "</think>",
            "separator": "\n",
            "max_additions": draw.randint(1, 2),
        }
    }
    for message in case["chat"]:
        if draw.random() < 0.3:
            message["extra"] = {"reasoning": words(draw)}
    return case


ODD: Final[tuple[Any, ...]] = (None, "", 0, 1, -1, "3", 2.5, True, False, [], {}, "text")


def odd(draw: Draw) -> Fields:
    """One to three values that are of another type than a program would write.

    Not those that the original stops at, and not those that it drops and that are read as what they mean here.
    """
    case = base(draw)
    prompt = draw.choice(case["preset"]["prompts"])
    entries = list(case["world_info"][0]["entries"].values()) or [{}]
    message = draw.choice(case["chat"])
    places: tuple[tuple[Fields, str, tuple[Any, ...]], ...] = (
        (case["character"]["data"]["extensions"]["depth_prompt"], "depth", (None, "2", -1, "")),
        (case["character"]["data"]["extensions"]["depth_prompt"], "role", (None, "tool", "", 1)),
        (case["character"]["data"], "tags", (None, ["a", "b"])),
        (case["persona"], "depth", (None, "1")),
        (case["persona"], "role", (None, "1")),
        (case["authors_note"], "depth", ("2", None)),
        (case["authors_note"], "interval", ("1", 0, -1)),
        (draw.choice(entries), "order", (None, "50", -5, 1.5)),
        (draw.choice(entries), "depth", (None, "2", 99)),
        (draw.choice(entries), "probability", ("100", None, 0)),
        (draw.choice(entries), "role", (None, "1")),
        (draw.choice(entries), "key", ([], ["", " "], ["fog", ""])),
        (draw.choice(entries), "constant", (1, "true", 0)),
        (prompt, "role", (None, "user")),
        (prompt, "injection_depth", ("2", None, 99)),
        (prompt, "content", ("", " ", "\n")),
        (case["preset"], "names_behavior", ("0", None)),
        (case["preset"], "squash_system_messages", (1, 0, "yes")),
        (message, "is_system", (1, 0, None)),
        (message, "is_user", (1, 0)),
        (message, "mes", ("", " ", "\n")),
        (message, "extra", ({}, {"type": "other"}, {"type": "narrator"})),
        (case, "chat_metadata", ({}, {"variables": {"v": 1}}, {"tainted": True, "x": [1]})),
    )
    for fields, key, values in draw.sample(places, draw.randint(1, 3)):
        fields[key] = draw.choice(values)
    return case


BLANKS: Final = (
    *"\ufeff\x1c\x1f\x85\xa0\u2003\u2028\u3000\u200b\x0b\n\t ",
    "\n\n",
)
SEEING: Final = (
    "/fog$/", "/(?:lamp|key)\\s+$/m", "/\\n\\n/", "/^.?Tomas: /m", "/\\x01/", "/bell\\n\\x01/", "/FOG/i", "/fog/d", "/lamp/v",
    "/key/gimsuy", "/rain/gg", "/a.b/s", "/\\u{66}og/u", "/\\u{66}og/", "/watch/x", "/tram\\//", "/br\\/ss/", "/[/]/",
    "/kettle\\\\/", "/bridge\\\\/x/", "fog\n", "bell\n", " lamp ", "rain\xa0", "\ufeffkey", "\x1ctram", "fog lamp", "fog\xa0lamp",
    "fog\x85lamp", "fog\ufefflamp", "/g\\sb/", "/\\S\\s\\s\\S/", "/./g", "//", "/",
)  # fmt: skip


def blanks(draw: Draw) -> Fields:
    """White space of all kinds around the texts of a case, between words of its chat, and keys that tell it from other text."""

    def spaced(value: str) -> str:
        ends = ["".join(draw.choice(BLANKS) for _ in range(draw.choice((0, 0, 1, 1, 2)))) for _ in range(2)]
        middle = value.replace(" ", draw.choice(BLANKS), 1) if draw.random() < 0.3 else value
        return f"{ends[0]}{middle}{ends[1]}"

    case = base(draw)
    card_fields = case["character"]["data"]
    places: list[tuple[Fields, str]] = [(message, "mes") for message in case["chat"]]
    places += [(card_fields, name) for name in ("description", "personality", "scenario", "system_prompt")]
    places += [(card_fields, "post_history_instructions"), (card_fields["extensions"]["depth_prompt"], "prompt")]
    places += [(case["persona"], "description"), (case["authors_note"], "text"), (case["preset"], "send_if_empty")]
    places += [(prompt, "content") for prompt in case["preset"]["prompts"] if "content" in prompt]
    for fields, name in places:
        if fields[name] or draw.random() < 0.2:
            fields[name] = spaced(fields[name])
    card_fields["mes_example"] = card_fields["mes_example"].replace("<START>", f"{draw.choice(BLANKS)}<START>")
    entries = {str(uid): entry(draw, uid, PLAIN) for uid in range(draw.randint(3, 9))}
    for item in entries.values():
        item |= {
            "key": [draw.choice(SEEING) for _ in range(draw.randint(1, 3))],
            "constant": False,
            "content": spaced(item["content"]),
        }
        item |= {"group": draw.choice(("", "", "g")), "useGroupScoring": draw.choice((None, True))}
        item |= {"matchWholeWords": draw.choice((None, True, False)), "caseSensitive": draw.choice((None, True))}
        if draw.random() < 0.3:
            item |= {"keysecondary": [draw.choice(SEEING)], "selectiveLogic": draw.randint(0, 3)}
    case["world_info"][0]["entries"] = entries
    case["wi_settings"] |= {"world_info_include_names": draw.random() < 0.5}
    return case


KINDS: Final[dict[str, Callable[[Draw], Fields]]] = {
    "persona": persona,
    "effects": effects,
    "joined": joined,
    "crlf": crlf,
    "typed": typed,
    "media": media,
    "tools": tools,
    "scripts": scripts,
    "odd": odd,
    "blanks": blanks,
}
CHAT_ONLY: Final = frozenset({"media", "tools", "odd"})


def random_case(kind: str, seed: int) -> Fields:
    """One case of a kind: name, area, description, input. A quarter is text completion where the kind is not of chats alone."""
    draw = random.Random(f"{kind} {seed}")  # noqa: S311 - the same cases everywhere, nothing secret
    case = KINDS[kind](draw) | {"seed": seed + 1}
    if kind not in CHAT_ONLY and draw.random() < 0.25:
        case = as_text(draw, case)
    return {"name": f"{kind}-{seed}", "area": kind, "description": f"random case of the kind {kind}", "input": case}


if __name__ == "__main__":
    chosen, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    json.dump(
        [random_case(chosen, seed) for seed in range(first, first + count)], sys.stdout, indent=1, ensure_ascii=False
    )
