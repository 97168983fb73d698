"""BranchTree: the document of a branched chat, copied and checked, and what can be read from it.

``{roots: […], nodes: {id: {pid, role, content}}, children: {id: […]}, active_path: […]}``. A child is named by its parent's
``children`` or by its own ``pid``. Only documents come in here; files are the service's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final, Protocol

from innkeeper.content.json.values import ShapeError, copied, wrong_type
from innkeeper.prompt.determinism import Clock
from innkeeper.prompt.errors import Where


class BranchOptions(Protocol):
    """The options of operations on branches. ``lossy_merges``: whether ``roots`` keep a root that was removed."""

    @property
    def now(self) -> datetime:
        """The moment of the call."""
        ...

    @property
    def lossy_merges(self) -> bool:
        """Whether to lose what the original loses."""
        ...


def shown(value: Any) -> str:
    """A value as the original's messages write it; of what cannot be written, its type."""
    try:
        return str(value)
    except (ValueError, RecursionError):
        return type(value).__name__


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ZONE: Final = timezone(timedelta(hours=8))


class Stamp:
    """The moment of a call as documents have it: in the zone +08:00, to the second; and the ids made from it."""

    def __init__(self, now: datetime) -> None:
        self.text = now.astimezone(_ZONE).isoformat(timespec="seconds")
        self._milliseconds = Clock.at(now).epoch_ms

    def node_id(self, prefix: str, taken: Mapping[str, Any]) -> str:
        """An id that is not taken: ``prefix`` and the milliseconds since 1970, counted on where they are taken."""
        number = self._milliseconds
        while f"{prefix}{number}" in taken:
            number += 1
        return f"{prefix}{number}"


