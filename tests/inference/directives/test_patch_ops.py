"""Patch operations: names and paths made regular, and a code for each that cannot be used."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.directives.patch_ops import PatchOp, patch_ops
from innkeeper.inference.errors import AnswerError

GOOD = {
    "set": ({"op": "set", "path": "/draft/title", "value": 1}, PatchOp("set", "/draft/title", 1)),
    "add": ({"op": "add", "path": "/draft/title", "value": 1}, PatchOp("set", "/draft/title", 1)),
    "replace": ({"op": " Replace ", "path": "/ui_state/tab", "value": None}, PatchOp("set", "/ui_state/tab")),
    "without_a_name": ({"path": "/draft/a", "value": 1}, PatchOp("set", "/draft/a", 1)),
    "relative": ({"op": "set", "path": "title", "value": [1]}, PatchOp("set", "/draft/title", (1,))),
    "delete": ({"op": "delete", "path": "a"}, PatchOp("delete", "/draft/a")),
    "remove": ({"op": "remove", "path": "a"}, PatchOp("delete", "/draft/a")),
    "rm": ({"op": "rm", "path": "a", "value": 3}, PatchOp("delete", "/draft/a")),
    "append": ({"op": "append", "path": "a", "value": 1}, PatchOp("append", "/draft/a", 1)),
    "push": ({"op": "push", "path": "a", "value": 1}, PatchOp("append", "/draft/a", 1)),
    "insert": ({"op": "insert", "path": "a", "value": 1, "index": 0}, PatchOp("insert", "/draft/a", 1, 0)),
    "index_as_text": ({"op": "insert", "path": "a", "value": 1, "index": "2"}, PatchOp("insert", "/draft/a", 1, 2)),
    "escapes": ({"op": "delete", "path": "a~0b~1c"}, PatchOp("delete", "/draft/a~0b~1c")),
}


@pytest.mark.parametrize(("op", "expected"), GOOD.values(), ids=GOOD)
def test_good(op: dict[str, Any], expected: PatchOp) -> None:
    """Aliases, missing names and relative paths are read."""
    assert patch_ops({"ops": [op]}) == (expected,)


BAD = {
    "no_object": (3, "INVALID_PATCH_OP"),
    "unknown": ({"op": "move", "path": "a"}, "INVALID_PATCH_OP"),
    "no_name_no_value": ({"path": "a"}, "INVALID_PATCH_OP"),
    "name_of_another_kind": ({"op": 3, "path": "a", "value": 1}, "INVALID_PATCH_OP"),
    "no_path": ({"op": "set", "value": 1}, "INVALID_PATCH_PATH"),
    "blank_path": ({"op": "set", "path": " ", "value": 1}, "INVALID_PATCH_PATH"),
    "elsewhere": ({"op": "set", "path": "/etc/passwd", "value": 1}, "INVALID_PATCH_PATH"),
    "only_the_prefix": ({"op": "set", "path": "/draft/", "value": 1}, "INVALID_PATCH_PATH"),
    "upwards": ({"op": "set", "path": "/draft/../x", "value": 1}, "INVALID_PATCH_PATH"),
    "bad_escape": ({"op": "set", "path": "a~2", "value": 1}, "INVALID_PATCH_PATH"),
    "no_value": ({"op": "set", "path": "a"}, "MISSING_PATCH_VALUE"),
    "no_index": ({"op": "insert", "path": "a", "value": 1}, "INVALID_PATCH_INDEX"),
    "negative": ({"op": "insert", "path": "a", "value": 1, "index": -1}, "INVALID_PATCH_INDEX"),
    "boolean": ({"op": "insert", "path": "a", "value": 1, "index": True}, "INVALID_PATCH_INDEX"),
    "word": ({"op": "insert", "path": "a", "value": 1, "index": "two"}, "INVALID_PATCH_INDEX"),
}


@pytest.mark.parametrize(("op", "code"), BAD.values(), ids=BAD)
def test_bad(op: Any, code: str) -> None:
    """Each mistake has its code and the operation's place."""
    with pytest.raises(AnswerError) as caught:
        patch_ops({"ops": [{"op": "delete", "path": "a"}, op]})
    assert (caught.value.code, caught.value.details["index"]) == (code, 1)


@pytest.mark.parametrize("payload", [{}, {"ops": []}, {"ops": {}}, {"ops": None}])
def test_no_operations(payload: dict[str, Any]) -> None:
    """A patch without operations is none."""
    with pytest.raises(AnswerError) as caught:
        patch_ops(payload)
    assert caught.value.code == "MISSING_OPS"


def test_own_prefixes() -> None:
    """Other places can be given; relative paths go under the first."""
    assert patch_ops({"ops": [{"op": "rm", "path": "x"}]}, ["/world/"])[0].path == "/world/x"


ANY = st.none() | st.integers() | st.text(max_size=6) | st.sampled_from(["set", "insert", "a", "/draft/x"])


@given(st.lists(st.dictionaries(st.sampled_from(["op", "path", "value", "index"]), ANY)))
def test_any_operations(ops: list[dict[str, Any]]) -> None:
    """Whatever a model asks for, there are operations under the prefixes, or the typed error."""
    try:
        found = patch_ops({"ops": ops})
    except AnswerError:
        return
    assert all(op.path.startswith(("/draft/", "/ui_state/")) for op in found)
