"""The language of the sandbox: what code gives, beside what Python gives, and what it does to the variables."""

import random
import warnings
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from innkeeper.macros.smart import FIXED, SMARTTAVERN, MacroOptions, sandbox
from innkeeper.macros.smart.sandbox.limits import SandboxLimits
from innkeeper.prompt.errors import FormatError, InnkeeperError
from tests.macros.smart.sandbox_host import TableHost, failure, value

ALIKE = [
    "2 ** 10",
    "7 % 3",
    "-7 // 2",
    "10 ^ 3",
    "True ^ False",
    "-3 + +4",
    "not []",
    "1 < 2 < 3",
    "1 < 2 > 5",
    "1 == 1.0 != 2",
    "None is None",
    "None is not None",
    "'x' in 'xyz'",
    "3 not in [1, 2]",
    "'a' in {'a': 1}",
    "0 or '' or 'x'",
    "1 and 0 and 2",
    "1 and 2",
    "0 or []",
    "'a' if 0 else 'b'",
    "[1, [2, (3,)], {'k': None}]",
    "{**{'a': 1}, 'b': 2, 'a': 3}",
    "(1, 2) + (3,)",
    "3 * 'ab'",
    "[1] * 2 + [3]",
    "2 ** -1",
    "0.1 + 0.2",
    "1e400",
    "-1e400",
    "len('héé')",
    "abs(-2.5)",
    "min(3, 1, 2)",
    "max([1, 3, 2], key=abs)",
    "max([], default=7)",
    "min('hello')",
    "min({'b': 1, 'a': 2})",
    "sum([1, 2.5], 3)",
    "sum([[1], [2]], [])",
    "sum([1], start=2)",
    "int(' 42 ')",
    "int('ff', 16)",
    "int('0x1f', base=0)",
    "int(-3.9)",
    "int(True)",
    "float(' 1e3 ')",
    "bool('')",
    "str()",
    "str(1.0)",
    "str([1, 'a'])",
    "str(object=5)",
    "round(2.5)",
    "round(2.675, 2)",
    "round(1234, -2)",
    "round(True)",
    "round(2.5, None)",
    "sorted('bca', reverse=True)",
    "sorted({'b': 1, 'a': 2})",
    "sorted([3, -1, 2], key=abs)",
    "'%s-%d' % ('a', 3)",
    "'%05.1f|%-4s|%+d|%x|%%|%r|%c' % (3.14159, 'ab', 5, 255, 'q', 'z')",
    "'%(a)s %(b)03d' % {'a': 1, 'b': 2}",
    "'%*d|%-*d|%.*f' % (5, 1, 4, 2, 1, 2.25)",
    "'%s' % [1]",
    "'%s' % {'a': 1}",
    "'none' % []",
    "'%i %u' % (1.9, 2)",
    "'%a' % 'é'",
    "'%10.3s|' % 'abcdef'",
    "'%ld' % 5",
    "'%c' % 65",
    "'%g %e' % (1e10, 12345.678)",
    "'a' < 'b'",
    "[1, 2] < [1, 3]",
    "(1, 'a') == (1, 'a')",
    "r'\\d' + '\\x41\\u0042'",
    "'it''s'",
    "'''a\nb'''",
    "1_000",
    "0xff",
    "(1,)",
    "()",
    "{}",
    "5 // 2.0",
]


@pytest.mark.parametrize("code", ALIKE)
def test_as_python(code: str) -> None:
    """An expression of the language gives what Python gives, of the same type."""
    mine, theirs = value(code), eval(code)  # noqa: S307 - the codes are above
    assert (type(mine), repr(mine)) == (type(theirs), repr(theirs))


_NUMBERS = st.one_of(st.integers(-99, 99), st.floats(-1e6, 1e6, allow_nan=False)).map(repr)
_TEXTS = st.text("ab%s é\\'\"", max_size=4).map(repr)
_ARITHMETIC = st.recursive(
    st.one_of(_NUMBERS, _TEXTS, st.sampled_from(["True", "False", "None", "[]", "(1, 2)", "{'a': 1}"])),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+ - * / // % ** ^ < <= == != > >= and or in".split()), inner).map(  # noqa: SIM905
            lambda parts: f"({' '.join(parts)})"
        ),
        inner.map(lambda text: f"(-{text})"),
        inner.map(lambda text: f"(not {text})"),
        st.tuples(inner, inner, inner).map(lambda parts: "({} if {} else {})".format(*parts)),
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        st.tuples(st.sampled_from(["abs", "len", "str", "bool", "round", "float", "sorted", "sum", "max"]), inner).map(
            lambda parts: f"{parts[0]}({parts[1]})"
        ),
    ),
    max_leaves=6,
)


