"""Every parser that takes outside bytes, as a target for the fuzzer.

To add one, write a `Target` here: a function from bytes to anything, and a few sound inputs. ``scripts/fuzz.py`` and the
tests take it from the table.
"""

import json
import random
import struct
import zlib
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from innkeeper import content
from innkeeper.cli.settings.settings import MAX_CONFIG_BYTES
from innkeeper.content.toml import parse_toml
from innkeeper.dialects.report import Report
from innkeeper.dialects.sillytavern.bodies.custom import read_yaml
from innkeeper.gate.detector import default_detector
from innkeeper.gate.gate import TierPolicy
from innkeeper.gate.tier import TierDecision, effective_tier
from innkeeper.inference.requests.raw import read_raw
from innkeeper.inference.response.fold import response_of
from innkeeper.inference.tools.mcp_process import ServerProcess
from innkeeper.library.templates.rendering import Programs, render
from innkeeper.library.templates.template import TemplateKey, TemplateVersion, Variable, sealed
from innkeeper.library.transfer.format import parse
from innkeeper.macros.engine.environment import MacroEnvironment
from innkeeper.macros.engine.errors import MacroError
from innkeeper.macros.silly import substitute
from innkeeper.macros.smart import sandbox
from innkeeper.macros.smart.environment import SmartEnvironment
from innkeeper.macros.smart.expansion import expand as expand_smart
from innkeeper.operations.scenes.figures import Figure, FigurePlan, FigureRole, numbers_in
from innkeeper.operations.scenes.reading import Person, analyse
from innkeeper.operations.scenes.request import scene_request
from innkeeper.operations.scenes.state import SceneState, apply_changes, edited, read_state
from innkeeper.operations.scenes.text import cut_faults, read_narrative
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.note import Note
from innkeeper.taverns.profiles.profile import parse_profile
from innkeeper.text import pyregex
from innkeeper.text.confusables import fold_word
from innkeeper.text.views import views_of
from innkeeper.tokens.counter import Counter
from tests.content.builders import archive, card, card_json, card_png, chunk, png, text_chunk
from tests.fuzz.engine import Target
from tests.fuzz.requests import build_request, grow_request, request_seeds
from tests.inference.adapters.answers import WIRES, Said, events

__all__ = ["TARGETS"]

RAW: Final = {"model": "m", "messages": [], "stream": True, "stream_options": {"include_usage": True}, "n": 1}
ENTRY: Final = {
    "uid": 1,
    "key": ["inn", "/ale?/i"],
    "keysecondary": ["x"],
    "content": "@@depth 2\nText",
    "order": 5,
    "position": 4,
}
BOOK: Final = {
    "id": 2,
    "keys": ["a"],
    "content": "x",
    "enabled": True,
    "insertion_order": 1,
    "extensions": {"position": 4, "role": 1},
}
PROFILE: Final = b"""\
name = "wenna"
character = ["a.png", {name = "B"}]
lorebooks = ["l.json"]
greeting = false
seed = "fresh"
[options]
temperature = 0.5
[variables.local]
x = 1
"""
HEADER: Final = {"user_name": "a", "character_name": "b", "chat_metadata": {}}
LINES: Final = [
    HEADER,
    {"name": "a", "is_user": True, "mes": "Hi", "send_date": "x", "extra": {}},
    {
        "name": "b",
        "mes": "Ho",
        "swipes": ["Ho", "Hm"],
        "swipe_id": 0,
        "extra": {"tool_invocations": [{"id": "1", "name": "n"}]},
    },
]
PRESET: Final = {
    "temperature": 1,
    "names_behavior": 1,
    "prompts": [{"identifier": "main", "role": "system", "content": "x", "injection_position": 1}],
    "prompt_order": [{"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]}],
}
BYAF_CHARACTER: Final = {"name": "a", "persona": "{user}", "loreItems": [{"key": "a, b", "value": "c"}], "images": []}
BYAF_SCENARIO: Final = {"narrative": "n", "firstMessages": [{"text": "t"}], "exampleMessages": [{"text": "e"}]}
MASTER: Final = {"instruct": {"input_sequence": "x"}, "context": {"story_string": "y"}}
PERSONAS: Final = {"personas": {"a": "b"}, "persona_descriptions": {"a": {"position": 4}}}
EARLY: Final = {"name": "x", "description": "y"}
RISU: Final = {"type": "risu", "data": [{"key": "a"}]}
ODD: Final[tuple[Any, ...]] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        4,
        7,
        2**53,
        -(2**63),
        10**400,
        0.5,
        1e308,
        "",
        " ",
        "0",
        "1e999",
        "true",
        "\0",
        "\ud800",
    ),
    *(
        "😀" * 50,
        "a,b",
        "/re/i",
        "{{char}}",
        "@@depth 1\n",
        "embeded://../x",
        [],
        {},
        [None],
        [[]],
        {"": {}},
        [{}],
        ["x"] * 100,
    ),
)
"""Values that do not belong where they are put."""