@dataclass(slots=True)
class BranchTree:
    """A chat document of this call's own. The fields are the parts of ``doc`` that operations change."""

    doc: dict[str, Any]
    nodes: dict[str, dict[str, Any]]
    children: dict[str, list[str]]
    active_path: list[str]
    roots: list[str]
    stamp: Stamp
    lossy: bool = False

    @classmethod
    def of(cls, doc: Any, options: BranchOptions | None = None) -> BranchTree:
        """A document, copied. Without options a change is stamped with the beginning of 1970.

        Raises:
            ShapeError: there is none, it is not an object, or parents form a circle.
            ShapeError: a part of it has the wrong type.
            LimitError: it is too deep.
        """
        if doc is None:
            msg = "Either 'doc' or 'file' must be provided"
            raise ShapeError(msg)
        if not isinstance(doc, Mapping):
            msg = "doc must be a dictionary"
            raise ShapeError(msg)
        own = copied(dict(doc), "doc")
        nodes = {name: _node(node, name) for name, node in _mapping(own, "nodes").items()}
        children = {name: _ids(listed, f"children.{name}") for name, listed in _mapping(own, "children").items()}
        path, roots = (_ids(own.get(part), part) for part in ("active_path", "roots"))
        _check_parents(nodes)
        now, lossy = (_EPOCH, False) if options is None else (options.now, options.lossy_merges)
        return cls(own, nodes, children, path, roots, Stamp(now), lossy)

    def node(self, name: Any, what: str = "Node not found") -> dict[str, Any]:
        """The node of this id. Raises `ShapeError` with the words of ``what``."""
        if isinstance(name, str) and name in self.nodes:
            return self.nodes[name]
        msg = f"{what}: {shown(name)}"
        raise ShapeError(msg, where=Where(path="nodes"))

    # --- reading ---------------------------------------------------------------------------------------------------

    def path(self) -> list[str]:
        """The active path as far as it holds together, or its first root alone. Raises `ShapeError` without any root."""
        start = self._start()
        previous, parent = {start: None}, start
        for name in self.active_path[1:] if self.active_path[:1] == [start] else ():
            if not self.is_child(name, parent):
                break
            if name in previous:
                msg = f"active_path comes to {name} twice"
                raise ShapeError(msg, where=Where(path="active_path"))
            previous[name], parent = None, name
        return list(previous)

    def _start(self) -> str:
        if self.active_path and self.active_path[0] in self.nodes:
            start = self.active_path[0]
        elif self.roots and self.roots[0] in self.nodes:
            start = self.roots[0]
        else:
            msg = "invalid doc: no valid root found in roots or active_path"
            raise ShapeError(msg, where=Where(path="roots"))
        if self.roots and start not in self.roots:
            msg = f"active_path root '{start}' not in roots array"
            raise ShapeError(msg, where=Where(path="active_path[0]"))
        return start

    def is_child(self, name: str, parent: str) -> bool:
        """Whether a node stands below another, by its ``pid`` or by the other's ``children``."""
        node = self.nodes.get(name)
        return node is not None and (node.get("pid") == parent or name in self.children.get(parent, ()))

    def levels(self) -> list[dict[str, Any]]:
        """One row for each node of the path: ``{depth, node_id, j, n}``, the j-th of n siblings, counted from 1."""
        path = self.path()
        below = self._below(path)
        rows = [self.roots, *(below[parent] for parent in path[:-1])]
        return [
            {"depth": depth, "node_id": name, "j": row.index(name) + 1 if name in row else None, "n": len(row)}
            for depth, (name, row) in enumerate(zip(path, rows, strict=True), 1)
        ]

    def _below(self, parents: Iterable[str]) -> dict[str, list[str]]:
        """The children of each: those listed, then those that name it as their parent, in the order of nodes."""
        children = {
            parent: [name for name in self.children.get(parent, ()) if name in self.nodes] for parent in parents
        }
        known = {parent: set(listed) for parent, listed in children.items()}
        for name, node in self.nodes.items():
            parent = node.get("pid")
            if parent in children and name not in known[parent]:
                children[parent].append(name)
        return children

    def state(self) -> dict[str, Any]:
        """``{active_path, latest}`` as answers carry them."""
        levels = self.levels()
        latest = {key: levels[-1][key] for key in ("depth", "node_id", "j", "n")}
        return {"active_path": [row["node_id"] for row in levels], "latest": latest}

    # --- writing ---------------------------------------------------------------------------------------------------

    def add(self, name: str, parent: str, role: Any, content: Any) -> None:
        """Put a new node below another, last in its children."""
        self.nodes[name] = {"pid": parent, "role": role, "content": content, "node_updated_at": self.stamp.text}
        listed = self.children.setdefault(parent, [])
        if name not in listed:
            listed.append(name)

    def remove(self, name: str) -> set[str]:
        """Take a node out with everything ``children`` lists below it; returns their ids."""
        removed, waiting = set[str](), [name]
        while waiting:
            current = waiting.pop()
            if current not in removed:
                removed.add(current)
                waiting += self.children.get(current, ())
        self.nodes = {key: node for key, node in self.nodes.items() if key not in removed}
        children = {
            key: [i for i in ids if i not in removed] for key, ids in self.children.items() if key not in removed
        }
        self.children = {key: ids for key, ids in children.items() if ids}
        if not self.lossy:
            self.roots = [root for root in self.roots if root not in removed]
        return removed

    def written(self, *parts: str) -> dict[str, Any]:
        """The document with the changed parts and the moment of the change."""
        changed = {part: getattr(self, part) for part in parts or ("nodes", "children", "active_path")}
        if not self.lossy and "roots" in self.doc:
            changed["roots"] = self.roots
        self.doc |= {**changed, "updated_at": self.stamp.text}
        return self.doc


def _mapping(doc: Mapping[str, Any], part: str) -> dict[str, Any]:
    mapping = doc.get(part) or {}
    if not isinstance(mapping, dict):
        raise wrong_type(part, "an object", mapping)
    return mapping


def _node(node: Any, name: str) -> dict[str, Any]:
    if node is not None and not isinstance(node, dict):
        raise wrong_type(f"nodes.{name}", "an object", node)
    fields = node or {}
    if not isinstance(fields.get("pid"), (str, type(None))):
        raise wrong_type(f"nodes.{name}.pid", "a node's id or null", fields["pid"])
    return fields


def _ids(value: Any, path: str) -> list[str]:
    items = value or []
    if not isinstance(items, list):
        raise wrong_type(path, "an array of node ids", value)
    for index, name in enumerate(items):
        if not isinstance(name, str):
            raise wrong_type(f"{path}[{index}]", "a node's id", name)
    return items


def _check_parents(nodes: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises `ShapeError` where following ``pid`` comes back to where it began."""
    ends: set[str] = set()
    for name in nodes:
        walked: dict[str, None] = {}
        current: str | None = name
        while current is not None and current in nodes and current not in ends:
            if current in walked:
                msg = f"the parents of {current} form a circle"
                raise ShapeError(msg, where=Where(path=f"nodes.{current}.pid"), hint="give one of them another pid")
            walked[current] = None
            current = nodes[current].get("pid")
        ends.update(walked)
