"""Where requests go."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.dialects.sillytavern.endpoints import SourceEndpoint, endpoint_of
from innkeeper.prompt.errors import ConfigError
from innkeeper.taverns import silly
from tests.dialects.sillytavern.requests import provider_request

GOOGLE = "https://generativelanguage.googleapis.com"


def where(source: str, **options: Any) -> SourceEndpoint:
    """The endpoint of a request with an empty body."""
    return endpoint_of(provider_request(source=source, **options), {})


@pytest.mark.parametrize(
    ("source", "options", "url", "key"),
    [
        ("openai", {}, "https://api.openai.com/v1/chat/completions", "Authorization: Bearer"),
        ("claude", {"reverse_proxy": "https://p.test"}, "https://p.test//messages", "x-api-key"),
        ("groq", {"reverse_proxy": "https://p.test"}, "https://api.groq.com/openai/v1/chat/completions", None),
        ("zai", {"zai_endpoint": "coding"}, "https://api.z.ai/api/coding/paas/v4/chat/completions", None),
        ("custom", {"custom_url": "https://h.test/v1/"}, "https://h.test/v1//chat/completions", None),
        ("makersuite", {"model": "g", "stream": True}, f"{GOOGLE}/v1beta/models/g:streamGenerateContent?alt=sse", "?key="),
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_address(source: str, options: dict[str, Any], url: str, key: str | None) -> None:
    """Each source's own, a proxy's where the source may have one, and where the key goes."""
    made = where(source, **options)
    assert made.url == url
    assert key in (None, made.key)


@pytest.mark.parametrize("source", ["custom", "azure_openai", "workers_ai"])
def test_no_address(source: str) -> None:
    """Where nothing says where a request goes: a typed error that names the setting."""
    with pytest.raises(ConfigError):
        where(source)


def test_a_plan_knows_where_it_goes() -> None:
    """The preset's own headers go along."""
    preset = {"custom_url": "https://h.test/v1", "custom_include_headers": "X-User: '{{user}}'"}
    made = silly.to_endpoint(silly.build(character={"name": "Mira"}, user="Tomas", message="Hi", preset=preset))
    assert (made.url, made.headers) == ("https://h.test/v1/chat/completions", {"X-User": "Tomas"})
