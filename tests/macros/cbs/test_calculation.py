"""The arithmetic of CBS: precedence, missing operands, numbers that are dropped, variables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.cbs.calculation import calculate
from innkeeper.text.javascript.values import number_text

CHAT = {"gold": "12.5", "hp": "30", "word": "sword"}
SHARED = {"gv": "7"}
RESULTS = {
    "1+2*3": "7",
    "(1+2)*3": "9",
    "10/4": "2.5",
    "10%4": "2",
    "-7%3": "-1",
    "-3+5": "2",
    "3--2": "5",
    "2^3^2": "64",
    "-2^2": "4",
    "1/3": "0.3333333333333333",
    "5/0": "Infinity",
    "-5/0": "-Infinity",
    "0/0": "NaN",
    "10^400": "Infinity",
    "0^-1": "Infinity",
    "-8^0.5": "NaN",
    "": "0",
    "abc": "0",
    "1+abc": "NaN",
    "1==1": "1",
    "1!=1": "0",
    "2>=2": "1",
    "2<1": "0",
    "!0": "1",
    "!1": "0",
    "((2))": "2",
    "1+2)": "3",
    "(1+2": "3",
    "2(3)": "23",
    "00": "0",
    "0.0+1": "NaN",
    "2*0.0": "NaN",
    "7-0": "7",
    "1,000+1": "2",
    "9007199254740993": "9007199254740992",
    "0.0000001*1": "1e-7",
    "5||0": "5",
    "3&2": "2",
    "1|0&0": "0",
    "1+1 == 2 && 3>2": "1",
    "NULL+4": "4",
    "$gold*2": "25",
    "$gold%5": "2.5",
    " $hp > 20": "1",
    "$word+1": "1",
    "$missing+1": "1",
    "@gv*@gv": "49",
}


def _value(text: str) -> float:
    return calculate(text, lambda name: CHAT.get(name, "null"), lambda name: SHARED.get(name, "null"))


@pytest.mark.parametrize("text", RESULTS)
def test_an_expression_has_the_number_of_risuai(text: str) -> None:
    """Each text gives the number that RisuAI prints."""
    assert number_text(_value(text)) == RESULTS[text]


@given(text=st.text("0123456789.+-*/^%<>|&=!()$@ anulI,", max_size=40))
def test_every_text_has_a_value(text: str) -> None:
    """Junk gives a number or NaN, never an error."""
    assert isinstance(_value(text), float)


def test_deep_parentheses_take_no_stack() -> None:
    """Parentheses are no recursion."""
    assert _value("(" * 50_000 + "1" + ")" * 50_000) == 1