MANIFEST: Final = {"schemaVersion": 1, "characters": ["characters/a/character.json"], "scenarios": ["scenarios/1.json"]}


def as_json(*trees: Any) -> Callable[[], list[bytes]]:
    """Seeds of JSON."""
    return lambda: [json.dumps(tree, indent=indent).encode() for tree in trees for indent in (None, 2)]


def mend_png(data: bytes) -> bytes:
    """The image with right checksums, as far as its chunks can be followed."""
    out, position = bytearray(data), 8
    while position + 12 <= len(out):
        (length,) = struct.unpack_from(">I", out, position)
        end = position + 8 + length
        if end + 4 > len(out):
            break
        struct.pack_into(">I", out, end, zlib.crc32(out[position + 4 : end]))
        position = end + 4
    return bytes(out)


def change_json(data: bytes, source: random.Random) -> bytes:
    """JSON, or one line of JSON lines, with a few values replaced by others; not JSON, the bytes as they are."""
    lines = data.split(b"\n") if data.startswith(b"{") and b"}\n{" in data else [data]
    index = source.randrange(len(lines))
    try:
        tree = json.loads(lines[index])
    except (ValueError, RecursionError):
        return data
    for _ in range(source.randrange(1, 5)):
        tree = _replaced(tree, tree, source)
    lines[index] = json.dumps(tree, ensure_ascii=source.random() < 0.5).encode(errors="replace")
    return b"\n".join(lines)


def _replaced(node: Any, root: Any, source: random.Random) -> Any:
    """The tree with one value, somewhere below, replaced by an odd one, removed, or repeated."""
    if not isinstance(node, (dict, list)) or not node or source.random() < 0.3:
        return source.choice((*ODD, root))
    items = dict(node) if isinstance(node, dict) else dict(enumerate(node))
    key = source.choice(list(items))
    if source.random() < 0.1:
        del items[key]
    else:
        items[key] = _replaced(items[key], root, source)
    return items if isinstance(node, dict) else list(items.values())


def png_seeds() -> list[bytes]:
    """Images with cards of every kind."""
    kinds = [card_png(kind=kind) for kind in ("tEXt", "zTXt", "iTXt", "iTXtz")]
    both = png(text_chunk("chara", b64encode(card_json())), text_chunk("ccv3", b64encode(card_json("v3"))))
    return [*kinds, both, png(chunk(b"acTL", b"\0" * 8), text_chunk("chara-ext-asset_:1", b"eHh4"))]


def archive_seeds() -> list[bytes]:
    """Archives of both kinds, plain and behind something else."""
    charx = {"card.json": card_json("v3"), "assets/a.png": b"x" * 50, "module.risum": b"o\0"}
    byaf = {
        "manifest.json": json.dumps(MANIFEST).encode(),
        "characters/a/character.json": json.dumps(BYAF_CHARACTER).encode(),
        "scenarios/1.json": json.dumps(BYAF_SCENARIO).encode(),
    }
    return [
        archive(charx),
        archive(charx, stored=True),
        archive(byaf, stored=True),
        archive(charx, prefix=b"\xff\xd8\xffjpeg"),
    ]


