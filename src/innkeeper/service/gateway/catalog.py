"""Operations that read the data folder: lists, details, files (smarttavern reference, 8, data_catalog). They write nothing."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from innkeeper.service.gateway.state import (
    MAIN_FILES,
    PREFIX,
    DataError,
    GatewayCall,
    named,
    read_bytes,
    read_json,
    root_of,
    within,
)

SECRET: Final = "[secret]"  # noqa: S105 - what stands in the place of one
_SECRET_NAME: Final = re.compile(r"key|token|secret|passw|authorization|cookie|credential", re.IGNORECASE)
_USER: Final = re.compile(r"://[^/?#\s]*@")
_QUERY_SECRET: Final = re.compile(
    r"([?&#][^=&#]{0,99}(?:key|token|secret|passw|auth|sig|credential)[^=&#]{0,99}=)[^&#]+", re.IGNORECASE
)
_COUNT_NAME: Final = re.compile(r"tokens?$|^max_", re.IGNORECASE)
_KINDS: Final = (
    ("preset", "presets", "preset.json"),
    ("character", "characters", "character.json"),
    ("worldbook", "world_books", "worldbook.json"),
    ("persona", "personas", "persona.json"),
    ("regex_rule", "regex_rules", "regex_rule.json"),
    ("llm_config", "llm_configs", "llm_config.json"),
    ("plugin", "plugins", "manifest.json"),
    ("style", "styles", "manifest.json"),
)
_SECRETS: Final = "llm_configs"


@dataclass(frozen=True, slots=True)
class Listing:
    """The operation that lists one folder: each asset's file, name and description; unreadable ones as errors."""

    folder: str

    def __call__(self, call: GatewayCall) -> dict[str, Any]:
        """The list."""
        items: list[dict[str, Any]] = []
        errors: list[dict[str, Any]] = []
        try:
            files = list(_files(root_of(call.state) / self.folder, MAIN_FILES[self.folder]))
        except DataError as error:
            return error.body()
        for path in files:
            name = named(call.state, path)
            try:
                items.append(_item(name, read_json(path), self.folder))
            except DataError as error:
                errors.append({"file": name, "error": f"{error.code}: {error.message}"})
        facts = {"folder": f"{PREFIX}/{self.folder}", "total": len(items), "items": items}
        return {**facts, "errors": errors} if errors else facts


@dataclass(frozen=True, slots=True)
class Detail:
    """The operation that reads one asset of a folder. Keys and passwords in it are not given."""

    folder: str

    def __call__(self, call: GatewayCall, file: str) -> dict[str, Any]:
        """The asset."""
        try:
            path = within(call.state, file, self.folder)
            content = read_json(path)
        except DataError as error:
            return error.body()
        if not isinstance(content, dict | list):
            return DataError("INVALID_TYPE", "the file holds neither an object nor an array").body()
        content = without_secrets(content) if self.folder == _SECRETS else content
        facts = content if isinstance(content, dict) else {}
        texts = {"name": facts.get("name"), "description": facts.get("description")}
        return {"file": named(call.state, path), **texts, "content": content}


def node(call: GatewayCall, file: str, node_id: str) -> dict[str, Any]:
    """The operation ``get_node_detail``: one message of a conversation, by its identifier."""
    try:
        path = within(call.state, file, "conversations")
        content = read_json(path)
    except DataError as error:
        return {"success": False, **error.body()}
    nodes = content.get("nodes") if isinstance(content, dict) else None
    if not isinstance(nodes, dict) or node_id not in nodes:
        return {"success": False, **DataError("NODE_NOT_FOUND", "the conversation has no such node").body()}
    return {"success": True, "file": named(call.state, path), "node_id": node_id, "node": nodes[node_id]}


def asset(call: GatewayCall, file: str) -> dict[str, Any]:
    """The operation ``get_data_asset``: a file in base64. Model configurations, which hold keys, are out of its scope."""
    try:
        path = within(call.state, file)
        if path.relative_to(root_of(call.state)).parts[0].lower() == _SECRETS:
            return DataError("OUT_OF_SCOPE", "model configurations are not given as files").body()
        data = read_bytes(path)
    except DataError as error:
        return error.body()
    mime = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    content = base64.b64encode(data).decode()
    return {"file": named(call.state, path), "mime": mime, "size": len(data), "content_base64": content}


def supported_types(call: GatewayCall) -> dict[str, Any]:
    """The operation ``get_supported_types``."""
    types = [{"type": kind, "dir": folder, "main_file": main} for kind, folder, main in _KINDS]
    return {"success": True, "types": types, "formats": ["json", "zip", "png"]}


def without_secrets(value: Any) -> Any:
    """A copy in which whatever goes by a name of a key, password or token is blotted out, in addresses too."""
    if isinstance(value, dict):
        return {name: SECRET if _is_secret(name, part) else without_secrets(part) for name, part in value.items()}
    if isinstance(value, list):
        return [without_secrets(part) for part in value]
    if isinstance(value, str) and "://" in value:
        return _QUERY_SECRET.sub(rf"\g<1>{SECRET}", _USER.sub(f"://{SECRET}@", value))
    return value


def _is_secret(name: str, value: Any) -> bool:
    is_count = _COUNT_NAME.search(name) and isinstance(value, int | float)
    return _SECRET_NAME.search(name) is not None and not is_count and value not in ("", None)


def _files(folder: Path, main: str) -> Iterator[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return
    for subfolder in sorted(folder.iterdir(), key=lambda path: path.name):
        path = subfolder / main
        if (
            not subfolder.name.startswith(".")
            and not subfolder.is_symlink()
            and not path.is_symlink()
            and path.is_file()
        ):
            yield path


def _item(name: str, content: Any, folder: str) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise DataError("INVALID_TYPE", "the file does not hold an object")
    facts = {"file": name, "name": content.get("name"), "description": content.get("description")}
    return {**facts, "type": content.get("type")} if folder == "characters" else facts