@given(_ARITHMETIC)
@example("(2 ** 9999)")
@example("(not ((-1) ** 0.5))")
def test_oracle(code: str) -> None:
    """Where the sandbox gives a value it is Python's; where Python fails so does the sandbox, with a typed error.

    Complex numbers do not exist in it: what would make one, on the way or in the end, is refused.
    """
    try:
        mine: Any = value(code)
    except sandbox.SandboxLimitError:
        return
    except sandbox.SandboxRuntimeError as error:
        mine = error
    try:
        theirs: Any = eval(code)  # noqa: S307 - arithmetic made above
    except (TypeError, ValueError, ArithmeticError) as error:
        assert isinstance(mine, sandbox.SandboxRuntimeError), error  # noqa: PT017 - one of two outcomes
        return
    if isinstance(mine, sandbox.SandboxRuntimeError):
        assert "real number" in str(mine)
    else:
        assert repr(mine) == repr(theirs)


_WORDS = (
    "1|0.5|'a'|x|y|result|vars|re|len|abs|str|int|float|max|sum|sorted|getvar|setvar|legacy_num|random.choice|math.sqrt|re.sub|"
    "re.findall|datetime.datetime.now|datetime.date|(|)|[|]|{|}|,|:|=|==|+|-|*|/|//|%|**|^|&|~|<<|>>|@|.|not|and|or|in|is|if|else|"
    "None|True|lambda|for|while|import|def|class|await|f'{1}'|b''|1j|...|;|#|'''|+=|:=|->|!|elif|"
)
_PIECES = st.sampled_from([*_WORDS.split("|"), '"b"', "|", "\\", "\n", "\t", " "])
_CODE = st.one_of(
    st.lists(_PIECES, max_size=25).map("".join),
    st.lists(_PIECES, max_size=25).map(" ".join),
    st.text(max_size=40),
)


@given(_CODE)
@example("'\\400'")
@example("1or 2")
@example("0xfor 1")
@example("'\\N{DIGIT ONE}'")
def test_nothing_untyped(code: str) -> None:
    """Whatever the code, a text or a `SandboxError` with a place comes out."""
    error = failure(code, {"a": [1, {"b": "c"}]})
    assert error is None or error.render()


_NUMERALS = st.lists(
    st.sampled_from(
        [
            *(
                "1",
                "0x1f",
                "0b1",
                "0x",
                "1.5",
                ".5",
                "1e5",
                "1E0_0",
                "1_0",
                "1j",
                "0",
                "is",
                "if",
                "ifx",
                "else",
                "and",
                "or",
            ),
            *("in", "not", "for", "x", " ", "'a'", "'\\d'", "r'\\d'", "\\", "'\\777'", "(1)", "()", "[0]"),
        ]
    ),
    max_size=6,
)


