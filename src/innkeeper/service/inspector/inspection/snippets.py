"""Snippets: a request as a line for a shell and as a program, each of which runs as it is copied.

The key is read from the environment variable ``API_KEY``, and stands nowhere else.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from innkeeper.prompt.errors import ConfigError

if TYPE_CHECKING:
    from innkeeper.prompt import Plan


MODEL: Final = "MODEL"
"""What stands for the name of a model where none is set."""

_KEY: Final = "$API_KEY"
_LOCAL: Final = "http://localhost:8000"


class Destination(NamedTuple):
    """Where a body is sent: an address, headers, and those of them whose value ends with the key."""

    address: str
    headers: Mapping[str, str]
    keys: Mapping[str, str]


def destination(plan: Plan, dialect: str) -> Destination:
    """Where the body of a plan is sent in a dialect."""
    from innkeeper.inference.adapters.providers import PROVIDERS
    from innkeeper.inference.adapters.registry import ADAPTERS

    if dialect == "sillytavern":
        with suppress(ConfigError):
            return _sillytavern(plan)
    adapter, base = ADAPTERS["openai-chat"], _LOCAL
    own = {adapter.dialect: adapter for adapter in ADAPTERS.values() if adapter.dialect != "openai-compatible"}
    name = _SAME.get(dialect, dialect)
    if name in own:
        adapter, base = own[name], own[name].base_url
    elif name in PROVIDERS:
        adapter, base = ADAPTERS[PROVIDERS[name].adapter], PROVIDERS[name].base_url
    address = f"{base}{adapter.prefix}{adapter.path(plan.model or MODEL, stream=False)}"
    headers = adapter.headers(_KEY)
    keys = {name: value.removesuffix(_KEY) for name, value in headers.items() if value.endswith(_KEY)}
    fixed = {"content-type": "application/json", **{name: headers[name] for name in headers if name not in keys}}
    return Destination(_ELSEWHERE.get(dialect, address), fixed, keys)


def _sillytavern(plan: Plan) -> Destination:
    """Where SillyTavern's server sends it. Raises `ConfigError` where the preset does not say."""
    from innkeeper.taverns.silly import to_endpoint

    endpoint = to_endpoint(plan)
    headers = {"content-type": "application/json", **endpoint.headers}
    if endpoint.key == "?key=":
        return Destination(endpoint.url, headers, {"x-goog-api-key": ""})
    name, _, before = endpoint.key.partition(":")
    return Destination(endpoint.url, headers, {name: f"{before.strip()} ".lstrip()})


_SAME: Final = {"google": "gemini"}
_ELSEWHERE: Final = {
    "ai21": "https://api.ai21.com/studio/v1/chat/completions",
    "cohere": "https://api.cohere.com/v2/chat",
}
"""Where bodies of dialects are sent that no adapter speaks."""


def curl(to: Destination, body: str) -> str:
    """A line for a shell, which expands nothing in it but the key. ``body`` is indented JSON."""
    lines = [shlex.quote(f"{name}: {value}") for name, value in to.headers.items()]
    lines += [f'"{name}: {before}{_KEY}"' for name, before in to.keys.items()]
    headers = "".join(f" \\\n  -H {line}" for line in lines)
    return f"curl {shlex.quote(to.address)}{headers} \\\n  --data-binary @- <<'JSON'\n{body}\nJSON\n"


def python(to: Destination, body: str) -> str:
    """A program without further packages."""
    lines = [f"    {_text(name)}: {_text(value)},\n" for name, value in to.headers.items()]
    lines += [f"    {_text(name)}: {_text(before)} + key,\n" for name, before in to.keys.items()]
    literal = _WORDS.sub(lambda match: _PYTHON.get(match[0], match[0]), body)
    return (
        'import json\nimport os\nimport urllib.request\n\nkey = os.getenv("API_KEY", "")\n'
        f"headers = {{\n{''.join(lines)}}}\nbody = {literal}\n"
        f"request = urllib.request.Request({_text(to.address)}, json.dumps(body).encode(), headers)\n"
        "print(urllib.request.urlopen(request).read().decode())\n"
    )


def javascript(to: Destination, body: str) -> str:
    """A program for Node.js, Deno or Bun."""
    lines = [f"  {_text(name)}: {_text(value)},\n" for name, value in to.headers.items()]
    lines += [f"  {_text(name)}: {_text(before)} + key,\n" for name, before in to.keys.items()]
    return (
        f'const key = process.env.API_KEY ?? "";\nconst headers = {{\n{"".join(lines)}}};\nconst body = {body};\n'
        f'fetch({_text(to.address)}, {{ method: "POST", headers, body: JSON.stringify(body) }})\n'
        "  .then((reply) => reply.text())\n  .then(console.log);\n"
    )


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=True)


_WORDS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b')
_PYTHON: Final = {"true": "True", "false": "False", "null": "None"}
"""The words of JSON that Python writes otherwise."""
