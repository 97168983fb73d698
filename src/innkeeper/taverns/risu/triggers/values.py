"""Effects on values: variables, numbers, texts, regular expressions, lists and dicts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from innkeeper.macros.cbs.calculation import calculate, divided, remainder
from innkeeper.macros.cbs.run import MAX_ITEMS, checked
from innkeeper.taverns.risu.triggers.conditions import slice_of
from innkeeper.taverns.risu.triggers.state import Operands, TriggerState
from innkeeper.text.javascript.substitution import replaced
from innkeeper.text.javascript.values import (
    json_text,
    length_of,
    number_text,
    parse_float,
    parse_json,
    text_of,
    text_of_units,
    to_number,
    units_of,
)
from innkeeper.text.jsreplace import JsMatch, joined

_NUMBERED: Final = re.compile(r"\$([0-9]+)")
_WRITTEN: Final = re.compile(r"/(.+)/([gimuy]*)")

_ASSIGNMENTS: Final[Mapping[str, Callable[[float, float], float]]] = {
    "+=": lambda a, b: a + b,
    "-=": lambda a, b: a - b,
    "*=": lambda a, b: a * b,
    "/=": divided,
    "%=": remainder,
}


def assign(state: TriggerState, name: str, operator: str, value: str) -> None:
    """Set a variable, or change its number; one that is none counts as 0, and an unknown operator empties it."""
    if operator in _ASSIGNMENTS:
        current = to_number(state.get(name))
        number = _ASSIGNMENTS[operator](0.0 if math.isnan(current) else current, to_number(value))
        value = number_text(number)
    state.set(name, value if operator in ("=", *_ASSIGNMENTS) else "")


def set_variable(operands: Operands) -> None:
    """``v2SetVar``."""
    assign(operands.state, operands.name(), str(operands.effect.get("operator")), operands.text("value"))


def declare(operands: Operands) -> None:
    """``v2DeclareLocalVar``: the variable is gone at the end of its block; one of a block around it is set instead."""
    state, name, value = operands.state, operands.name(), operands.text("value")
    block = state.block_of(name)
    state.local.setdefault(state.indent if block is None else block, {})[name] = value


def draw(operands: Operands) -> str:
    """``v2Random``: a whole number from ``min`` to ``max``."""
    low, high = operands.number("min"), operands.number("max")
    value = operands.state.inputs.scope.random.random() * (high - low + 1) + low
    return number_text(math.floor(value) if math.isfinite(value) else value)


def calculated(operands: Operands) -> str:
    """``v2Calculate``: the arithmetic of ``{{calc}}``, with the numbers at the beginning of the trigger's variables."""
    state = operands.state
    return number_text(
        calculate(
            operands.text("expression"),
            lambda name: number_text(parse_float(state.get(name))),
            state.inputs.scope.global_variable,
        )
    )


# ----------------------------------------------------------------------------------------------------------------- texts


def char_at(operands: Operands) -> str | None:
    """``v2GetCharAt``: a UTF-16 unit."""
    units, index = units_of(operands.text("source")), operands.number("index")
    return joined([text_of_units([units[int(index)]])]) if 0 <= index < len(units) and index == int(index) else None


def with_char_at(operands: Operands) -> str:
    """``v2SetCharAt``: a text with one unit replaced, or with something at its end."""
    source, index, value = operands.text("source"), operands.number("index"), operands.text("value")
    if not (index >= 0 and math.isfinite(index) and index == int(index)):
        return source
    units = units_of(source)
    return joined([text_of_units(units[: int(index)]), value, text_of_units(units[int(index) + 1 :])])


def split_text(operands: Operands) -> str:
    """``v2SplitString``: by a text, or by a regular expression whose groups come between."""
    source = operands.text("source")
    if operands.effect.get("delimiterType") != "regex":
        is_name = operands.effect.get("delimiterType") == "var"
        delimiter = operands.text("delimiter") if is_name else operands.name("delimiter")
        return json_text(source.split(delimiter) if delimiter else list(source))
    written = operands.name("delimiter")
    match = _WRITTEN.fullmatch(written)
    pattern, flags = match.groups() if match else (written, "")
    split = operands.state.split(pattern, "".join({*flags, "g"}), source)
    return json_text([source] if split is None else _parts(*split))


