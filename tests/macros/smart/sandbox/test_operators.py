"""``text % values`` beside Python's own."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from innkeeper.macros.smart import sandbox
from tests.macros.smart.sandbox_host import TableHost

_VALUE = st.one_of(
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.text("aé'", max_size=3),
    st.booleans(),
    st.none(),
    st.just([1]),
    st.just({"a": 1}),
)
_CONVERSION = st.tuples(
    st.sampled_from(["%", "%", "%(a)"]),
    st.text("-#0 +", max_size=2),
    st.sampled_from(["", "5", "*"]),
    st.sampled_from(["", ".2", ".", ".*"]),
    st.sampled_from(["", "l"]),
    st.sampled_from("diouxXeEfFgGcrsa%zq "),
).map("".join)
_FORMAT = st.lists(st.one_of(_CONVERSION, st.sampled_from(["a", "%%", "%"])), max_size=3).map("".join)


@given(_FORMAT, st.one_of(st.lists(_VALUE, max_size=4).map(tuple), _VALUE, st.just({"a": 5})))
@example("%*s", (-5, "a"))
@example("%.*f", (-5, 1.5))
@example("%c", 0x110000)
@example("%c", True)
def test_as_python(text: str, values: Any) -> None:
    """The same text, or a typed failure; where Python fails, so does the sandbox."""
    try:
        mine = sandbox.run(f"{text!r} % getvar('v')", TableHost({"v": values}))
    except sandbox.SandboxLimitError:
        return
    except sandbox.SandboxRuntimeError:
        mine = None
    try:
        theirs = text % values
    except (TypeError, ValueError, OverflowError, KeyError):
        theirs = None
    assert mine == theirs or (mine is None and _narrow(text))


def _narrow(text: str) -> bool:
    """Formats that Python may read and the sandbox does not: ``%5%``, and stars beside keys."""
    return "%" in text.replace("%%", "")[1:]