def open_everything(data: bytes) -> content.CardFile:
    """A card file with every file in it."""
    opened = content.open_card(data)
    for name in opened.names:
        opened.read(name)
    return opened


def edit_character(data: bytes) -> content.Character:
    """A card read, edited, converted, checked and written."""
    character = content.Character.of(data)
    content.validate(character)
    other = character.to_version("v3" if character.version != "v3" else "v2").replace(description="other")
    return content.Character.of(other.to_json())


def edit_lorebook(data: bytes) -> content.Lorebook:
    """A lorebook read, told in both spellings and edited."""
    book = content.Lorebook.of(data)
    content.Lorebook.of(book.to_world())
    content.Lorebook.of(book.to_card_book())
    return book.replace(name="other")


def edit_chat(data: bytes) -> content.ChatLog:
    """A chat read, leniently too, used and written."""
    content.read_chat(data, lenient=True).to_jsonl()
    chat = content.read_chat(data)
    chat.to_messages(hidden=True)
    return content.read_chat(chat.append(content.ChatMessage.create("user", "x")).to_jsonl())


def card_seeds() -> list[bytes]:
    """Cards of every version."""
    return as_json(card("v2"), card("v3", character_book={"entries": [BOOK]}), EARLY)()


def chat_seeds() -> list[bytes]:
    """Chats in lines and in lists."""
    return [
        "\n".join(map(json.dumps, LINES)).encode(),
        json.dumps(LINES[1:]).encode(),
        b'[{"role": "user", "content": "x"}]',
    ]


def expand(pack: Any) -> Callable[[bytes], str]:
    """Macros of an engine replaced in a text; the text is everything it is given. What is reported is an error here."""

    def run(data: bytes) -> str:
        text, notes = data.decode("utf-8", "surrogateescape"), list[Note]()
        result = substitute(text, MacroEnvironment(char="a", warn=notes.append), pack=pack)
        if notes:
            raise MacroError(notes[0].message, hint=notes[0].kind.value)
        return result

    return run


def macro_seeds() -> list[bytes]:
    """Macros of every shape."""
    texts = (
        "{{char}} {{// x}}{{setvar::a::{{roll:1d6}}}}{{getvar::a}}",
        "{{if {{.a}}}} b {{else}} c {{/if}}{{#trim}} d {{/trim}}",
        "{{.a += 1}}{{$b ??= {{random::1::2}}}}{{pick:x,y}}",
        '<USER> {{timeDiff::2026-01-01::now}} {{datetimeformat [x] D}} {{banned "w"}}',
        "{{unknown::{{reverse}}x{{/reverse}}}}\n{{trim}}\n\\{a\\}",
    )
    return [text.encode() for text in texts]


class _Bare:
    """A world with one variable, which nothing changes, for sandboxed code."""

    now = datetime(2024, 5, 17, 13, 45, 30, tzinfo=UTC)

    def __init__(self) -> None:
        self.random = random.Random(1)  # noqa: S311 - not for secrets

    def getvar(self, path: str) -> Any:
        return {"a": [1, "b"]} if not path else 1

    def setvar(self, path: str, value: Any) -> None:
        json.dumps(value)


def run_sandboxed(data: bytes) -> str:
    """Sandboxed code, and its value as text."""
    return sandbox.run_text(data.decode("utf-8", "surrogateescape"), _Bare())


def sandboxed_seeds() -> list[bytes]:
    """Code with each part of the language in it."""
    texts = (
        "legacy_num(getvar('a'),0) >= 30 and 'x' in ['x', (1, 2.5)] or not None",
        "x: int = 2 ** 8\nif x > 1:\n  x += 1\nelse: x = -x\na, b = {'k': 1}, [x]\nresult = '%s %05.2f %(k)s' % (a, 1.5)",
        "re.sub('(?P<n>a+)[^b]{1,2}|c', '\\g<n>', 'aac', count=1) + str(re.findall(r'\\d+', 'a1'))",
        "vars = [1, 2]\nvars[0:1] = [3]\nresult = sorted(vars, key=abs, **{'reverse': True})",
        "round(max(1, 2.5), ndigits=1) if datetime.date.today() else math.sqrt(random.randint(1, 6))",
        "setvar('a', {'b': [1, {**{}}]})\nresult = '%(a)s' % vars * 3",
        "datetime.datetime.strptime('2024', '%Y') - datetime.datetime.now()",
    )
    return [text.encode() for text in texts]


