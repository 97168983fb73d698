"""Operations: what is made of a signature, and the page that shows how to add one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from innkeeper.inference.fake import EchoServer
from innkeeper.operations.library.decisions import EVALUATE, RESOLVE
from innkeeper.prompt.errors import UsageError
from innkeeper.service.tasks.operations import OPERATIONS, described
from tests.service.tasks.served import entered, served
from tests.shared import ROOT

PAGE = ROOT / "docs" / "how-to" / "add-an-operation.md"


def test_read() -> None:
    """Null and empty texts count as absent, aliases are read then, other keys are ignored, surrogates are replaced."""
    body = {"text": "", "prompt": "a \ud800", "content_mode": None, "unknown": 1}
    assert EVALUATE.read(body) == EVALUATE.request(text="a \ufffd")


@pytest.mark.parametrize(
    ("body", "path", "message"),
    [
        ({}, "use_case", "use_case is needed"),
        ({"use_case": ""}, "use_case", "use_case is needed"),
        ({"use_case": 5}, "use_case", "use_case must be a text"),
        ({"use_case": "chat", "values": []}, "values", "values must be an object"),
        ({"use_case": "chat", "values": ""}, "values", "values must be an object"),
        ({"use_case": "chat", "strict": 1}, "strict", "strict must be true or false"),
    ],
)
def test_errors_name_the_field(body: dict[str, Any], path: str, message: str) -> None:
    """What does not fit is named by its path, in words."""
    with pytest.raises(UsageError, match=message) as caught:
        RESOLVE.read(body)
    assert caught.value.to_dict()["where"]["path"] == path


def test_the_page_on_adding_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's example is described, answered over HTTP, and refuses what does not fit."""
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))
    code = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)[0]
    space: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, str(PAGE), "exec"), space)  # noqa: S102 - the page's own example
    monkeypatch.setitem(OPERATIONS, "count", space["COUNT"])

    description = described([space["COUNT"]])
    assert description.paths["/v1/texts:count"]["post"]["summary"] == "Count the words of a text."
    assert description.schemas["CountWords"]["required"] == ["text"]

    async def ask(client: httpx.AsyncClient) -> None:
        for body in ({"text": "a red fox"}, {"prompt": "a red fox"}):
            assert (await client.post("/v1/texts:count", json=body)).json() == {"words": 3}
        refused = await client.post("/v1/texts:count", json={"text": 5})
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "text")

    with EchoServer() as server:
        served(entered(tmp_path / "library.db", server), ask)
