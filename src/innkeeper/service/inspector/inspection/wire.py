"""Wire: the exact request that a provider gets, text by text with its origin, and how to send it by hand."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from innkeeper.prompt import Plan
from innkeeper.service.inspector.inspection.origins import Origins
from innkeeper.service.inspector.views.inspection import Wire, WireRange
from innkeeper.service.inspector.views.workspace import FindingView

if TYPE_CHECKING:
    from innkeeper.prompt.source_map import SourceRange
    from innkeeper.service.inspector.workspace.workspace import OpenWorkspace


INDENT: Final = 2


def wire_view(workspace: OpenWorkspace, plan: Plan, dialect: str | None) -> Wire:
    """The body of a dialect, or of the plan's own. Raises what `Plan.to_request` raises."""
    name = dialect or plan.dialect or "openai"
    payload = plan.to_request(name)
    body = payload.body
    mapped = plan.source_map(name, request=True)
    pretty, texts = _pretty(body)
    origins = Origins(workspace)
    ranges = tuple(_ranges(mapped.ranges, texts, origins))
    text = body.get("prompt") if isinstance(body, Mapping) else None
    address, headers = _destination(name, plan.model or "MODEL")
    return Wire(
        dialect=name,
        body=body,
        text=text if isinstance(text, str) else None,
        pretty=pretty,
        lost=tuple(FindingView("warning", str(note.kind), str(note), note.hint) for note in payload.notes),
        stop=plan.stop,
        fingerprint=plan.fingerprint(name),
        ranges=ranges,
        origins=tuple(origins.table),
        curl=_curl(address, headers, body),
        python=_python(address, headers, body),
    )


class _Text(NamedTuple):
    """A string in the pretty text; ``starts`` are the offsets of its characters, where some are escaped."""

    begin: int
    length: int
    starts: list[int] | None

    def at(self, index: int) -> int:
        """Where a character begins, or the string ends."""
        return self.begin + index if self.starts is None else self.starts[index]


def _pretty(value: Any) -> tuple[str, dict[str, _Text]]:
    """A value as indented JSON, and where each of its strings is in it, by JSON Pointer."""
    parts: list[str] = []
    texts: dict[str, _Text] = {}
    _write(value, "", 0, parts, texts, 0)
    return "".join(parts), texts


def _write(value: Any, pointer: str, level: int, parts: list[str], texts: dict[str, _Text], at: int) -> int:
    """Write a value at the offset ``at``, and return the offset of its end."""

    def put(text: str) -> None:
        nonlocal at
        parts.append(text)
        at += len(text)

    if isinstance(value, str):
        written = _quoted(value)
        plain = len(written) == len(value) + 2
        starts = None if plain else list(accumulate((len(_escaped(char)) for char in value), initial=at + 1))
        texts[pointer] = _Text(at + 1, len(value), starts)
        put(written)
    elif isinstance(value, (Mapping, list, tuple)) and value:
        is_object = isinstance(value, Mapping)
        put("{" if is_object else "[")
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for index, (key, item) in enumerate(items):
            put(("," if index else "") + "\n" + " " * (INDENT * (level + 1)))
            if is_object:
                put(_quoted(str(key)) + ": ")
            child = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
            at = _write(item, child, level + 1, parts, texts, at)
        put("\n" + " " * (INDENT * level) + ("}" if is_object else "]"))
    else:
        put(json.dumps(value, ensure_ascii=False, default=str))
    return at


def _quoted(text: str) -> str:
    """A text as JSON; lone surrogates, which no UTF-8 has, by their numbers."""
    return _LONE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))


_LONE: Final = re.compile("[\ud800-\udfff]")


def _escaped(char: str) -> str:
    """A character as it stands within a string of JSON."""
    return _quoted(char)[1:-1]


def _ranges(mapped: tuple[SourceRange, ...], texts: dict[str, _Text], origins: Origins) -> Iterator[WireRange]:
    """The ranges over the pretty text; neighbours of one origin in one string are one."""
    last: WireRange | None = None
    for each in mapped:
        number = origins.number(each.origin)
        text = texts.get(each.pointer)
        if number is None or text is None or each.end > text.length:
            continue
        start, end = text.at(each.start), text.at(each.end)
        if last is not None and last.origin == number and last.end == start:
            last = WireRange(last.start, end, number)
            continue
        if last is not None:
            yield last
        last = WireRange(start, end, number)
    if last is not None:
        yield last


_ELSEWHERE: Final = {
    "ai21": "https://api.ai21.com/studio/v1/chat/completions",
    "cohere": "https://api.cohere.com/v2/chat",
}
"""Where bodies of dialects are sent that no adapter speaks."""


def _destination(dialect: str, model: str) -> tuple[str, dict[str, str]]:
    """Where a body of a dialect is sent, and the headers that it is sent with."""
    from innkeeper.inference.adapters.providers import PROVIDERS
    from innkeeper.inference.adapters.registry import ADAPTERS

    adapter, base = ADAPTERS["openai-chat"], "http://localhost:8000"
    own = {adapter.dialect: adapter for adapter in ADAPTERS.values() if adapter.dialect != "openai-compatible"}
    if dialect in own:
        adapter, base = own[dialect], own[dialect].base_url
    elif dialect in PROVIDERS:
        adapter, base = ADAPTERS[PROVIDERS[dialect].adapter], PROVIDERS[dialect].base_url
    address = f"{base}{adapter.prefix}{adapter.path(model, stream=False)}"
    return _ELSEWHERE.get(dialect, address), {"content-type": "application/json", **adapter.headers("$API_KEY")}


def _curl(address: str, headers: Mapping[str, str], body: Any) -> str:
    """A line for a shell; address and body are quoted so that no shell reads them."""
    lines = "".join(f' \\\n  -H "{name}: {value}"' for name, value in headers.items())
    data = _dumped(body).replace("'", "'\\''")
    return f"curl {shlex.quote(address)}{lines} \\\n  --data-raw '{data}'\n"


def _python(address: str, headers: Mapping[str, str], body: Any) -> str:
    headers = {name: value.replace("$API_KEY", "{key}") for name, value in headers.items()}
    lines = ",\n".join(f'    "{name}": {"f" * ("{" in value)}"{value}"' for name, value in headers.items())
    return (
        "import json\nimport os\nimport urllib.request\n\n"
        'key = os.getenv("API_KEY")\n'
        f"body = json.loads({_dumped(body)!r})\n"
        f"headers = {{\n{lines},\n}}\n"
        f"request = urllib.request.Request({address!r}, json.dumps(body).encode(), headers)\n"
        "print(urllib.request.urlopen(request).read().decode())\n"
    )


def _dumped(body: Any) -> str:
    return json.dumps(body, ensure_ascii=True, default=str)