def search_pattern(data: bytes) -> str:
    """A pattern, a replacement and a text, each ended by a zero: what the text becomes."""
    pattern, replacement, text = [*data.decode("utf-8", "surrogateescape").split("\0", 2), "", ""][:3]
    return pyregex.compile_pattern(pattern).sub(replacement, text, deadline=pyregex.Deadline(0.2))


def pattern_seeds() -> list[bytes]:
    """Patterns with each part of the language in them."""
    texts = (
        "(?P<n>a+?)[^]b-d\\]]{1,2}|(?:c)*$\0\\g<n>\\1\\n\\x\0aac bd",
        "(?i)(?<=a)b(?!c)(?(1)d|e){3}\\b\\w\\N{DIGIT ONE}\0\\g<0>\0AB 1",
        "(a|aa)+$(?#x)[[:alpha:]||b]{e<=1}\0\0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
        "(?x) (a{2,}) # {9}\n (a{30}){30} \\1 ^.\0\\101\0aaa",
    )
    return [text.encode() for text in texts]


def expand_smartly(data: bytes) -> str:
    """Macros of the smart engine replaced in a text. What is reported is an error here."""
    env = SmartEnvironment.of({"a": [1, "b"], "d": {"k": "v"}, "chat_history_text": "an inn"})
    result = expand_smart(data.decode("utf-8", "surrogateescape"), env)
    if env.notes:
        raise MacroError(env.notes[0].message, hint=env.notes[0].kind.value)
    return result


def smart_seeds() -> list[bytes]:
    """Macros of the smart engine of every shape."""
    texts = (
        "{{setvar:x:1}}{{getvar:x}} {{upper:<<getvar:a>>}} {{reverse:{{upper:b}}}}",
        "{{setvar:a::p::q}}{{getvar:a}} {{random:a,b}} {{noop}} {<<noop>>{user}}",
        "{{roll:2d6}} {{unknown:{{a}}}} {{{{getvar:x}}:a}}",
    )
    return [text.encode() for text in texts]


_FUZZED: Final = tuple(Variable(name=name, required=False, fence=fence) for name, fence in (("a", False), ("b", True)))


def render_template(data: bytes) -> str:
    """A mustache template with two values: the text after the first NUL is their value. A value is never read as a template."""
    text, _, value = data.decode("utf-8", "replace").partition("\0")
    key = TemplateKey.of("chat", "sfw")
    version = sealed(
        TemplateVersion(template_id="t", name="t", version=1, key=key, system_prompt=text, variables=_FUZZED)
    )
    made = render(version, {"a": value, "b": value}, programs=Programs(1)).text
    if text == "{{a}}" and made != value:
        raise AssertionError("a value was changed")
    return made


def template_seeds() -> list[bytes]:
    """Templates with each kind of tag, and values that look like tags."""
    texts = (
        "{{a}}\0{{b}} $1 \\1 {{{a}}}",
        "{{#a}}\n one {{{b}}} {{&a}}\n{{/a}}\n{{^b}}none{{/b}}{{! note }}\0x",
        "{{$part}}{{a}}{{/part}} \\{{a}}\0{{>a}}",
        "{{>other}}\0",
    )
    return [text.encode() for text in texts]


def scan_text(data: bytes) -> TierDecision:
    """A text in all its folded forms, looked at by the detector and judged: never a failure, and places within the text."""
    text = data.decode("utf-8", "surrogateescape")
    for view in views_of(text):
        if view.text and not 0 <= view.source_span(0, len(view.text))[0] < len(text):
            raise AssertionError("a place outside of the text")
    fold_word(text)
    found = default_detector().scan(text)
    if found.failed or not all(0 <= span.start < span.end <= len(text) for span in found.spans):
        raise AssertionError(found.failed or "a find outside of the text")
    return effective_tier("sfw", policy=TierPolicy(), detection=found).require()


