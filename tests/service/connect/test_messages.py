"""The messages: what is compiled is what is written, and data survives the way through both kinds of bytes."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from connectrpc.code import Code
from google.protobuf import descriptor_pb2
from grpc_tools import protoc  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.errors import NotFoundError
from innkeeper.prompt.errors import FormatError, InnkeeperError, LimitError, UnavailableError
from innkeeper.service.connect import messages
from innkeeper.service.connect.messages import (
    CODES,
    EVENT,
    REQUEST,
    RESPONSE,
    pool,
    read_json,
    read_proto,
    status_of,
    write_json,
    write_proto,
)
from tests.service.connect.servers import ANSWER

FOLDER = Path(messages.__file__).parent


def test_compiled_is_current(tmp_path: Path) -> None:
    """`prompt.binpb` is `prompt.proto`, compiled with what it imports."""
    target, included = tmp_path / "prompt.binpb", files("grpc_tools").joinpath("_proto")
    words = ["protoc", f"-I{FOLDER}", f"-I{included}", "--include_imports", f"--descriptor_set_out={target}"]
    assert protoc.main([*words, "prompt.proto"]) == 0
    current, compiled = (
        descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes()) for path in (target, FOLDER / "prompt.binpb")
    )
    assert current == compiled


DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=10,
)


@given(DATA, st.integers(0, 2**31 - 1))
def test_a_request_survives_both(value: Any, count: int) -> None:
    """Whatever the input is, and a number that is 0 counts as given."""
    request = {"tool_name": "t", "input": value, "max_output_tokens": count, "temperature": 0}
    assert read_json(write_json(request), max_bytes=10**6) == request
    assert read_proto(write_proto(request, REQUEST)) == {
        name: part for name, part in request.items() if part is not None
    } | ({"input": None} if value is None else {})


def test_an_answer_in_protobuf() -> None:
    """Every field of the document's answer has a place, zeros included."""
    back = read_proto(write_proto(ANSWER, RESPONSE), RESPONSE)
    assert back["output"] == [{"type": "output_text", "text": "Hé 🙂"}, ANSWER["output"][1]]
    assert {name: int(count) for name, count in back["usage"].items()} == ANSWER["usage"]
    assert write_proto({**ANSWER, "usage": None}, RESPONSE)
    assert pool().FindMessageTypeByName(EVENT)


def test_json_that_is_none() -> None:
    """Each has its error, and a place."""
    for body in (b"", b"[1]", b"nul", b'{"a": }'):
        with pytest.raises(FormatError):
            read_json(body, max_bytes=100)
    with pytest.raises(LimitError):
        read_json(b'{"a": "' + b"x" * 200 + b'"}', max_bytes=100)


def test_words() -> None:
    """Connect knows them all."""
    assert {Code(word) for word in CODES.values()}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotFoundError("x"), "not_found"),
        (UnavailableError("x"), "unavailable"),
        (LimitError("x", limit="L", allowed=1), "resource_exhausted"),
        (InnkeeperError("x"), "internal"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_status_of(error: InnkeeperError, code: str) -> None:
    """By the HTTP status."""
    assert status_of(error)[0] == code
