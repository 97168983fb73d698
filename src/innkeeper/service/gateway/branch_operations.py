"""Operations on branched chats: a document in the request, or a conversation's file below the data folder.

A change to a file is read, made and written under one lock of the data folder, whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from innkeeper.service.gateway.engine import smart_options
from innkeeper.service.gateway.state import DataError, GatewayCall, named, read_json, within, write_json, writing

_FOLDER: Final = "conversations"
_VARIABLES: Final = "variables.json"
_SETTINGS: Final = "settings.json"
_NOTHING: Final = MappingProxyType({"error": "Either 'doc' or 'file' must be provided"})


@dataclass(frozen=True, slots=True)
class Look:
    """An operation that reads a chat: ``openai_messages``, ``branch_table``, ``get_latest_message``."""

    name: str

    def __call__(self, call: GatewayCall, doc: Any = None, file: str | None = None) -> Any:
        """What it finds; a document counts before a file."""
        from innkeeper.content import branches

        if doc is None and not (file or "").strip():
            return dict(_NOTHING)
        try:
            chat = doc if doc is not None else read_json(within(call.state, file or "", _FOLDER))
        except DataError as error:
            return _refused(error, file)
        look: Callable[..., Any] = getattr(branches, self.name)
        return look(chat, options=smart_options(call))


@dataclass(frozen=True, slots=True)
class BranchChange:
    """An operation that changes a chat, by its name among the edits of the smart tavern's branches."""

    name: str

    def __call__(self, call: GatewayCall, doc: Any = None, file: str | None = None, **arguments: Any) -> Any:
        """What the operation answers; the file, where one is named and no document given, is written first."""
        if doc is None and not (file or "").strip():
            return dict(_NOTHING)
        if doc is not None:
            return self._edit(call, doc, arguments).answer
        try:
            path = within(call.state, file or "", _FOLDER)
            with writing(call.state):
                edit = self._edit(call, read_json(path), arguments)
                if edit.doc is not None:
                    write_json(path, edit.doc)
        except DataError as error:
            return _refused(error, file)
        return edit.answer

    def _edit(self, call: GatewayCall, doc: Any, arguments: dict[str, Any]) -> Any:
        from innkeeper.content.branch_tree import BranchTree
        from innkeeper.content.branches import EDITS

        return EDITS[self.name](BranchTree.of(doc, smart_options(call)), **arguments)


def _refused(error: DataError, file: str | None) -> dict[str, Any]:
    """The body for a file that is refused; of one outside of the folder it is the original's error."""
    if error.code == "OUT_OF_SCOPE":
        return {"error": f"File must be within conversations directory: {file}"}
    return error.body()


def update_variables(
    call: GatewayCall, file: str, overrides: Any, operation: str = "merge", options: Any = None
) -> dict[str, Any]:
    """``variables_update/apply``: change the variables beside a conversation."""
    from innkeeper.taverns.smart.variables_update import apply_operation

    def change(table: dict[str, Any]) -> dict[str, Any]:
        return apply_operation(table, overrides, operation, options, smart=smart_options(call))

    return _beside(call, file, _VARIABLES, change, "variables", slug=False)


def variables(
    call: GatewayCall, action: str, data: Any = None, file: str | None = None, slug: str | None = None
) -> dict[str, Any]:
    """``chat_branches/variables``: read, set, merge (the top level only) or forget a conversation's variables."""
    changes = data or {}
    actions: dict[str, Callable[[dict[str, Any]], dict[str, Any]] | None] = {
        "get": None,
        "set": lambda _table: changes,
        "merge": lambda table: {**table, **changes},
        "reset": lambda _table: {},
    }
    return _beside(call, file or _slug_file(slug), _VARIABLES, actions[action], "variables")


def settings(
    call: GatewayCall, action: str, patch: Any = None, file: str | None = None, slug: str | None = None
) -> dict[str, Any]:
    """``chat_branches/settings``: read a conversation's settings or change them."""

    def change(table: dict[str, Any]) -> dict[str, Any]:
        return {**table, **(patch or {})}

    return _beside(call, file or _slug_file(slug), _SETTINGS, change if action == "update" else None, "settings")


def _slug_file(slug: str | None) -> str:
    return f"{_FOLDER}/{slug}/conversation.json" if slug else ""


def _beside(
    call: GatewayCall,
    file: str,
    name: str,
    change: Callable[[dict[str, Any]], dict[str, Any]] | None,
    kind: str,
    *,
    slug: bool = True,
) -> dict[str, Any]:
    """A JSON object beside a conversation's file, changed where ``change`` says how."""
    try:
        path = within(call.state, str(Path(file).parent / name) if file else "", _FOLDER)
        with writing(call.state):
            table = _object(path)
            if change is not None:
                table = change(table)
                write_json(path, table)
    except DataError as error:
        return error.body()
    location = {f"{kind}_file": named(call.state, path)}
    return {**location, kind: table, "slug": path.parent.name} if slug else {kind: table, **location}


def _object(path: Path) -> dict[str, Any]:
    if not path.parent.is_dir():
        raise DataError("NOT_FOUND", "no such conversation")
    table = read_json(path) if path.exists() else {}
    if not isinstance(table, dict):
        raise DataError("INVALID_TYPE", "the file does not hold an object")
    return table