@given(st.one_of(_CODE, _NUMERALS.map("".join)))
@example("1ifx")
@example("0E0_0is")
@example("1jif 1else 2")
def test_no_warnings(code: str) -> None:
    """The parser has nothing to warn of, whatever the code."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        failure(code)
    assert [str(warning.message) for warning in seen] == []


@given(st.lists(st.sampled_from(["x=[x,x]", "x=x+x", "x='%s' % x", "x=str(x)", "x=x*9", "x=[x]", "x={1:x}", "setvar('a',x)",
    "x=getvar('a')", "x=(x,)", "x=sorted(x)", "vars=x", "vars[0]=x", "x=max(x)", "x=x**2", "x=sum(x,[])", "x=legacy_upper(x)",
    "x=re.sub('.','aa',x)", "x=re.findall('.',x)"]), max_size=40), st.sampled_from(["1", "'a'", "[1]", "10**99"]))  # fmt: skip
def test_growth_is_bounded(lines: list[str], start: str) -> None:
    """However values are grown, what comes out is short, and no variable is larger than a value may be."""
    host = TableHost()
    try:
        text = sandbox.run_text("\n".join([f"x={start}", *lines, "result=x"]), host)
    except sandbox.SandboxError:
        text = ""
    assert len(text) <= sandbox.SANDBOX_LIMITS.text_chars
    assert len(repr(host.table)) < 10 * sandbox.SANDBOX_LIMITS.text_chars


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("x = 2\nresult = x * 3", 6),
        ("x = 1\nx += 4\nresult = x", 5),
        ("x: int = 3\nresult = x", 3),
        ("x: int\nresult = 1", 1),
        ("a, (b, [c, d]) = 1, (2, 'yz')\nresult = [a, b, c, d]", [1, 2, "y", "z"]),
        ("[a, b] = {'k': 1, 'l': 2}\nresult = a + b", "kl"),
        ("a = b = 5\nresult = a + b", 10),
        ("if 0: result = 1\nelif 1: result = 2\nelse: result = 3", 2),
        ("if 0:\n  result = 1\nelse:\n  result = 3", 3),
        ("1;2", None),
        ("result = None", None),
        ("", None),
        ("# comment", None),
        ("vars = {'a': 1}\nvars['b'] = 2\nresult = vars", {"a": 1, "b": 2}),
        ("vars = [1, 2, 3]\nresult = vars[1:]", [2, 3]),
        ("vars = 'abc'\nresult = vars[::-1]", "cba"),
        ("vars = [1, 2]\nvars[0] += 5\nresult = vars", [6, 2]),
        ("vars = [1, 2]\na, vars[1] = 3, 4\nresult = vars", [1, 4]),
        ("x = [1]\ny = x\nx += [2]\nresult = y", [1]),
        ("len = abs\nresult = len(-4)", 4),
        ("sqrt = math.sqrt\nresult = sorted([9, 4], key=sqrt)", [4, 9]),
        ("re = re\nresult = re.findall('a', 'aa')", ["a", "a"]),
    ],
)
def test_statements(code: str, result: object) -> None:
    """Statements set names; the value is that of ``result``."""
    assert value(code) == result


@pytest.mark.parametrize(
    ("code", "result", "after"),
    [
        ("getvar('a') + 1", 2, {"a": 1}),
        ("vars['a']", 1, {"a": 1}),
        ("vars['no']", "[UndefinedVar:no]", {"a": 1}),
        ("getvar(7)", "[UndefinedVar:7]", {"a": 1}),
        ("vars['n'] = [1, (2,)]\nresult = vars['n']", [1, (2,)], {"a": 1, "n": [1, (2,)]}),
        ("vars['a'] += 1\nresult = vars['a']", 2, {"a": 2}),
        ("setvar('n', {1: {None: 2, True: 3, 1.5: 4}})", "", {"a": 1, "n": {"1": {"null": 2, "true": 3, "1.5": 4}}}),
        ("setvar(name='n', value=5)", "", {"a": 1, "n": 5}),
        ("legacy_addvar('a', 2)", "", {"a": "3.0"}),
        ("legacy_addvar('b', 2)", "", {"a": 1, "b": "[UndefinedVar:b]2"}),
        ("legacy_inc('a')", "", {"a": "2.0"}),
        ("legacy_dec('z')", "", {"a": 1, "z": "-1.0"}),
        ("x = getvar('')\nsetvar('c', x)\nresult = x", {"a": 1}, {"a": 1, "c": {"a": 1}}),
        ("'%(a)s' % vars", "1", {"a": 1}),
        ("str(vars)", "VarProxy({'a': 1})", {"a": 1}),
        ("legacy_addvar('a', None)", "", {"a": "1"}),
        ("legacy_inc(var_name='a')", "", {"a": "2.0"}),
    ],
)
def test_variables(code: str, result: object, after: dict[str, Any]) -> None:
    """Reading copies, writing copies; keys become texts."""
    table: dict[str, Any] = {"a": 1}
    assert value(code, table) == result
    assert table == after


def test_what_is_read_is_a_copy() -> None:
    """Reordering a list that came from a variable leaves the variable alone."""
    table = {"l": list(range(50))}
    assert value("x = getvar('l')\nrandom.shuffle(x)\nresult = x", table) != list(range(50))
    assert table == {"l": list(range(50))}


@pytest.mark.parametrize("odd", [{1, 2}, b"a", Ellipsis, 1j, [{"a": {3}}], {b"k": 1}], ids=repr)
def test_odd_variables(odd: object) -> None:
    """A variable that holds no data is a typed error, inside of containers too."""
    error = failure("getvar('a')", {"a": odd})
    assert isinstance(error, sandbox.SandboxRuntimeError)


@pytest.mark.parametrize(
    ("table", "limit"),
    [
        ({"a": "x" * 2_000_000}, "text_chars"),
        ({"a": 10**5000}, "int_bits"),
        ({"a": [10**5000]}, "int_bits"),
        ({"a": [0] * 200_000}, "items"),
        ({"a": ["x" * 999_999, "y"]}, "text_chars"),
    ],
    ids=["text", "int", "inner-int", "list", "inner-text"],
)
def test_large_variables(table: dict[str, Any], limit: str) -> None:
    """A variable too large for the sandbox is a limit error when it is read."""
    error = failure("getvar('a')", table)
    assert isinstance(error, sandbox.SandboxLimitError)
    assert error.limit == limit


def test_errors_of_the_host() -> None:
    """A typed error of the host comes out as one of the sandbox, with its message, hint and place."""

    class Refusing(TableHost):
        def setvar(self, path: str, value: Any) -> None:
            raise InnkeeperError("no more room", hint="remove some")

    for code in ("setvar('a', 1)", "vars['a'] = 1", "vars['a'] += 'x'"):
        with pytest.raises(sandbox.SandboxRuntimeError, match="no more room") as caught:
            sandbox.run(code, Refusing())
        assert caught.value.hint == "remove some"
        assert caught.value.where is not None
        assert caught.value.where.line == 1


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("datetime.datetime.now()", "2024-05-17 13:45:30"),
        ("datetime.datetime.utcnow()", "2024-05-17 05:45:30"),
        ("datetime.date.today()", "2024-05-17"),
        ("datetime.date.fromtimestamp(86400)", "1970-01-02"),
        ("datetime.datetime.strptime('2024-01-02', '%Y-%m-%d')", "2024-01-02 00:00:00"),
        ("datetime.datetime.strptime('31 12', '%d %m')", "1900-12-31 00:00:00"),
        ("datetime.datetime.now() - datetime.datetime(2024, 5, 17)", "13:45:30"),
        ("(datetime.date(2024, 5, 17) - datetime.date(2024, 5, 1)) * 2", "32 days, 0:00:00"),
        ("2 * (datetime.date(2024, 5, 17) - datetime.date(2024, 5, 1)) // 4", "8 days, 0:00:00"),
        ("-abs(datetime.date(2024, 5, 17) - datetime.date(2024, 5, 1)) > 0", None),
        ("datetime.date(2024, 5, 17) + (datetime.date(2024, 5, 17) - datetime.date(2024, 5, 1))", "2024-06-02"),
        ("datetime.date(2024, 5, 17) < datetime.date.today()", "False"),
        ("datetime.time(hour=3, minute=4)", "03:04:00"),
        ("[datetime.date(2024, 5, 17)]", "[datetime.date(2024, 5, 17)]"),
        ("legacy_time()", "13:45:30"),
        ("legacy_time('%Y')", "2024"),
        ("legacy_time_utc('+30')", "19:45:30"),
        ("legacy_weekday_cn()", "星期五"),
        ("legacy_timediff('2024-01-01', '2024-01-03')", "2天0小时0分钟"),
        ("abs(datetime.date(2024, 5, 1) - datetime.date(2024, 5, 17))", "16 days, 0:00:00"),
        ("legacy_roll('junk') + legacy_roll('') + legacy_roll(2, 'x') + legacy_roll(2.5, 6)", "1111"),
        ("int(legacy_roll(sides='2', expr_or_n=60)) >= 50", "True"),
        ("legacy_roll()", None),
        ("legacy_time(fmt='%d') + legacy_time(5) + legacy_time(None)", "17"),
        ("legacy_time_utc('-5', '%H') + legacy_time_utc(offset=2, fmt='|%d %H')", "08|17 15"),
        ("legacy_time_utc(0, 5) + legacy_time_utc(10**30) + legacy_time_utc('x', '%d')", "17"),
        ("legacy_timediff(datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 3))", "2天0小时0分钟"),
        ("legacy_timediff('2024-01-01')", None),
        ("legacy_upper(s='a') + legacy_upper(None)", "ANONE"),
        ("legacy_num(v='2', default=[])", "2.0"),
        ("legacy_num('x', [])", None),
        ("legacy_num('3.5') + legacy_num(None, 2) + legacy_num(1.5)", "7.0"),
        ("math.floor(2.5) + math.ceil(2.5) + math.sqrt(16)", "9.0"),
        ("random.randint(3, 3) + random.choice([4])", "7"),
        ("0 <= random.random() < 1", "True"),
    ],
)
def test_moments_and_chance(code: str, text: str | None) -> None:
    """Time is the host's, in its zone; moments can be compared and subtracted."""
    host = TableHost()
    host.now = datetime(2024, 5, 17, 13, 45, 30, tzinfo=timezone(timedelta(hours=8)))
    if text is None:
        with pytest.raises(sandbox.SandboxRuntimeError):
            sandbox.run_text(code, host)
    else:
        assert sandbox.run_text(code, host) == text


