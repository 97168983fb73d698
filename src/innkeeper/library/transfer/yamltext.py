"""YAML as plain data, with the position of every value: the part of YAML that is JSON in another notation.

No tags, no anchors, no merges, no dates: what a file says is what is read. It is read event by event, so that depth and size
are bounded before anything is built.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from innkeeper.library.errors import TransferError
from innkeeper.prompt.data import MAX_DEPTH, to_json
from innkeeper.prompt.errors import LimitError, Where

Path = tuple[str | int, ...]
Positions = dict[Path, tuple[int, int]]
"""Line and column, from 1, of each value by its path."""

_WORDS: Final = {"null": None, "~": None, "": None, "true": True, "false": False}
_INTEGER: Final = re.compile(r"-?(?:0|[1-9]\d{0,18})")
_FLOAT: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_TEXT_TAG: Final = "tag:yaml.org,2002:str"


def parse_yaml(text: str, *, asset: str) -> tuple[Any, Positions]:
    """Plain data and the places of its values.

    Raises:
        TransferError: it is not YAML, or YAML that is not plain data; with line and column.
        LimitError: it nests too deeply.
    """
    import yaml

    try:
        return _build(_events(text, asset), asset)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = Where(asset) if mark is None else Where(asset, line=mark.line + 1, column=mark.column + 1)
        raise TransferError(f"not YAML: {error.problem or error.context}", where=where) from error
    except yaml.YAMLError as error:
        raise TransferError(f"not YAML: {error}", where=Where(asset)) from error


def _events(text: str, asset: str) -> Iterator[Any]:
    import yaml

    documents = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        documents += isinstance(event, yaml.DocumentStartEvent)
        if documents > 1:
            raise _wrong("a second document begins here", event, asset)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _wrong("anchors and aliases are not read", event, asset)
        if isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent, yaml.CollectionEndEvent)):
            yield event


def _build(events: Iterator[Any], asset: str) -> tuple[Any, Positions]:
    """The tree, without recursion: a stack of open containers, each with the key or index that comes next."""
    import yaml

    positions: Positions = {}
    root: list[Any] = []
    stack: list[tuple[Any, Path]] = [(root, ())]
    key: list[str | None] = [None]
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
            key.pop()
            continue
        box, path = stack[-1]
        if isinstance(box, dict) and key[-1] is None:
            key[-1] = _key(event, box, asset)
            continue
        step = key[-1] if isinstance(box, dict) and key[-1] is not None else len(box)
        here = () if box is root else (*path, step)
        positions[here] = (event.start_mark.line + 1, event.start_mark.column + 1)
        value = _value(event, asset)
        _store(box, key, value)
        if isinstance(event, yaml.CollectionStartEvent):
            stack.append((value, here))
            key.append(None)
            if len(stack) > MAX_DEPTH:
                raise LimitError(
                    "the nesting of the YAML", limit="MAX_DEPTH", allowed=MAX_DEPTH, where=_at(event, asset)
                )
    return (root[0] if root else None), positions


def _store(box: Any, key: list[str | None], value: Any) -> None:
    if isinstance(box, dict):
        box[key[-1]] = value
        key[-1] = None
    else:
        box.append(value)


def _key(event: Any, box: dict[str, Any], asset: str) -> str:
    value = getattr(event, "value", None)
    if not isinstance(value, str):
        raise _wrong("a key must be text", event, asset)
    if value in box:
        raise _wrong(f"the key {value[:40]!r} stands here twice", event, asset)
    return value


def _value(event: Any, asset: str) -> Any:
    import yaml

    if isinstance(event, yaml.MappingStartEvent):
        return {}
    if isinstance(event, yaml.SequenceStartEvent):
        return []
    if event.tag not in {None, "!", _TEXT_TAG}:
        raise _wrong("tags are not read", event, asset)
    return event.value if event.style or event.tag else _plain(event.value)


def _plain(text: str) -> Any:
    """What a word without quotes is, by the rules of JSON."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _wrong(message: str, event: Any, asset: str) -> TransferError:
    return TransferError(message, where=_at(event, asset))


def _at(event: Any, asset: str) -> Where:
    return Where(asset, line=event.start_mark.line + 1, column=event.start_mark.column + 1)


def write_yaml(data: Any) -> bytes:
    """Plain data as YAML, keys in order, texts of several lines as blocks: the same bytes for the same data."""
    import json

    import yaml

    class Writer(yaml.SafeDumper):
        """Never aliases; blocks for texts with line breaks."""

        def ignore_aliases(self, _data: Any) -> bool:
            return True

    Writer.add_representer(str, _text_node)
    plain = json.loads(to_json(data))
    text: str = yaml.dump(plain, Dumper=Writer, sort_keys=True, allow_unicode=True, width=10**6)
    return text.encode()


def _text_node(writer: Any, text: str) -> Any:
    style = "|" if "\n" in text else "'" if _plain(text) is not text else None
    if not text.replace("\n", "").isprintable():
        style = '"'  # YAML takes more for a line break than a line feed
    return writer.represent_scalar(_TEXT_TAG, text, style=style)