def _parts(texts: list[str], matches: list[JsMatch]) -> list[str]:
    """The parts between matches, with their groups. An empty match at the beginning of a part, or at the end, cuts nothing."""
    parts, size = [texts[0]], sum(map(len, texts)) + sum(len(match.groups[0] or "") for match in matches)
    cut, end = 0, len(texts[0])
    for match, text in zip(matches, texts[1:], strict=True):
        start, end = end, end + len(match.groups[0] or "")
        if end != cut and start < size:
            parts += [*(group or "" for group in match.groups[1:]), text]
            cut = end
        else:
            parts[-1] += text
        end += len(text)
    return parts


def joined_list(operands: Operands) -> str:
    """``v2JoinArrayVar``."""
    items, delimiter = _parsed(operands.text("var"), list), operands.text("delimiter")
    operands.state.spend(len(delimiter) * len(items or ()))
    return delimiter.join("" if item is None else text_of(item) for item in items or ())


def _referred(template: str, groups: list[str], state: TriggerState) -> str:
    """A template with the groups of a match: ``$1``, ``$&`` for the whole, ``$$`` for a dollar."""

    def numbered(reference: re.Match[str]) -> str:
        index = int(reference[1][:9])
        group = groups[index] if index < len(groups) else ""
        state.spend(len(group))
        return group

    result = _NUMBERED.sub(numbered, template)
    whole = groups[0] if groups else ""
    state.spend(result.count("$&") * len(whole))
    return result.replace("$&", whole).replace("$$", "$")


def extracted(operands: Operands) -> str:
    """``v2ExtractRegex``: the groups of the first match; without one they are empty."""
    split = operands.state.split(
        operands.text("regex"), operands.text("flags").replace("g", ""), operands.text("value")
    )
    groups = [group or "" for group in split[1][0].groups] if split else []
    return _referred(operands.text("result"), groups, operands.state)


def replaced_text(operands: Operands) -> str:
    """``v2ReplaceString``: each match, or with ``$1`` as the result that group of it, is replaced."""
    source, state = operands.text("source"), operands.state
    split = state.split(operands.text("regex"), operands.text("flags"), source)
    result, replacement = operands.text("result"), operands.text("replacement")
    if split is None:
        return source
    texts, matches = split
    parts = [texts[0]]
    for match, text in zip(matches, texts[1:], strict=True):
        parts += [_replacement([group or "" for group in match.groups], result, replacement, state), text]
    return joined(parts)


def _replacement(groups: list[str], result: str, replacement: str, state: TriggerState) -> str:
    target = _NUMBERED.fullmatch(result)
    index = int(target[1][:9]) if target else -1
    if index == 0:
        state.spend(len(replacement))
        return replacement
    if 0 < index < len(groups) and groups[index]:
        before, _, behind = groups[0].partition(groups[index])
        return before + replaced(groups[index], groups[index], replacement, state.spend) + behind
    return _referred(result, groups, state)


# ---------------------------------------------------------------------------------------------------------------- lists


def _parsed(text: str, kind: type[Any]) -> Any:
    """JSON data of a kind; ``None`` for anything else."""
    try:
        value = parse_json(text)
    except ValueError:
        return None
    return value if isinstance(value, kind) else None


def _printed(value: Any) -> str | None:
    return None if value is None else text_of(value)


def _whole(number: float, length: int) -> int | None:
    """An index of a list of this length, if the number is one."""
    return int(number) if 0 <= number < length and number == int(number) else None


def item_at(operands: Operands, items: list[Any]) -> str | None:
    """``v2GetArrayVar``."""
    index = _whole(operands.number("index"), len(items))
    return None if index is None else _printed(items[index])


def set_item(operands: Operands, items: list[Any]) -> None:
    """``v2SetArrayVar``; items before it that are not there become null."""
    index = _whole(operands.number("index"), 2**32)
    if index is not None:
        checked(index + 1, "the number of items in a list", "MAX_ITEMS", MAX_ITEMS)
        items += [None] * (index + 1 - len(items))
        items[index] = operands.text("value")


def insert(operands: Operands, items: list[Any]) -> None:
    """``v2SpliceArrayVar``: the index may count from the end."""
    items.insert(len(slice_of(items, 0, operands.number("start"))), operands.text("item"))


def remove(operands: Operands, items: list[Any]) -> None:
    """``v2RemoveIndexFromArrayVar``."""
    first = len(slice_of(items, 0, operands.number("index")))
    del items[first : first + 1]


CHANGED_LISTS: Final[Mapping[str, Callable[[Operands, list[Any]], object]]] = {
    "v2SetArrayVar": set_item,
    "v2PushArrayVar": lambda operands, items: items.append(operands.text("value")),
    "v2UnshiftArrayVar": lambda operands, items: items.insert(0, operands.text("value")),
    "v2PopArrayVar": lambda operands, items: operands.output(_printed(items.pop()) if items else None),
    "v2ShiftArrayVar": lambda operands, items: operands.output(_printed(items.pop(0)) if items else None),
    "v2SpliceArrayVar": insert,
    "v2RemoveIndexFromArrayVar": remove,
}
"""Effects that change the list of a variable."""