def text_seeds() -> list[bytes]:
    """Texts that fold in each way."""
    texts = (
        "A n.u.d.e  s t u d y, nu\u200bde, nüde, ｎｕｄｅ, nud3, nuuude",
        "𝓃𝓊𝒹ℯ ɴᴜᴅᴇ nudе, 16 years old, aged 12, under 18",
        "the naked eye; a minor key; Essex classics 月亮",
        "a nude c\u200bh\u200bild",
    )
    return [text.encode() for text in texts]


_TEMPLATE: Final = {
    "name": "t",
    "versions": [{"version": 1, "use_case": "chat", "system_prompt": "Hi {{a}}", "variables": [{"name": "a"}]}],
    "labels": {"production": 1},
}
_LIBRARY: Final = {
    "format": "innkeeper-library",
    "schema": 1,
    "templates": [_TEMPLATE],
    "negative_prompts": [{"model_type": "sdxl", "negative_prompt": "blurry"}],
    "settings": {"a": [1, 2.5, None, True]},
}


def read_transfer(form: str) -> Callable[[bytes], Any]:
    """A file to import, with the place of something in it."""

    def run(data: bytes) -> Any:
        parsed = parse(data, asset="file", form=form)
        parsed.locate(("templates", 0, "name"))
        return parsed.transfer

    return run


def yaml_seeds() -> list[bytes]:
    """The file in YAML, in its styles."""
    text = (
        "format: innkeeper-library\nschema: 1\ntemplates:\n- name: 't'\n  versions:\n  - version: 1\n"
        "    use_case: chat\n    system_prompt: |\n      Hi {{a}}\n    variables: [{name: a}]\nsettings: {a: [1, 2.5, ~]}\n"
    )
    return [text.encode(), json.dumps(_LIBRARY).encode(), b"a: &x [1]\nb: *x\n", b"--- !!python/name:os\n...\n--- 2"]


def answer_seeds() -> list[bytes]:
    """An answer in the words of each protocol, whole and streamed; the first two bytes say which it is."""
    said = Said(("It is ", "läte 你好."), ("hm",), (("call_1", "f", {"x": 1}),))
    wires = list(WIRES.values())
    wholes = [bytes([at, 0]) + wire.whole(wire.fit(said)) for at, wire in enumerate(wires)]
    return [*wholes, *(bytes([at, 1]) + wire.stream(wire.fit(said)) for at, wire in enumerate(wires))]


def read_answer(data: bytes) -> Any:
    """An answer of a provider, at once and in pieces of three bytes: the same events, and a response that can be written."""
    wire = list(WIRES.values())[data[0] % len(WIRES)] if data else WIRES["openai-chat"]
    kind, raw = ("application/json", wire.kind, "")[data[1] % 3] if len(data) > 1 else "", data[2:]
    found = events(wire.adapter, raw, kind)
    if events(wire.adapter, [raw[at : at + 3] for at in range(0, len(raw), 3)], kind) != found:
        raise AssertionError("pieces make a difference")
    return json.dumps(response_of(found, response_id="r", model="m", created=0).to_dict(), allow_nan=False)


SCENES: Final = (
    '*Mira walks into the old kitchen and lifts a copper kettle.* "We drove past the cars," she says. Tom enters.',
    "[SCENE_NAME: Tea] She takes off her red cloak. She is wearing a grey dress, leaning against the counter at dusk.",
    "Put the hat of Figure 3 on fig. 2, beside figures 1 and 2. I'd say \u201cno\u201d. (sits at the bar) **Mira:** From above.",
)


SCENE: Final = {
    "message": SCENES[0],
    "scene_prompt_override": SCENES[2],
    "scene_style": "pov",
    "character": {"name": "Mira", "appearance_tags": ["red hair"], "declared_age": 30},
    "scene_clothing_overrides": {"user": "cape"},
    "consistency_settings": {"method": "hybrid", "seed_value": 0, "denoise_strength": 0.5},
    "state": {"location": {"value": "kitchen", "pinned": True}, "present": ["Tom"], "clothing": {"Mira": "cape"}},
}


