"""Hostile requests of up to 5 MB, by family: each is a function of a size, and gives what a door is handed.

A text family is put where texts come from: a card, a chat, a lorebook, a preset, what is typed. `requests` lists them all,
by name, so that a failure can be repeated alone.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

__all__ = ["LARGEST", "Hostile", "hostile_requests"]

LARGEST: Final = 5_000_000
"""Bytes of the largest request."""


@dataclass(frozen=True, slots=True)
class Hostile:
    """One input: ``make`` gives the body of a build request, or the arguments of the operation ``path``."""

    name: str
    make: Callable[[], dict[str, Any]]
    path: str = ""

    def body(self) -> bytes:
        """The input as a caller writes it."""
        return json.dumps(self.make()).encode()


def _words(count: int, seed: int = 1) -> list[str]:
    source = random.Random(seed)  # noqa: S311 - the same words each time
    return ["".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(count)]


def _cut(text: str) -> str:
    """As much of a text as a request of the largest size has room for; JSON writes what is not ASCII longer."""
    weight = max(len(json.dumps(text[:1000])) / 1000, 1.0) if len(text) >= 1000 else 1.0
    return text[: int((LARGEST - 100_000) / weight)]


# --- texts -----------------------------------------------------------------------------------------------------------

Text = Callable[[int], str]

SILLY: Final[Mapping[str, Text]] = {
    "open braces": lambda n: "{" * n,
    "pairs of braces": lambda n: "{{" * (n // 2) + "user" + "}}" * (n // 2),
    "unclosed macros": lambda n: "{{user" * (n // 6),
    "user": lambda n: "{{user}}" * (n // 8),
    "old user": lambda n: "<USER>" * (n // 6),
    "random of many": lambda n: "{{random::" + "a::" * (n // 3) + "}}",
    "many randoms": lambda n: "{{random::a::b}}" * (n // 16),
    "many picks": lambda n: "{{pick::a::b}}" * (n // 14),
    "many ifs": lambda n: "{{if 1}}" * (n // 8),
    "nested ifs": lambda n: "{{if 1}}" * (n // 15) + "{{/if}}" * (n // 15),
    "dice": lambda n: "{{roll:50d1000}}" * (n // 16),
    "setvars": lambda n: "".join(f"{{{{setvar::a{i}::{i}}}}}" for i in range(n // 20)),
    "addvars": lambda n: "{{addvar::x::aaaaaaaaaaaaaaaa}}" * (n // 31),
    "doubling": lambda n: "{{setvar::x::ab}}" + "{{setvar::x::{{getvar::x}}{{getvar::x}}}}" * (n // 43),
    "reverse": lambda n: "{{reverse:" * (n // 12) + "a" + "}}" * (n // 12),
    "comments": lambda n: "{{// a }}" * (n // 9),
    "trims": lambda n: "\n{{trim}}\n" * (n // 10),
    "times": lambda n: "{{datetimeformat DD.MM.YYYY}}" * (n // 29),
    "banned": lambda n: '{{banned "a"}}' * (n // 14),
    "legacy brackets": lambda n: "<<‹" * (n // 5),
    "text last messages": lambda n: "{{lastMessage}}" * (n // 15),
    "card fields": lambda n: "{{description}}" * (n // 15),
}

SMART: Final[Mapping[str, Text]] = {
    "open braces": lambda n: "{" * n,
    "pairs of braces": lambda n: "{" * (n // 2) + "user" + "}" * (n // 2),
    "mixed brackets": lambda n: "{{<‹" * (n // 8) + "}}>>" * (n // 8),
    "dice": lambda n: "{{roll:50d1000}}" * (n // 16),
    "python macros": lambda n: "".join(f"{{{{python:{i}}}}}" for i in range(n // 16)),
    "python sums": lambda n: "{{python:sum=legacy_time\nx='%c'*500\n" + "sum(x);" * (n // 7) + "}}",
    "python lengths": lambda n: "{{python:len(getvar('x'))}}" * (n // 27),
    "python repeats": lambda n: "{{python:'a'*999999}}" * (n // 21),
    "python nested lists": lambda n: "{{python:" + "[" * min(n, 3000) + "]" * min(n, 3000) + "}}",
    "python powers": lambda n: "{{python:" + "9**9**9" + "+1" * (n // 2) + "}}",
    "keywords": lambda n: "<<keywords:" + ",".join(_words(n // 9)) + ">>",
    "many keywords": lambda n: "{{keywords:ab,cd}}" * (n // 18),
    "setvars true": lambda n: "{{setvar:q:1}}true" * (n // 18),
    "upper of upper": lambda n: "{{upper:" * (n // 10) + "a" + "}}" * (n // 10),
    "fields": lambda n: "{{charDescription}}" * (n // 19),
    "loops": lambda n: "{{python:[i for i in range(999999)]}}" * (n // 38),
    "replace": lambda n: "{{python:'a'.replace('', 'b' * 99999)}}" * (n // 40),
    "format": lambda n: "{{python:'%999999d' % 1}}" * (n // 25),
    "regex": lambda n: "{{python:re.findall('(()×10.)*'.replace('×', '{') , 'a' * 90000)}}" * (n // 60),
}

LIQUID: Final[Mapping[str, Text]] = {
    "nested loops": lambda n: "{% for a in (1..9999) %}" * min(n // 34, 60) + "x" + "{% endfor %}" * min(n // 34, 60),
    "many loops": lambda n: "{% for a in (1..9999) %}{{ a }}{% endfor %}" * (n // 44),
    "filters": lambda n: "{{ 'a'" + " | append: 'bcdefgh'" * (n // 20) + " }}",
    "doubling": lambda n: "{% assign x = 'ab' %}" + "{% assign x = x | append: x %}" * min(n // 31, 50_000) + "{{ x }}",
    "captures": lambda n: "{% capture x %}{{ x }}{{ x }}a{% endcapture %}" * (n // 46),
    "ifs": lambda n: "{% if a %}" * (n // 21) + "{% endif %}" * (n // 21),
    "unclosed": lambda n: "{{ a" * (n // 4),
    "raw": lambda n: "{% raw %}" * (n // 9),
    "split": lambda n: "{{ '" + "a," * (n // 2) + "' | split: ',' | join: ';' | size }}",
    "replace": lambda n: "{% assign x = '" + "a" * min(n, 99_999) + "' | replace: 'a', '" + "b" * 9999 + "' %}{{ x }}",
    "numbers": lambda n: "{{ " + "9" * min(n, 1_000_000) + " | times: 9 }}",
}

HANDLEBARS: Final[Mapping[str, Text]] = {
    "ifs": lambda n: "{{#if a}}" * (n // 16) + "{{/if}}" * (n // 16),
    "each": lambda n: "{{#each description}}{{/each}}" * (n // 30),
    "unclosed": lambda n: "{{#if a" * (n // 7),
    "lookup": lambda n: "{{lookup this " + "9" * min(n, 1_000_000) + "}}",
    "fields": lambda n: "{{description}}" * (n // 15),
}

PLAIN: Final[Mapping[str, Text]] = {
    "one letter": lambda n: "a" * n,
    "blanks": lambda n: " " * n,
    "new lines": lambda n: "\n" * n,
    "carriage returns": lambda n: "\r\n" * (n // 2),
    "emoji": lambda n: "\U0001f600" * (n // 12),
    "combining marks": lambda n: "a" + "\u0301" * (n // 6),
    "zero width": lambda n: "\u200b" * (n // 6),
    "right to left": lambda n: "\u202e" * (n // 6),
    "digits": lambda n: "7" * n,
    "Chinese": lambda n: "\u4e2d\u6587" * (n // 12),
    "lone surrogates": lambda n: "\ud800" * (n // 6),
    "zeros": lambda n: "\0" * (n // 6),
    "markdown images": lambda n: "![a](b)" * (n // 7),
    "angle brackets": lambda n: "<START>\n" * (n // 8),
    "names": lambda n: "{{user}}: a\n{{char}}: b\n" * (n // 24),
}

PLACES: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "description": lambda text: _silly(character=_card(description=text)),
    "first message": lambda text: _silly(character=_card(first_mes=text)),
    "examples": lambda text: _silly(character=_card(mes_example=f"<START>\n{text}")),
    "history": lambda text: _silly(history=[{"role": "user", "content": text}]),
    "message": lambda text: _silly(message=text),
    "entry": lambda text: _silly(lorebooks=[_book({"keys": ["a"], "content": text, "constant": True})]),
    "prompt": lambda text: _silly(preset=_preset(text)),
    "note": lambda text: _silly(authors_note=text),
    "text prompt": lambda text: _silly(character=_card(description=text), dialect="text", settings={"text": {}}),
}


def _card(**fields: str) -> dict[str, Any]:
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Ann", "first_mes": "Hi", **fields}}


def _silly(**fields: Any) -> dict[str, Any]:
    return {"tavern": "silly", "character": _card(description="D"), "message": "a b", "seed": 1, **fields}


def _book(*entries: dict[str, Any]) -> dict[str, Any]:
    numbered = [{"id": i, "enabled": True, "insertion_order": i, **entry} for i, entry in enumerate(entries)]
    return {"name": "B", "entries": numbered}


def _preset(text: str) -> dict[str, Any]:
    prompts = [
        {"identifier": "main", "role": "system", "content": text, "system_prompt": True},
        {"identifier": "chatHistory", "marker": True, "system_prompt": True},
    ]
    order = [{"identifier": "main", "enabled": True}, {"identifier": "chatHistory", "enabled": True}]
    return {"prompts": prompts, "prompt_order": [{"character_id": 100001, "order": order}]}


# --- shapes ----------------------------------------------------------------------------------------------------------


def _chain(entries: int, size: int, **fields: Any) -> dict[str, Any]:
    """Each entry's text has the key of the next."""
    return _book(
        *(
            {"keys": [f"key{i}x"], "content": f"key{i + 1}x " + "z" * size, "extensions": dict(fields)}
            for i in range(entries)
        )
    )


