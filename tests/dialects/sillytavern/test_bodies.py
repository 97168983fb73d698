"""Bodies as SillyTavern's server sent them: from a preset's settings, and from what its page asked for.

``settings-*`` are whole builds, ``requests-*`` requests of the page, ``caching`` such under other configurations of the server.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from innkeeper.dialects.report import Report
from innkeeper.dialects.sillytavern.conversion import ChatConversion
from innkeeper.dialects.sillytavern.endpoints import SourceEndpoint, endpoint_of
from innkeeper.dialects.sillytavern.request import ProviderRequest, ServerConfig
from innkeeper.dialects.sillytavern.sources import SOURCES
from scripts.parity import Case, CaseVerdict, load_cases, run_cases
from scripts.parity.silly import input_of
from tests.shared import VECTORS

CASES = list(load_cases([VECTORS / "silly" / "bodies"]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_agrees(case: Case) -> None:
    """Same settings or same request of the page, same body as SillyTavern's server sends."""
    (outcome,) = run_cases([case])
    if outcome.verdict is CaseVerdict.UNAVAILABLE:
        pytest.skip(f"needs a tokenizer vocabulary that may not be shipped: {outcome.error}")
    shown = "\n".join(difference.render() for difference in outcome.differences[:6])
    assert outcome.verdict is CaseVerdict.AGREED, f"{outcome.error or ''}\n{shown}"


def test_every_source_is_recorded() -> None:
    """Twenty bodies and more of each source; CometAPI, to which SillyTavern sends nothing, has none."""
    counts = Counter(case.name.partition("-")[0] for case in CASES)
    assert counts.keys() == SOURCES.keys() - {"cometapi"}
    assert min(counts.values()) >= 20


def _endpoint(case: Case) -> SourceEndpoint:
    asked: dict[str, Any] = input_of(case)["request"]
    request = ProviderRequest(
        conversion=ChatConversion.of([], report=Report("test")),
        source=asked["chat_completion_source"],
        model=str(asked.get("model") or ""),
        options={**asked, "vertexai_project": "proj-x"},
        tools=tuple(asked.get("tools") or ()),
        server=ServerConfig.of(input_of(case).get("server"), "test"),
    )
    return endpoint_of(request, case.expected["server_request"]["body"])


def test_addresses() -> None:
    """Same address and headers for each request of the page, but for the key."""
    for case in CASES:
        sent = case.expected["server_request"]
        if "url" in sent:
            made = _endpoint(case)
            headers = {name.lower(): value for name, value in made.headers.items() if name.lower() != "authorization"}
            assert (made.url, headers) == (sent["url"], sent["headers"]), case.name
