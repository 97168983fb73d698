"""Nothing vanishes: a field of any input changes what a build gives, or a note names it, or it is refused."""

from __future__ import annotations

import dataclasses

import pytest

from innkeeper.content.chat import OURS
from innkeeper.prompt import BuildRequest, Ports, StrictModeError
from innkeeper.prompt.errors import PipelineError
from innkeeper.taverns import TAVERNS
from innkeeper.taverns.inputs import CHAT_METADATA
from scripts.input_matrix import outcomes, rows
from scripts.reference import inputs


@pytest.mark.parametrize("tavern", TAVERNS)
def test_nothing_vanishes(tavern: str) -> None:
    """No variation of any field is without a word; what is said to be used changes what a build gives."""
    assert {name: row[tavern].reason for name, row in rows().items() if row[tavern].kind == "silent"} == {}


@pytest.mark.parametrize("tavern", TAVERNS)
def test_strict_refuses_what_is_warned_of(tavern: str) -> None:
    """What a build warns of is an error where it is strict."""
    warned = [(variation, made) for variation, name, made in outcomes() if name == tavern and made.warned]
    for variation, _ in warned:
        with pytest.raises((StrictModeError, PipelineError)) as caught:
            TAVERNS[tavern].build({**variation.after, "strict": True}, Ports(**variation.ports, **variation.more))
        assert isinstance(caught.value, StrictModeError) or isinstance(caught.value.__cause__, StrictModeError)


def test_every_input_is_varied() -> None:
    """Each field of a request, each port and each key of a chat's metadata has its row."""
    assert inputs().keys() <= rows().keys()
    known = {name.partition(".")[0] for name in inputs()}
    assert set(BuildRequest.__struct_fields__) - known == {"tavern", "mended"}
    ports = {name.removeprefix("ports.") for name in inputs() if name.startswith("ports.")}
    assert {field.name for field in dataclasses.fields(Ports)} == ports
    assert {f"chat_metadata.{key}" for key in (*CHAT_METADATA, OURS)} <= set(inputs())
