"""Assets that want to run something, to be asked of somebody else, to break out of their place, or to be too much."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

ELSEWHERE: Final = "https://elsewhere.invalid"

SCRIPTS: Final = (
    "<script>ran()</script>",
    "<img src=x onerror=ran()>",
    f"<img src={ELSEWHERE}/seen.png>",
    "<svg onload=ran()><script>ran()</script><animate onbegin=ran() attributeName=x dur=1s></svg>",
    f"<iframe srcdoc='<script>top.ran()</script>' src={ELSEWHERE}></iframe>",
    "<a href=javascript:ran()>here</a><form action=javascript:ran()><button autofocus onfocus=ran()>x</button></form>",
    f"<style>@import url({ELSEWHERE}/a.css); * {{ display: none }}</style><link rel=stylesheet href={ELSEWHERE}>",
    f"</script></textarea></title>--><body onpageshow=ran()><base href={ELSEWHERE}>",
    f"<meta http-equiv=refresh content='0;url={ELSEWHERE}'>",
    "{@html '<img src=x onerror=ran()>'} {{constructor.constructor('ran()')()}} ${ran()} `${ran()}` <%= ran() %>",
    f"![a]({ELSEWHERE}/a.png) [b](javascript:ran()) <{ELSEWHERE}>",
    "\"'><b onmouseover=ran() style=position:fixed;inset:0>",
)
"""Texts of which each would run, or ask somebody else, where it is taken for HTML, CSS, Markdown or a template."""

BIDI: Final = "\u202egnp.exe\u202c \u2066\u2067\u2068 \u200f\u061c x\u200b\u200d\u2060y"
CONTROLS: Final = "a\x01\x02\x1b[31mred\x07\x7f\u0085\u2028\u2029\ufeff\U000e0041z"
LONG: Final = "W" * 4000
ZALGO: Final = "Z" + "\u0301\u0327\u0336" * 400

_SPACE: Final = "http://www.w3.org/2000/svg"
SVG: Final = f"<svg xmlns='{_SPACE}' onload='ran()'><script>ran()</script><image href='{ELSEWHERE}/p.png'/></svg>"


def _card(name: str, text: str, **more: Any) -> dict[str, Any]:
    fields = (
        "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes", "system_prompt",
        "post_history_instructions", "creator", "character_version", "nickname",
    )  # fmt: skip
    data = dict.fromkeys(fields, text) | {"name": name, "alternate_greetings": [text, text], "tags": [text]}
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": data | {"extensions": {text[:40]: text}} | more}


def _book(text: str, name: str) -> dict[str, Any]:
    entry = {"keys": [text], "secondary_keys": [text], "content": text, "comment": text, "name": text, "enabled": True}
    entries = [entry | {"constant": index % 2 == 0, "insertion_order": index, "id": index} for index in range(12)]
    return {"name": name, "entries": entries, "extensions": {}}


def _deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def assets() -> dict[str, bytes]:
    """The files by their names."""
    text = "\n".join(SCRIPTS)
    book = _book(text, SCRIPTS[1])
    pictures = [
        {"type": "icon", "name": "main", "uri": uri, "ext": "png"}
        for uri in (
            f"{ELSEWHERE}/p.png",
            "javascript:ran()",
            f"data:image/svg+xml,{SVG}",
            "data:text/html,<script>ran()</script>",
        )
    ]
    head = {"user_name": SCRIPTS[1], "character_name": SCRIPTS[1], "create_date": SCRIPTS[0], "chat_metadata": {}}
    said = [*SCRIPTS, BIDI, CONTROLS, LONG, ZALGO]
    extra = {"image": f"{ELSEWHERE}/i.png"}
    messages = [
        {"name": one, "is_user": index % 2 == 0, "mes": one, "swipes": [one], "extra": extra}
        for index, one in enumerate(said)
    ]
    chat = [head, *messages]
    preset = {
        "prompts": [
            {"identifier": f"p{i}", "name": one, "role": "system", "content": one} for i, one in enumerate(SCRIPTS)
        ],
        "prompt_order": [
            {"character_id": 100001, "order": [{"identifier": f"p{i}", "enabled": True} for i in range(len(SCRIPTS))]}
        ],
    }
    persona = {"personas": {"a.png": text}, "persona_descriptions": {"a.png": {"description": text, "position": 0}}}
    written: dict[str, Any] = {
        "scripts.json": _card(SCRIPTS[1], text, character_book=book),
        "pictures.json": _card(SCRIPTS[3], SVG, assets=pictures),
        "bidi.json": _card(BIDI, BIDI * 20, character_book=_book(BIDI, BIDI)),
        "controls.json": _card(CONTROLS, CONTROLS, character_book=_book(CONTROLS, CONTROLS)),
        "long.json": _card(LONG, LONG, character_book=_book(LONG, LONG)),
        "zalgo.json": _card(ZALGO, ZALGO, character_book=_book(ZALGO, ZALGO)),
        "book.json": _book(text, SCRIPTS[2]),
        "preset.json": preset,
        "persona.json": persona,
        "wrong.json": {
            "__proto__": {"ran": True},
            "constructor": {"prototype": text},
            "spec": ["chara_card_v3"],
            "data": 7,
        },
    }
    files = {name: json.dumps(value).encode() for name, value in written.items()}
    return files | {
        "chat.jsonl": "\n".join(map(json.dumps, chat)).encode(),
        "deep.json": json.dumps(_card("deep", "x")).replace('{"x": "x"}', _deep(2000)).encode(),
        "none.png": f"<html><script>ran()</script>{SVG}".encode(),
        "broken.png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + SVG.encode(),
        "svg.png": SVG.encode(),
        "<img src=x onerror=ran()>.json": json.dumps(_card("named", "x")).encode(),
        f"{BIDI[:14]}.json": json.dumps(_card("turned", "x")).encode(),
        f"{'n' * 200}.json": json.dumps(_card("long name", "x")).encode(),
    }


def written(folder: Path, keep: Callable[[str], bool] = lambda _: True) -> Path:
    """The files in a folder."""
    folder.mkdir()
    for name, data in assets().items():
        if keep(name):
            (folder / name).write_bytes(data)
    return folder