def _delayed(entries: int) -> dict[str, Any]:
    return _book(
        *(
            {"keys": ["a"], "content": f"text {i}", "extensions": {"delay_until_recursion": i + 1}}
            for i in range(entries)
        )
    )


def _grouped(entries: int) -> dict[str, Any]:
    return _book(
        *(
            {
                "keys": ["a"],
                "content": "x",
                "extensions": {"group": f"g{i % 97},h{i % 89},k{i}", "use_group_scoring": True},
            }
            for i in range(entries)
        )
    )


def _pattern_keys(pattern: str, entries: int) -> dict[str, Any]:
    return _book(*({"keys": [f"/{pattern}{i}/i"], "content": "x", "use_regex": True} for i in range(entries)))


def _script(pattern: str, replacement: str = "x") -> dict[str, Any]:
    return {
        "scriptName": "s",
        "findRegex": f"/{pattern}/g",
        "replaceString": replacement,
        "placement": [1, 2],
        "promptOnly": True,
    }


def _scripts(pattern: str, count: int, text: str) -> dict[str, Any]:
    scripts = [_script(pattern) for _ in range(count)]
    return _silly(history=[{"role": "user", "content": text}], settings={"regex": scripts})


def _nested(levels: int, kind: str) -> Any:
    tree: Any = 1
    for _ in range(levels):
        tree = [tree] if kind == "list" else {"a": tree}
    return tree


