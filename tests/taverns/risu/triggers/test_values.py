"""Effects on values: what each writes into its variable."""

from __future__ import annotations

from typing import Any

import pytest

from tests.taverns.risu.triggers.trigger_texts import effect, outcome_of

VARIABLES = {"list": '["a","b","c"]', "dict": '{"k":"v","n":1}', "word": "abc", "n": "2", "bad": "x", "size": "3px"}


def replace(source: str, regex: str, result: str, replacement: str = "x", flags: str = "") -> dict[str, Any]:
    """An effect that replaces."""
    fields: dict[str, Any] = {
        "source": source,
        "regex": regex,
        "result": result,
        "replacement": replacement,
        "flags": flags,
    }
    return effect("v2ReplaceString", **fields)


OUTPUTS: dict[str, tuple[dict[str, Any], str]] = {
    "char": (effect("v2GetCharAt", source_="word", index_="n"), "c"),
    "no char": (effect("v2GetCharAt", source="abc", index="-1"), "null"),
    "set char": (effect("v2SetCharAt", source="abc", index="1", value="XY"), "aXYc"),
    "set char behind": (effect("v2SetCharAt", source="abc", index="9", value="X"), "abcX"),
    "set no char": (effect("v2SetCharAt", source="abc", index="x", value="X"), "abc"),
    "count": (effect("v2GetCharCount", source="a\N{GRINNING FACE}"), "3"),
    "lower": (effect("v2ToLowerCase", source="AB"), "ab"),
    "upper": (effect("v2ToUpperCase", source_="word"), "ABC"),
    "concat": (effect("v2ConcatString", source1_="word", source2="d{{char}}"), "abcdSable"),
    "split": (effect("v2SplitString", source="a,b", delimiter=","), '["a","b"]'),
    "split all": (effect("v2SplitString", source="ab", delimiter=""), '["a","b"]'),
    "split by pattern": (
        effect("v2SplitString", source="a1bXc", delimiter="/([0-9])|x/i") | {"delimiterType": "regex"},
        '["a","1","b","","c"]',
    ),
    "split where a match is empty": (
        effect("v2SplitString", source="axxb", delimiter="x?") | {"delimiterType": "regex"}, '["a","","b"]'
    ),
    "split by nothing": (effect("v2SplitString", source="ab", delimiter="x*") | {"delimiterType": "regex"}, '["a","b"]'),
    "join": (effect("v2JoinArrayVar", var_="list", delimiter="-"), "a-b-c"),
    "join no list": (effect("v2JoinArrayVar", var="x", delimiter="-"), ""),
    "regex test": (effect("v2RegexTest", value="abc", regex="B", flags="i"), "1"),
    "regex test of a bad pattern": (effect("v2RegexTest", value="abc", regex="(", flags=""), "0"),
    "extract": (effect("v2ExtractRegex", value="a12", regex="([0-9])(x)?", flags="g", result="$0|$1|$2|$3|$&|$$"), "1|1|||1|$"),
    "replace": (replace("a1 b2", "([a-z])([0-9])", "$2$1", flags="g"), "1a 2b"),
    "replace whole": (replace("a1 b2", "[a-z].", "$0"), "x b2"),
    "replace group": (replace("a1", "([a-z])([0-9])", "$2", "<$&>"), "a<1>"),
    "replace nothing": (replace("a1", "z", "$2"), "a1"),
    "calculate": (effect("v2Calculate", expression="$n*3+$bad"), "6"),
    "random": (effect("v2Random", min="3", max="3"), "3"),
    "random of no number": (effect("v2Random", min="x", max="3"), "NaN"),
    "length": (effect("v2GetArrayVarLength", var="list"), "3"),
    "length of no list": (effect("v2GetArrayVarLength", var="bad"), "0"),
    "item": (effect("v2GetArrayVar", var="list", index="1"), "b"),
    "no item": (effect("v2GetArrayVar", var="list", index="9"), "null"),
    "slice": (effect("v2SliceArrayVar", var="list", start="-2", end="9"), '["b","c"]'),
    "index": (effect("v2GetIndexOfValueInArrayVar", var="list", value="c"), "2"),
    "no index": (effect("v2GetIndexOfValueInArrayVar", var="list", value="z"), "-1"),
    "dict": (effect("v2GetDictVar", var_="dict", key="n"), "1"),
    "no key": (effect("v2GetDictVar", var="{}", key="n"), "null"),
    "has key": (effect("v2HasDictKey", var_="dict", key="k"), "1"),
    "size": (effect("v2GetDictSize", var_="bad"), "0"),
    "calculate with the beginning of a text": (effect("v2Calculate", expression="$size+1"), "4"),
    "split by what has no kind": (effect("v2SplitString", source="a,b") | {"delimiter": ","}, '["a","b"]'),
    "keys": (effect("v2GetDictKeys", var_="dict"), '["k","n"]'),
    "values": (effect("v2GetDictValues", var_="dict"), '["v",1]'),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_effect_writes_its_result(name: str) -> None:
    """The variable that it names has the result."""
    made, result = OUTPUTS[name]
    assert outcome_of(made | {"outputVar": "out"}, variables=VARIABLES).variables == {"out": result}


CHANGES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "push": (effect("v2PushArrayVar", var="list", value="d"), {"list": '["a","b","c","d"]'}),
    "push to no list": (effect("v2PushArrayVar", var="bad", value="d"), {"bad": "[]"}),
    "unshift": (effect("v2UnshiftArrayVar", var="list", value="d"), {"list": '["d","a","b","c"]'}),
    "pop": (effect("v2PopArrayVar", var="list", outputVar="o"), {"list": '["a","b"]', "o": "c"}),
    "shift": (effect("v2ShiftArrayVar", var="list", outputVar="o"), {"list": '["b","c"]', "o": "a"}),
    "pop of no list": (effect("v2PopArrayVar", var="bad", outputVar="o"), {"bad": "[]", "o": "null"}),
    "splice": (effect("v2SpliceArrayVar", var="list", start="-1", item="d"), {"list": '["a","b","d","c"]'}),
    "remove": (effect("v2RemoveIndexFromArrayVar", var="list", index="1"), {"list": '["a","c"]'}),
    "set": (effect("v2SetArrayVar", var="list", index="4", value="d"), {"list": '["a","b","c",null,"d"]'}),
    "set in no list": (effect("v2SetArrayVar", var="bad", index="4", value="d"), {}),
    "make": (effect("v2MakeArrayVar", var="new"), {"new": "[]"}),
    "make a literal": (effect("v2MakeArrayVar", var="[new]"), {}),
    "set key": (effect("v2SetDictVar", var_="bad", key="k", value="v"), {"bad": '{"k":"v"}'}),
    "set key of a value": (effect("v2SetDictVar", var="{}", key="k", value="v"), {}),
    "delete key": (effect("v2DeleteDictKey", var_="dict", key="n"), {"dict": '{"k":"v"}'}),
    "clear": (effect("v2ClearDict", var="dict"), {"dict": "{}"}),
    "assign": (effect("v2SetVar", var="{{char}}", operator="=", value_="n"), {"Sable": "2"}),
    "an unknown operator": (effect("v2SetVar", var="n", operator="~", value="1"), {"n": ""}),
    "divide": (effect("v2SetVar", var="n", operator="/=", value="0"), {"n": "Infinity"}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_effect_changes_variables(name: str) -> None:
    """Lists and dicts are JSON texts; what is none becomes an empty one."""
    made, variables = CHANGES[name]
    assert outcome_of(made, variables=VARIABLES).variables == variables