def test_moment_without_zone() -> None:
    """A host without a zone tells the same moment as local and as UTC time."""
    host = TableHost()
    host.now = host.now.replace(tzinfo=None)
    assert sandbox.run_text("datetime.datetime.now() == datetime.datetime.utcnow()", host) == "True"


def test_draws_are_the_hosts() -> None:
    """The same seed draws the same; each call draws in turn."""
    code = "[random.randint(1, 6), random.choice('abc'), random.random()]"
    stream = random.Random(1)  # noqa: S311 - not for secrets
    assert value(code) == [stream.randint(1, 6), stream.choice("abc"), stream.random()]


def test_limits_of_a_run() -> None:
    """Limits are a value: with others, code ends at those."""
    tight = SandboxLimits(int_bits=8, code_chars=40, depth=3)
    with pytest.raises(sandbox.SandboxLimitError, match="int_bits"):
        sandbox.run("300", TableHost(), limits=tight)
    with pytest.raises(sandbox.SandboxLimitError, match="depth"):
        sandbox.run("1+1+1+1", TableHost(), limits=tight)
    with pytest.raises(sandbox.SandboxLimitError, match="depth"):
        sandbox.run("if 1:\n if 1:\n  if 1:\n   x=1", TableHost(), limits=tight)
    assert sandbox.run("200 + 50", TableHost(), limits=tight) == 250