SHAPES: Final[Mapping[str, Callable[[int], dict[str, Any]]]] = {
    "many keys": lambda n: _silly(
        lorebooks=[_book(*({"keys": _words(60, i), "content": "x"} for i in range(n // 700)))]
    ),
    "one entry of many keys": lambda n: _silly(lorebooks=[_book({"keys": _words(n // 12), "content": "x"})]),
    "alike keys": lambda n: _silly(
        lorebooks=[_book({"keys": ["a" * i for i in range(1, int(n**0.5))], "content": "x"})]
    ),
    "chain": lambda n: _silly(
        lorebooks=[_chain(n // 4100, 4000, ignore_budget=True)],
        message="key0x",
        settings={"wi_settings": {"world_info_recursive": True}},
    ),
    "short chain": lambda n: _silly(
        lorebooks=[_chain(n // 130, 1, ignore_budget=True)],
        message="key0x",
        settings={"wi_settings": {"world_info_recursive": True}},
    ),
    "delayed": lambda n: _silly(
        lorebooks=[_delayed(n // 130)], settings={"wi_settings": {"world_info_recursive": True}}
    ),
    "groups": lambda n: _silly(lorebooks=[_grouped(n // 150)]),
    "pattern keys": lambda n: _silly(lorebooks=[_pattern_keys("(a+)+b", n // 90)], message="a" * 5000),
    "wide pattern keys": lambda n: _silly(lorebooks=[_pattern_keys(r"[\\x00-\\u{10ffff}]", n // 110)]),
    "nested pattern keys": lambda n: _silly(lorebooks=[_pattern_keys("(?:" * 20 + "a" + "+)" * 20, n // 150)]),
    "scripts": lambda n: _scripts("(a+)+b", min(n // 130, 200), "a" * (n // 2)),
    "lazy scripts": lambda n: _scripts("(.*?,){25}x", min(n // 130, 50), "1," * (n // 4)),
    "a long script": lambda n: _scripts("(a+)+b|x" * (n // 8), 1, "aab"),
    "long scripts": lambda n: _scripts("(a+)+b|x" * 240, n // 2100, "aab"),
    "a long pattern key": lambda n: _silly(lorebooks=[_pattern_keys("(?:a+|b)" * (n // 8), 1)]),
    "growing scripts": lambda n: _silly(
        history=[{"role": "user", "content": "a" * (n // 2)}],
        settings={"regex": [_script("a", "aa") for _ in range(30)]},
    ),
    "many messages": lambda n: _silly(history=[{"role": "user", "content": "a"}] * (n // 34)),
    "many long messages": lambda n: _silly(
        history=[{"role": ("user", "assistant")[i % 2], "content": "lorem ipsum " * 300} for i in range(n // 3700)]
    ),
    "many prompts": lambda n: _silly(
        preset={
            "prompts": [{"identifier": f"p{i}", "role": "system", "content": "x"} for i in range(n // 120)],
            "prompt_order": [
                {"character_id": 100001, "order": [{"identifier": f"p{i}", "enabled": True} for i in range(n // 120)]}
            ],
        }
    ),
    "many injections": lambda n: _silly(
        injections=[{"id": str(i), "content": "x", "position": "chat", "depth": i} for i in range(n // 70)]
    ),
    "deep lists": lambda n: _silly(settings={"a": _nested(min(n, 900), "list")}),
    "deep objects": lambda n: _silly(settings={"a": _nested(min(n, 900), "object")}),
    "empty lists": lambda n: _silly(settings={"a": [[] for _ in range(n // 4)]}),
    "empty objects": lambda n: _silly(
        character={"spec": "chara_card_v2", "data": {"name": "A", "extensions": {"a": [{} for _ in range(n // 4)]}}}
    ),
    "many fields": lambda n: _silly(settings={f"k{i}": 0 for i in range(n // 13)}),
    "many variables": lambda n: _silly(
        variables={"local": {f"k{i}": [] for i in range(n // 14)}}, message="{{setvar::a::1}}" * 500
    ),
    "huge numbers": lambda n: _silly(context_window=int("9" * min(n, 4000)), seed=int("9" * min(n, 4000))),
    "huge numbers as text": lambda n: _silly(settings={"wi_settings": {"world_info_depth": "9" * min(n, 1_000_000)}}),
    "greetings": lambda n: _silly(
        character={
            "spec": "chara_card_v2",
            "data": {"name": "A", "alternate_greetings": ["{{random::a::b}}"] * (n // 20)},
        }
    ),
    "group": lambda n: _silly(group={"members": [_card(name=f"A{i}") for i in range(n // 110)]}),
    "tools": lambda n: _silly(
        tools=[{"name": f"t{i}", "parameters": {"type": "object", "properties": {}}} for i in range(n // 75)]
    ),
    "tool schema": lambda n: _silly(
        tools=[{"name": "t", "parameters": {"properties": {f"p{i}": {} for i in range(n // 14)}}}]
    ),
    "stops": lambda n: _silly(options={"stop": ["x" * 10] * (n // 14)}),
    "macro variables": lambda n: _silly(
        macro_vars={f"k{i}": "{{user}}" for i in range(n // 22)}, message="{{k1}}" * 1000
    ),
    "swipes": lambda n: _silly(history=[{"role": "assistant", "content": "x", "extra": {"swipes": ["y"] * (n // 5)}}]),
    "timed": lambda n: _silly(
        lorebooks=[
            _book(
                *({"keys": ["a"], "content": "x", "extensions": {"sticky": 3, "cooldown": 2}} for _ in range(n // 110))
            )
        ]
    ),
    "many books": lambda n: _silly(lorebooks=[_book({"keys": ["a"], "content": "x"}) for _ in range(n // 90)]),
    "no text": lambda n: _silly(history=[{"role": "user", "content": None} for _ in range(n // 36)]),
    "pictures": lambda n: _silly(
        history=[
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * n}}],
            }
        ]
    ),
    "many pictures": lambda n: _silly(
        history=[
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]
                * (n // 90),
            }
        ]
    ),
    "vibe templates": lambda n: {
        "tavern": "vibe",
        "message": "a",
        "meta": {"system_template": "{% for a in (1..999) %}{{ a }}{% endfor %}" * (n // 44)},
    },
    "vibe history": lambda n: {
        "tavern": "vibe",
        "message": "a",
        "history": [{"role": "user", "content": "a"}] * (n // 34),
    },
}


def _operation(path: str, arguments: Callable[[int], dict[str, Any]]) -> tuple[str, Callable[[int], dict[str, Any]]]:
    return path, arguments


_MODULES: Final = "modules/smarttavern"

OPERATIONS: Final[Mapping[str, tuple[str, Callable[[int], dict[str, Any]]]]] = {
    "batch of fields": _operation(
        f"{_MODULES}/macro/process_text_batch",
        lambda n: {"texts": ["{{x}}" * 1000] * min(n // 5010, 1000), "variables": {"x": "y" * 3000}},
    ),
    "card fields": _operation(
        "workflow/smarttavern/prompt_postprocess/apply",
        lambda n: {
            "messages": [{"role": "user", "content": "{{charDescription}}" * 2}] * 1000,
            "character": {"name": "A", "description": "d" * (n // 2)},
            "view": "user_view",
            "regex_rules": [],
        },
    ),
    "framing": _operation(
        "modules/smarttavern/framing_prompt/assemble",
        lambda n: {
            "history": [],
            "character": {"name": "A", "description": "d" * (n // 2)},
            "presets_relative": [
                {"identifier": "charDescription", "enabled": True, "position": "relative", "content": ""}
                for _ in range(2000)
            ],
        },
    ),
    "construct keywords": _operation(
        f"{_MODULES}/in_chat_constructor/construct",
        lambda n: {
            "history": [{"role": "user", "content": "abc"}],
            "presets_in_chat": [],
            "world_books": [
                {
                    "id": 1,
                    "name": "a",
                    "mode": "conditional",
                    "content": "x",
                    "condition": "<<keywords:" + ",".join(_words(n // 9)) + ">>",
                }
            ],
        },
    ),
    "construct conditions": _operation(
        f"{_MODULES}/in_chat_constructor/construct",
        lambda n: {
            "history": [{"role": "user", "content": "abc"}],
            "presets_in_chat": [],
            "variables": {f"v{i}": [] for i in range(min(20_000, n // 60))},
            "world_books": [
                {"id": i, "name": "a", "mode": "conditional", "content": "x", "condition": "{{setvar:q:1}}true"}
                for i in range(min(2000, n // 120))
            ],
        },
    ),
    "regex rules": _operation(
        f"{_MODULES}/regex_replace/apply_text",
        lambda n: {
            "text": "a" * (n // 2),
            "placement": "before_macro",
            "view": "user_view",
            "regex_rules": [
                {
                    "id": "r",
                    "enabled": True,
                    "find_regex": "(?:" * 24 + "a" + "+)" * 24,
                    "replace_regex": "b",
                    "targets": [],
                    "placement": "before_macro",
                    "views": ["user_view"],
                }
            ]
            * 4,
        },
    ),
    "quadratic rules": _operation(
        f"{_MODULES}/regex_replace/apply_text",
        lambda n: {
            "text": "a" * (n // 2),
            "placement": "before_macro",
            "view": "user_view",
            "regex_rules": [
                {
                    "id": f"r{i}",
                    "enabled": True,
                    "find_regex": "a*a*b",
                    "replace_regex": "b",
                    "targets": [],
                    "placement": "before_macro",
                    "views": ["user_view"],
                }
                for i in range(50)
            ],
        },
    ),
    "sandbox": _operation(
        f"{_MODULES}/python_sandbox/eval",
        lambda n: {"code": "x = ''\n" + "x = 'a' * 1000000\n" * min(n // 20, 200_000) + "result = 1"},
    ),
    "sandbox patterns": _operation(
        f"{_MODULES}/python_sandbox/eval",
        lambda n: {
            "code": ("re.match('" + "(?:" * 20 + "a" + "+)" * 20 + "', 'a')\n") * min(n // 110, 500) + "result = 1"
        },
    ),
}


def hostile_requests() -> dict[str, Hostile]:
    """All of them by name, in one order: about 500."""
    return {one.name: one for one in _all()}


SIZES: Final = (4_000_000, 400_000, 20_000)


def _all() -> Iterator[Hostile]:
    for size in SIZES[:2]:
        yield from _texts("silly", SILLY, size)
        yield from _texts("plain", PLAIN, size)
    for (name, text), size in itertools.product(SMART.items(), SIZES):
        yield Hostile(f"smart/{name}/{size}", partial(_smart_text, text, size), f"{_MODULES}/macro/process_text")
    for name, text in SMART.items():
        yield Hostile(f"smart prompt/{name}", partial(_smart, text, SIZES[0]))
    for (name, text), size in itertools.product(LIQUID.items(), SIZES[:2]):
        yield Hostile(f"liquid/{name}/{size}", partial(_template, text, size))
    for (name, text), size in itertools.product(HANDLEBARS.items(), SIZES[:2]):
        yield Hostile(f"handlebars/{name}/{size}", partial(_story, text, size))
    for (name, shape), size in itertools.product(SHAPES.items(), SIZES):
        yield Hostile(f"shape/{name}/{size}", partial(shape, size))
    for (name, (path, arguments)), size in itertools.product(OPERATIONS.items(), SIZES):
        yield Hostile(f"operation/{name}/{size}", partial(arguments, size), path)


def _texts(kind: str, texts: Mapping[str, Text], size: int) -> Iterator[Hostile]:
    """Each text in every third of the places, or second, so that neighbours stand elsewhere."""
    names = list(PLACES)
    for index, (name, text) in enumerate(texts.items()):
        for where in names[index % 3 :: 3 if kind == "silly" else 2]:
            yield Hostile(f"{kind}/{name}/{where}/{size}", partial(_silly_text, text, size, where))


def _silly_text(text: Text, size: int, where: str) -> dict[str, Any]:
    return PLACES[where](_cut(text(size)))


def _smart_text(text: Text, size: int) -> dict[str, Any]:
    return {"text": _cut(text(size)), "variables": {"x": list(range(10_000)), "a": 1}}


def _smart(text: Text, size: int) -> dict[str, Any]:
    prompt = {
        "identifier": "main",
        "enabled": True,
        "position": "relative",
        "role": "system",
        "content": _cut(text(size)),
    }
    return {"tavern": "smart", "message": "a", "preset": {"name": "P", "prompts": [prompt]}}


def _template(text: Text, size: int) -> dict[str, Any]:
    return {"tavern": "vibe", "message": "a", "meta": {"system_template": _cut(text(size))}}


def _story(text: Text, size: int) -> dict[str, Any]:
    context = {"name": "c", "story_string": _cut(text(size))}
    return _silly(dialect="text", settings={"text": {"context": context}})
