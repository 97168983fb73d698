"""Where SillyTavern sends a request: the address of each source, and the headers besides the key's. No secret is in either.

(sillytavern-bodies.md 1, 5, 6.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from innkeeper.dialects.sillytavern.bodies.chat import is_text_model
from innkeeper.dialects.sillytavern.bodies.claude import Traits
from innkeeper.dialects.sillytavern.bodies.custom import included
from innkeeper.dialects.sillytavern.request import ProviderRequest
from innkeeper.dialects.sillytavern.sources import BEARER, OTHER_SOURCE, SOURCES, CompletionSource
from innkeeper.prompt.errors import ConfigError


class SourceEndpoint(msgspec.Struct, frozen=True):
    """An address with headers; ``key`` says where the key goes: a header, or ``?key=`` of the address."""

    url: str
    headers: Mapping[str, str] = {}
    key: str = BEARER


_APP: Final = {"HTTP-Referer": "https://sillytavern.app", "X-Title": "SillyTavern"}


def endpoint_of(request: ProviderRequest, body: Mapping[str, Any]) -> SourceEndpoint:
    """Where the request goes with this body. Raises `ConfigError` where the settings do not say."""
    source = request.source
    if source == "vertexai":
        return _vertex(request)
    if source == "makersuite":
        return SourceEndpoint(_google(request), key="?key=")
    headers = _HEADERS[source](request, body) if source in _HEADERS else {}
    row = SOURCES.get(source, OTHER_SOURCE)
    if source == "azure_openai":
        return SourceEndpoint(_azure(request), headers, row.key)
    path = "/completions" if source == "openai" and is_text_model(request.model) else row.path
    return SourceEndpoint(_base(request, row) + path, headers, row.key)


def _required(request: ProviderRequest, name: str) -> str:
    value = str(request.options.get(name) or "")
    if not value:
        raise ConfigError(f"{request.source}: {name} is empty", hint="it says where the request goes")
    return value


def _proxy(request: ProviderRequest) -> str:
    proxied = SOURCES.get(request.source, OTHER_SOURCE).proxied
    return str(request.options.get("reverse_proxy") or "") if proxied else ""


def _base(request: ProviderRequest, row: CompletionSource) -> str:
    if proxy := _proxy(request):
        return _joinable(proxy)
    if request.source == "workers_ai":
        return f"https://api.cloudflare.com/client/v4/accounts/{_required(request, 'workers_ai_account_id')}/ai/v1"
    other = row.endpoints.get(str(request.options.get(f"{request.source}_endpoint") or ""))
    return other or row.url or _joinable(_required(request, "custom_url"))


def _joinable(url: str) -> str:
    """The address as it is, one without a path with the slash that JavaScript gives it."""
    return url if urlsplit(url).path else f"{url}/"


def _method(request: ProviderRequest) -> str:
    return "streamGenerateContent" if request.stream else "generateContent"


def _google(request: ProviderRequest) -> str:
    base = (_proxy(request) or SOURCES["makersuite"].url).rstrip("/")
    version = request.server.gemini.api_version
    return f"{base}/{version}/models/{request.model}:{_method(request)}{'?alt=sse' if request.stream else ''}"


_REGION: Final = "us-central1"
_PLANETWIDE: Final = "global"


def _vertex(request: ProviderRequest) -> SourceEndpoint:
    options = request.options
    region = str(options.get("vertexai_region") or _REGION)
    host = f"https://{'' if region == _PLANETWIDE else region + '-'}aiplatform.googleapis.com/v1"
    model = f"publishers/google/models/{request.model}:{_method(request)}{'?alt=sse' if request.stream else ''}"
    if proxy := _proxy(request):
        return SourceEndpoint(f"{proxy.rstrip('/')}/v1/{model}")
    if options.get("vertexai_auth_mode") == "full":
        return SourceEndpoint(f"{host}/projects/{_required(request, 'vertexai_project')}/locations/{region}/{model}")
    if project := options.get("vertexai_express_project_id"):
        world = "https://aiplatform.googleapis.com/v1"
        return SourceEndpoint(f"{world}/projects/{project}/locations/{region}/{model}", key="?key=")
    return SourceEndpoint(f"{host}/{model}", key="?key=")


def _azure(request: ProviderRequest) -> str:
    base = urlsplit(_required(request, "azure_base_url"))
    deployment, version = _required(request, "azure_deployment_name"), _required(request, "azure_api_version")
    return f"{base.scheme}://{base.netloc}/openai/deployments/{deployment}/chat/completions?api-version={version}"


def _claude_headers(request: ProviderRequest, body: Mapping[str, Any]) -> dict[str, str]:
    """The version, and what is tried beyond it."""
    claude = request.server.claude
    caches = claude.enable_system_prompt_cache or claude.caching_at_depth >= 0
    betas = ["output-128k-2025-02-19", "context-1m-2025-08-07"]
    betas += ["tools-2024-05-16"] if request.tools else []
    betas += ["prompt-caching-2024-07-31", "extended-cache-ttl-2025-04-11"] if caches else []
    says = request.options.get("verbosity") and Traits.of(request.model).has_effort
    adapts = (body.get("thinking") or {}).get("type") == "adaptive" and request.effort != "auto"
    betas += ["effort-2025-11-24"] if says and not adapts else []
    return {"anthropic-version": "2023-06-01", "anthropic-beta": ",".join(betas)}


def _nanogpt_headers(request: ProviderRequest, _body: Mapping[str, Any]) -> dict[str, str]:
    provider = request.options.get("nanogpt_provider")
    paying = {"X-Billing-Mode": "paygo"} if request.options.get("nanogpt_payg_override") else {}
    return {**({"X-Provider": str(provider)} if provider else {}), **paying}


def _own_headers(request: ProviderRequest, _body: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in included(request, "custom_include_headers").items()}


_HEADERS: Final[Mapping[str, Callable[[ProviderRequest, Mapping[str, Any]], dict[str, str]]]] = {
    "claude": _claude_headers,
    "openrouter": lambda *_: dict(_APP),
    "aimlapi": lambda *_: dict(_APP),
    "zai": lambda *_: {"Accept-Language": "en-US,en"},
    "nanogpt": _nanogpt_headers,
    "custom": _own_headers,
}