@pytest.mark.parametrize("code", ["1 if 1 else " * 5000 + "1", "+".join("1" * 2500)], ids=["parser", "compiler"])
def test_depth_is_a_limit_even_without_one(code: str) -> None:
    """Nesting that exhausts the parser or the compiler is a limit error."""
    with pytest.raises(sandbox.SandboxLimitError, match="depth"):
        sandbox.run(code, TableHost(), limits=SandboxLimits(code_chars=10**6, depth=10**6))


def test_long_code_is_compiled_each_time() -> None:
    """Code too long to be kept gives the same value."""
    assert value("1 " + "# comment" * 500) == 1


def test_deep_stacks() -> None:
    """Code run from deep inside a program ends in a value or a typed error, and never in a RecursionError."""
    code = "+".join("1" * 90)

    def deeper(left: int) -> str:
        try:
            return deeper(left - 1) if left else sandbox.run_text(code, TableHost())
        except sandbox.SandboxLimitError as error:
            return error.limit

    outcomes = set()
    for depth in (1, 500, 700, 850):
        outcomes.add(deeper(depth))
    assert outcomes <= {"90", "depth", "work"}


@pytest.mark.parametrize("compat", [FIXED, SMARTTAVERN], ids=["fixed", "smarttavern"])
def test_evaluate(compat: Any) -> None:
    """The operation: text, success, variables before and after, and an error with place and hint."""
    options = MacroOptions(compat=compat, now=datetime(2024, 5, 17, tzinfo=UTC))
    given_variables = {"a": {"b": 1}}
    assert sandbox.evaluate("getvar('a.b') + 1", given_variables, options=options) == {
        "success": True,
        "result": "2",
        "error": None,
        "variables": {"initial": {"a": {"b": 1}}, "final": {"a": {"b": 1}}},
    }
    failed = sandbox.evaluate("setvar('x', 1) + 1/0", given_variables, options=options)
    assert (failed["success"], failed["result"]) == (False, "")
    assert failed["error"] == "SandboxRuntimeError: 1:18: division by zero"
    assert failed["variables"] == {"initial": given_variables, "final": {"a": {"b": 1}, "x": 1}}
    assert "hint" in sandbox.evaluate("1 +", options=options)["error"]
    assert given_variables == {"a": {"b": 1}}


def test_evaluate_switched_off() -> None:
    """With ``python`` off nothing runs, and the answer says so."""
    off = sandbox.evaluate("setvar('x', 1)", {}, options=MacroOptions(python=False))
    assert (off["success"], off["result"], off["variables"]["final"]) == (False, "", {})
    assert "switched off" in off["error"]


def test_evaluate_takes_a_text() -> None:
    """Code that is no text is a format error."""
    with pytest.raises(FormatError, match="code must be a text"):
        sandbox.evaluate(5)  # type: ignore[arg-type]


def test_helpers_without_a_name_change_nothing() -> None:
    """A variable named by nothing is none."""
    for code in ("legacy_inc(None)", "legacy_addvar(None, 2)"):
        answer = sandbox.evaluate(code, {"a": 1})
        assert (answer["success"], answer["variables"]["final"]) == (True, {"a": 1})


@pytest.mark.parametrize("code", [" 1", "\t1", "  result = 1"])
def test_code_begins_at_its_line(code: str) -> None:
    """Blanks in front of code are wrong indentation, as for Python's parser."""
    assert sandbox.evaluate(code)["error"].startswith("SandboxSyntaxError")
