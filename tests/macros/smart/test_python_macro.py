"""The Python macro: values are data in its code, and a run has one share of work."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.smart import SMARTTAVERN, SmartEnvironment, expand
from innkeeper.macros.smart import python_macro as module
from tests.macros.smart.smart_texts import environment, expanded


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("{{python:{{getvar:x}} * 2}}", "21", "42"),
        ("{{python:{{getvar:x}} ** 2}}", "-3", "9"),
        ("{{python:{{getvar:x}} + 0.5}}", " 1e1 ", "10.5"),
        ("{{python:not {{getvar:x}}}}", "True", "False"),
        ("{{python:{{getvar:x}}}}", "007", "007"),
        ("{{python:{{getvar:x}}}}", "1+1", "1+1"),
        ("{{python:'%s!' % {{getvar:x}}}}", "a", "a!"),
        ("{{python:'<{{getvar:x}}>'}}", "it's", "<it's>"),
        ("{{python:\"<{{getvar:x}}>\" + 'a'}}", '"\\\n', '<"\\\n>a'),
        ("{{python:'''<{{getvar:x}}>'''}}", "'''", "<'''>"),
        ("{{python:r'\\d{{getvar:x}}\\d'}}", "\\'", "\\d\\'\\d"),
        ("{{python:'\\'{{getvar:x}}\\''}}", "'", "'''"),
        ("{{python:1 # {{getvar:x}}\n}}", "\n2", "1"),
        ("{{python:1 # a\n+ {{getvar:x}}}}", "2", ""),
        ("{{python:getvar('{{getvar:x}}')}}", "x", "x"),
    ],
    ids=str,
)
def test_values_are_data(text: str, value: str, shown: str) -> None:
    """Inside of quotes a part of that text, elsewhere a number, a constant or a text."""
    assert expanded(text, {"x": value}) == shown


@given(st.text(max_size=20))
def test_any_value_stays_itself(value: str) -> None:
    """Whatever a value says, code around it gets it unchanged."""
    assert expanded("{{python:'[' + '{{getvar:x}}' + ']'}}", {"x": value}) == f"[{value}]"


def test_the_original_splices() -> None:
    """Where it is kept, a value is code."""
    assert expanded("{{python:{{getvar:x}}}}", {"x": "1+1"}, SMARTTAVERN) == "2"
    assert expanded("{{python:'{{getvar:x}}'}}", {"x": "it's"}, SMARTTAVERN) == ""


def test_effects_before_a_failure_stay() -> None:
    """The failed code leaves nothing and a note."""
    env = environment()
    assert expand("[{{python:setvar('x',1)+1/0}}]{{getvar:x}}", env) == "[]1"
    assert [str(note) for note in env.notes] == ["1:2: division by zero"]
    assert env.notes[0].data["code_column"] == 15


def test_python_can_be_off() -> None:
    """Then it leaves nothing, with a note that says so."""
    env = environment(python=False)
    assert expand("a{{python:1}}b", env) == "ab"
    assert env.notes[0].message == "Python is switched off"


@pytest.mark.parametrize("bomb", ["9**9**9", "[0]*10**9", "'%1000000000d' % 1", "'a'*10**12"])
def test_bombs_end(bomb: str) -> None:
    """Each is refused before it begins."""
    env = environment()
    assert expand("{{python:" + bomb + "}}", env) == ""
    assert env.notes[0].data["kind"] == "sandbox_limit"


@pytest.mark.parametrize(
    ("limit", "code"),
    [("MAX_PYTHON_WORK", "len('a' * 900000)"), ("MAX_PYTHON_SECONDS", "re.sub('a','b','a')")],
    ids=["work", "seconds"],
)
def test_a_run_has_one_share(limit: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it is spent, code leaves nothing, with a note; conditions of the run share it too."""
    monkeypatch.setattr(module, limit, 0)
    env: SmartEnvironment = environment()
    assert expand("{{python:" + code + "}}", env.fork()) != ""
    assert expand("{{python:" + code + "}}", env) == ""
    assert env.notes[0].data["limit"] == limit


def test_conditions_leave_the_table_alone() -> None:
    """Code in a fork changes what the fork sees, not the run's variables."""
    env = environment({"l": [3, 1, 2]})
    assert (
        expand("{{python:random.shuffle(getvar('l'))}}{{python:setvar('l[0]', 9)}}{{getvar:l[0]}}", env.fork()) == "9"
    )
    assert env.table == {"l": [3, 1, 2]}


def test_a_stored_function_is_a_named_quirk() -> None:
    """With the original's switch it becomes an empty object; without, it is refused with a note."""
    text = "{{python:setvar('f', getvar)}}"
    kept, refused = environment({}, SMARTTAVERN), environment({})
    assert (expand(text, kept), kept.table) == ("", {"f": {}})
    assert (expand(text, refused), refused.table) == ("", {})
    assert "cannot be kept in a variable" in refused.notes[0].message


def test_long_numbers_use_up_the_share_of_a_run() -> None:
    """Making and writing numbers of thousands of digits is charged, so that many macros end soon."""
    shown = expand("{{python:len(str(9**4000))}}" * 3000, environment({}))
    assert 4 * 100 < len(shown) < 4 * 3000