READ_LISTS: Final[Mapping[str, Callable[[Operands, list[Any]], str | None]]] = {
    "v2GetArrayVarLength": lambda _, items: str(len(items)),
    "v2GetArrayVar": item_at,
    "v2SliceArrayVar": lambda operands, items: json_text(
        slice_of(items, operands.number("start"), operands.number("end"))
    ),
    "v2GetIndexOfValueInArrayVar": lambda operands, items: str(
        items.index(value) if (value := operands.text("value")) in items else -1
    ),
}
"""Effects that read the list of a variable."""

_WITHOUT_LIST: Final = {"v2GetArrayVarLength": "0", "v2SliceArrayVar": "[]", "v2GetIndexOfValueInArrayVar": "-1"}


def change_list(kind: str, operands: Operands) -> None:
    """Run an effect on the list of a variable; what is no list becomes an empty one."""
    name = operands.name()
    items = _parsed(operands.state.get(name), list)
    if items is not None:
        CHANGED_LISTS[kind](operands, items)
        operands.state.set(name, json_text(items))
    elif kind != "v2SetArrayVar":
        operands.state.set(name, "[]")
        if "outputVar" in operands.effect:
            operands.output(None)


def read_list(kind: str, operands: Operands) -> None:
    """Run an effect that reads the list of a variable."""
    items = _parsed(operands.state.get(operands.name()), list)
    operands.output(_WITHOUT_LIST.get(kind) if items is None else READ_LISTS[kind](operands, items))


def make(operands: Operands, empty: str) -> None:
    """Set a variable to an empty list or dict, but for a name that is written like one."""
    name = operands.name()
    if not (name.startswith(empty[0]) and name.endswith(empty[1])):
        operands.state.set(name, empty)


def change_dict(operands: Operands, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the dict of a variable; what is no dict becomes one, and a value cannot be changed."""
    if operands.effect.get("varType") != "value":
        name = operands.name()
        value = _parsed(operands.state.get(name), dict) or {}
        change(value)
        operands.state.set(name, json_text(value))


def dict_of(operands: Operands) -> dict[str, Any]:
    """The dict that an effect reads; an empty one for anything else."""
    return _parsed(operands.text("var"), dict) or {}


OUTPUTS: Final[Mapping[str, Callable[[Operands], str | None]]] = {
    "v2Random": draw,
    "v2Calculate": calculated,
    "v2RegexTest": lambda operands: (
        "1"
        if operands.state.split(operands.text("regex"), operands.text("flags"), operands.text("value")) is not None
        else "0"
    ),
    "v2ExtractRegex": extracted,
    "v2ReplaceString": replaced_text,
    "v2GetCharAt": char_at,
    "v2SetCharAt": with_char_at,
    "v2GetCharCount": lambda operands: str(length_of(operands.text("source"))),
    "v2ToLowerCase": lambda operands: operands.text("source").lower(),
    "v2ToUpperCase": lambda operands: operands.text("source").upper(),
    "v2ConcatString": lambda operands: operands.text("source1") + operands.text("source2"),
    "v2SplitString": split_text,
    "v2JoinArrayVar": joined_list,
    "v2GetDictVar": lambda operands: _printed(dict_of(operands).get(operands.text("key"))),
    "v2HasDictKey": lambda operands: "1" if operands.text("key") in dict_of(operands) else "0",
    "v2GetDictSize": lambda operands: str(len(dict_of(operands))),
    "v2GetDictKeys": lambda operands: json_text(list(dict_of(operands))),
    "v2GetDictValues": lambda operands: json_text(list(dict_of(operands).values())),
}
"""Effects that write a result into a variable."""

ACTIONS: Final[Mapping[str, Callable[[Operands], None]]] = {
    "v2SetVar": set_variable,
    "v2DeclareLocalVar": declare,
    "v2MakeArrayVar": lambda operands: make(operands, "[]"),
    "v2MakeDictVar": lambda operands: make(operands, "{}"),
    "v2ClearDict": lambda operands: make(operands, "{}"),
    "v2SetDictVar": lambda operands: change_dict(
        operands, lambda value: value.update({operands.text("key"): operands.text("value")})
    ),
    "v2DeleteDictKey": lambda operands: change_dict(operands, lambda value: value.pop(operands.text("key"), None)),
}
"""Effects that change variables."""