def read_scene(data: bytes) -> Any:
    """A request for a scene: what its message tells, its state by hand, numbers of figures, what is left of a narrative."""
    body = content.decode_json(data)
    if not isinstance(body, dict):
        raise UsageError("a request is an object")
    request = scene_request(body)
    context = analyse(request.message, [Person("Mira", "character", speaks=True), Person("Tom", "user")], message="m")
    state = apply_changes(SceneState(), context.changes).state
    state = edited(state, body["state"]) if isinstance(body.get("state"), dict) else state
    if read_state(state.to_dict()) != state:
        raise AssertionError("a state is not what it was when it is read again")
    plan = FigurePlan((Figure(1, (FigureRole.CHARACTER,), "asset:a"),))
    for text in request.texts().values():
        if not set(numbers_in(plan.renumbered(text)[0])) <= {1}:
            raise AssertionError("a text speaks of a figure that there is not")
        if len(cut_faults(read_narrative(text, 20), 20).text.split()) > 20:
            raise AssertionError("a narrative is longer than it may be")
    return context


def change_request(data: bytes, source: random.Random) -> bytes:
    """A request with other values, or with a size."""
    return change_json(data, source) if source.random() < 0.5 else grow_request(data, source)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def read_fields(data: bytes) -> object:
    """What a preset's text of fields says."""
    return read_yaml(_text(data), "custom_include_body", Report("openai"))


def read_tools(data: bytes) -> object:
    """The tools in a list of an MCP server that can be used."""
    result = content.decode_json(data)
    process = ServerProcess(["nothing"])
    process._leave_out(result)
    return result, process.refused


_TARGETS: Final = (
    Target("request", build_request, request_seeds, change=change_request, few=30),
    Target("scene", read_scene, as_json(SCENE, *({"message": text} for text in SCENES)), change=change_json),
    Target("answer", read_answer, answer_seeds),
    Target("mustache", render_template, template_seeds),
    Target("import-json", read_transfer("json"), as_json(_LIBRARY), change=change_json),
    Target("import-yaml", read_transfer("yaml"), yaml_seeds),
    Target("detector", scan_text, text_seeds),
    Target("macros-smart", expand_smartly, smart_seeds),
    Target("pyregex", search_pattern, pattern_seeds),
    Target("sandbox", run_sandboxed, sandboxed_seeds),
    Target("png", open_everything, png_seeds, mend_png),
    Target("png-lenient", lambda data: content.open_card(data, lenient=True), png_seeds, mend_png),
    Target("zip", open_everything, archive_seeds),
    Target("sniff", content.sniff, lambda: [*png_seeds(), *archive_seeds(), card_json()]),
    Target("json", content.decode_json, as_json({"a": [1, 2.5, None, True, "é😀\\"]}, [[]], "x")),
    Target("card", edit_character, card_seeds, change=change_json),
    Target("world", edit_lorebook, as_json({"entries": {"1": ENTRY}}, {"entries": [BOOK]}, RISU), change=change_json),
    Target("preset", content.load_preset_file, as_json(PRESET, MASTER), change=change_json),
    Target("profile", parse_profile, lambda: [PROFILE]),
    Target("raw-body", lambda data: read_raw(data, "openai-chat"), as_json(RAW), change=change_json),
    Target("persona", content.load_personas, as_json(PERSONAS), change=change_json),
    Target("chat", edit_chat, chat_seeds, change=change_json),
    Target("macros", expand("new"), macro_seeds),
    Target("macros-legacy", expand("legacy"), macro_seeds),
    Target("config", lambda data: parse_toml(data[:MAX_CONFIG_BYTES], asset="config.toml"), lambda: [PROFILE]),
    Target("yaml-fields", read_fields, lambda: [b"a: 1\nb: [x, {c: true}]\n"]),
    Target("tool-list", read_tools, as_json({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]})),
    Target("tokens", lambda data: Counter().count(_text(data), "gpt-4o"), text_seeds),
)

TARGETS: Final = {target.name: target for target in _TARGETS}
"""Name -> target."""
