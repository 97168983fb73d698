"""Functions of CBS: rules that RisuAI's recorded cases leave out, a table for each kind."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import Any

import pytest

from innkeeper.macros.cbs import CbsScope, default_variables, escaped, expand, unescaped
from innkeeper.macros.cbs.expansion import FUNCTIONS
from innkeeper.prompt.determinism import Clock

CHAT = (
    {"role": "user", "data": "one", "time": 1_000_000},
    {"role": "char", "data": "two {{char}}", "time": 1_060_000},
    {"role": "user", "data": "three", "time": 4_725_000},
)
SCOPE: dict[str, Any] = {
    "char": "Sable",
    "user": "Mira",
    "messages": CHAT,
    "greeting": "Hello, {{user}}.",
    "clock": Clock.at("2025-03-14T23:59:58.600Z"),
    "variables": {"hp": 30, "on": True, "empty": ""},
    "global_variables": {"gv": 7},
    "modules": {"ns": ["pic"]},
    "model": "claude-3",
}

TABLES: dict[str, dict[str, str]] = {
    "chat": {
        "{{history}}": '["{\\"role\\":\\"char\\",\\"data\\":\\"Hello, Mira.\\"}",'
        '"{\\"role\\":\\"user\\",\\"data\\":\\"one\\",\\"time\\":1000000}",'
        '"{\\"role\\":\\"char\\",\\"data\\":\\"two Sable\\",\\"time\\":1060000}",'
        '"{\\"role\\":\\"user\\",\\"data\\":\\"three\\",\\"time\\":4725000}"]',
        "{{messages::x}}": '["one","two {{char}}","three"]',
        "{{lastcharmessage}}": "two {{char}}",
        "{{previouschatlog::-1}}": "Out of range",
        "{{role}}": "null",
    },
    "variables": {
        "{{getvar::hp}} {{getvar::on}} {{getvar::empty}}|{{getvar}}": "30 true |null",
        "{{getglobalvar::gv}} {{getglobalvar}}": "7 null",
        "{{addvar::hp::1}}": "{{addvar::hp::1}}",
        "{{setdefaultvar::empty::1}}": "{{setdefaultvar::empty::1}}",
        "{{settempvar::a}}{{tempvar::a}}|": "|",
    },
    "numbers": {
        "{{round::-2.5}} {{round::0.49999999999999994}} {{ceil::-0.5}}": "-2 0 0",
        "{{remaind::-7::3}} {{remaind::7::-3}} {{pow::2::0.5}}": "-1 1 1.4142135623730951",
        "{{min::3::x}} {{max::1::2}} {{sum::1§2}} {{average::[]}} {{min::[]}}": "0 2 3 NaN Infinity",
        "{{fixnum::-1.25::1}} {{fixnum::x::1}} {{fixnum::1::x}}": "-1.3 NaN 1",
        "{{fixnum::1::101}}{{fixnum::1::-1}}": "{{fixnum::1::101}}{{fixnum::1::-1}}",
        "{{fromhex::zz}} {{tohex::-255}} {{fromhex::0x1f}}": "NaN -ff 31",
        "{{equal}} {{notequal::a}} {{greater::x::1}} {{lessequal::2::2}}": "1 1 0 1",
        '{{or::0}} {{and}} {{any::["1"]}} {{all::1::1::true}} {{all::[1]}}': "0 0 1 0 0",
    },
    "texts": {
        "{{reverse::a\N{GRINNING FACE}}}": "\N{GRINNING FACE}a::esrever",
        "{{unicodedecodefromhex::41}} {{roll::0d6}} {{roll::0}} {{roll::xd6}}": "A NaN NaN NaN",
        "{{replace::abc::b::[$&]}} {{replace::a::a::$$}}": "a[b]c $",
        "{{split::abc}} {{split::a😀::}}": '["abc"] ["a","\ufffd","\ufffd"]',
        '{{join::["a",null,1]}} {{spread::a§b}}': "a,,1 a::b",
        "{{capitalize::élan}} {{capitalize::😀a}} {{upper::ß}}": "Élan 😀a SS",
        "{{startswith::undefined}} {{contains::a::}}": "1 1",
        "{{trim::\ufeff a\u0085}}": "a\u0085",
        "{{iserror::ERROR: x}} {{iserror::x}}": "1 0",
        "{{lower}}{{tonumber}}": "{{lower}}{{tonumber}}",
    },
    "lists": {
        '{{arrayelement::["a","b"]}} {{arrayelement::["a","b"]::-1}} {{arrayelement::["a"]::1.5}}': "a b null",
        '{{arraysplice::["a","b","c"]::-1::9::x}} {{arraypop::[]}}': '["a","b","x"] []',
        '{{arrayassert::["a"]::x::b}} {{arrayassert::["a"]::1.5::b}}': '["a"] ["a"]',
        '{{filter::["a","","a"]::nonempty}} {{filter::["a","","a"]::unique}} {{filter::["","a"]::x}}': '["a","a"] ["a",""] ["a"]',
        "{{filter::[1,true,1,null,null,[],[]]}}": "[1,true,null,[],[]]",
        "{{range::[1,2,0.5]}} {{range::[]}}": '["1","1.5"] []',
        "{{dict::b=1::2=x::a==}}": '{"2":"x","b":"1","a":"="}',
        '{{objectassert::bad::a::1}} {{objectassert::{"a":0}::a::1}} {{objectassert::[1]::a::1}}': '{"a":"1"} {"a":"1"} [1]',
        '{{dictelement::null::a}} {{dictelement::"ab"::1}} {{dictelement::["x"]::0}}': "{{dictelement::null::a}} b x",
        '{{element::"ab"::0}} {{objectassert::1::k::v}} {{objectassert::"ab"::0}}': (
            'null {{objectassert::1::k::v}} "ab"'
        ),
        '{{element::{"a":""}::a}} {{element::x}} {{element::["1"]::0::0}}': "null x null",
    },
    "encoding": {
        "{{unicodeencode::A::9}} {{unicodeencode::A::x}} {{unicodedecode::65601}}": "NaN 65 A",
        "{{xord::{{xor::é😀}}}} {{xord::l5qTk5A}} {{xord::*}}|": "é😀 hello |",
        "{{crypt::{{crypt::abc}}}} {{crypt::abc::x}}": "abc \0\0\0",
        "{{file::n::aGVsbG8}}": "hello",
    },
    "moments": {
        "{{time}} {{date}} {{isotime}} {{isodate}} {{unixtime}}": "1:59:58 2025-3-15 23:59:58 2025-3-14 1741996799",
        "{{date::YY MM DD DDDD hh:mm:ss A}}": "25 03 15 74 01:59:58 AM",
        "{{date::}}{{date::::HH}}|": "|",
        "{{date::YYYY::9e99}}": "{{date::YYYY::9e99}}",
        "{{messagetime}} {{messagedate}}": "[Cannot get time] [Cannot get time]",
        "{{idleduration}}": "483886:41:13",
    },
    "application": {
        "{{prefill}} {{moduleenabled::ns}} {{module_assetlist::ns}} {{moduleenabled}}": '1 1 ["pic"] 0',
        "{{metadata::lang}} {{metadata::browserlang}} {{metadata::MAJOR}} {{metadata::maxcontext}}": "en en-US later 4000",
        "{{metadata::No}} {{triggerid}} {{emotionlist}}": "Error: No is not a valid metadata key. null []",
    },
    "display": {
        "{{cbr::x}}{{cbr::1.9}} {{cbr::Infinity}}": "cbr::1.9 {{cbr::Infinity}}",
        "{{tex::x}} {{codeblock}}": "$$x$$ {{codeblock}}",
        "{{codeblock::py::a&<}}": '<pre-hljs-placeholder lang="py">a&&lt;</pre-hljs-placeholder>',
        "{{button::Go}} {{risu::9}}": '<button class="button-default" risu-trigger="undefined">Go</button>'
        ' <img src="/logo2.png" style="height:9px;width:9px" />',
        "{{bo}}{{bc}}{{decbo}}{{decbc}}{{<}}{{>}}": "\ue9b8\ue9b8\ue9b9\ue9b9\ue9b8\ue9b9\ue9bc\ue9bd",
    },
    "draws": {
        "{{random::a\\,b}} {{randint::2::2}} {{randint::x::2}} {{dice::d6}} {{dice::6}} {{dice}}": "a,b 2 NaN 0 NaN {{dice}}",
        "{{roll}} {{roll::0d6}} {{roll::d1}} {{roll::x}} {{rollp::3d1}}": "1 NaN 1 NaN 3",
    },
}  # fmt: skip


@pytest.mark.parametrize(
    "text", [pytest.param(text, id=f"{kind}: {text}") for kind, table in TABLES.items() for text in table]
)
def test_a_function_gives_its_text(text: str) -> None:
    """What is missing reads as JavaScript reads it, or leaves the tag."""
    expected = next(table[text] for table in TABLES.values() if text in table)
    scope = CbsScope(**SCOPE, zone=timezone(timedelta(hours=2)))
    assert expand(text, scope).text == expected


def test_messages_have_times() -> None:
    """Those of the message that a text is of, and how long before it the user wrote."""
    scope = CbsScope(**SCOPE, chat_index=2)
    text = "{{messagetime}} {{messagedate}} {{messageidleduration}} {{role}} {{previoususerchat}} {{isfirstmsg}}"
    assert expand(text, scope).text == "1:18:45 AM 1/1/1970 1:02:05 user one 0"


def test_a_text_that_is_counted_has_fixed_times_and_draws() -> None:
    """Counting draws nothing."""
    scope = CbsScope(**SCOPE, counting=True, chat_index=2)
    assert (
        expand("{{messagetime}} {{idleduration}} {{random::a::b}} {{pick::a,b}}", scope).text == "00:00:00 00:00:00 a a"
    )


def test_names_have_no_separators() -> None:
    """Every name of the table can be reached: small letters, no blanks, no ``_`` and ``-``."""
    assert [name for name in FUNCTIONS if name != name.lower() or set(name) & set(" _-")] == []


def test_escapes_are_undone_for_a_request() -> None:
    """Braces come back as they were, angle brackets as HTML."""
    assert unescaped(escaped("{(x)}")) == "{(x)}"
    assert unescaped("\ue9bc\ue9bd\ue9be\ue9bf") == "&lt;&gt;:;"


def test_defaults_are_lines_of_names_and_values() -> None:
    """The first value counts; lines without one are left out."""
    assert default_variables("a=1\n=x\nb=\nc", "a=2\nb=3=4") == {"a": "1", "b": "3"}
