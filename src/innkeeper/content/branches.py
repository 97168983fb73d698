"""Branches: queries of the document of a branched chat, and the changes that can be made to it.

SmartTavern's ``chat_branches`` without files. A call changes nothing of its caller's: it answers with a new document, or with
as much of it as ``return_mode`` asks for. Moments come from ``options.now``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from innkeeper.content.branch_tree import BranchTree, shown
from innkeeper.content.json.values import ShapeError, text_of, wrong_type
from innkeeper.prompt.errors import Where

if TYPE_CHECKING:
    from collections.abc import Callable

    from innkeeper.content.branch_tree import BranchOptions


_ROLES: Final = ("system", "user", "assistant")


class BranchEdit(NamedTuple):
    """A change: the whole new document, to be stored, and the answer to the call. ``doc`` is ``None`` without a change."""

    doc: dict[str, Any] | None
    answer: dict[str, Any]


# --- looking -----------------------------------------------------------------------------------------------------------


def openai_messages(doc: Any = None, *, options: BranchOptions | None = None) -> dict[str, Any]:
    """``{messages, path}``: the active path as messages, up to the first step that does not hold together.

    An assistant's empty message at its end that waits for an answer (its id has ``retry`` or ``append``) is left out of
    the messages. Raises `ShapeError`.
    """
    tree = BranchTree.of(doc, options)
    path = tree.path()
    shown = path[:-1] if _waits(path[-1], tree) else path
    messages = [{"role": _role(tree, name), "content": _content(tree, name)} for name in shown]
    return {"messages": [message for message in messages if message["role"] in _ROLES], "path": path}


def branch_table(doc: Any = None, *, options: BranchOptions | None = None) -> dict[str, Any]:
    """``{latest, levels}``: for each node of the active path its number j (from 1) among its n siblings. Raises `ShapeError`."""
    levels = BranchTree.of(doc, options).levels()
    latest = {key: levels[-1][key] for key in ("depth", "j", "n", "node_id")}
    return {"latest": latest, "levels": levels}


def get_latest_message(doc: Any = None, *, options: BranchOptions | None = None) -> dict[str, Any]:
    """``{node_id, role, content, depth}`` of the active path's last node. Raises `ShapeError`."""
    tree = BranchTree.of(doc, options)
    path = tree.path()
    name = path[-1]
    return {"node_id": name, "role": _role(tree, name), "content": _content(tree, name), "depth": len(path)}


def _role(tree: BranchTree, name: str) -> Any:
    return tree.nodes[name].get("role") or "system"


def _content(tree: BranchTree, name: str) -> str:
    return text_of(tree.nodes[name].get("content"), f"nodes.{name}.content")


def _waits(name: str, tree: BranchTree) -> bool:
    marked = any(mark in name.lower() for mark in ("retry", "append"))
    return marked and _role(tree, name) == "assistant" and not _content(tree, name).strip()


# --- changing ----------------------------------------------------------------------------------------------------------


def _update(tree: BranchTree, return_mode: Any = "doc", *, node_id: Any, content: Any) -> BranchEdit:
    node = tree.node(node_id)
    node |= {"content": content, "node_updated_at": tree.stamp.text}
    doc = tree.written("nodes")
    stamps = {"node_updated_at": tree.stamp.text, "updated_at": tree.stamp.text}
    mode = _mode(return_mode)
    if mode == "node":
        shown = {**node, "node_id": node.get("node_id", node_id)}
        return BranchEdit(doc, {"success": True, "node": shown, "updated_at": tree.stamp.text})
    return BranchEdit(doc, {"success": True, "node_id": node_id, **stamps} if mode == "none" else doc)


def _truncate(tree: BranchTree, *, node_id: Any) -> BranchEdit:
    tree.node(node_id)
    removed = tree.remove(node_id)
    cut = next((index for index, name in enumerate(tree.active_path) if name in removed), None)
    tree.active_path = tree.active_path[:cut]
    doc = tree.written()
    return BranchEdit(doc, doc)


def _append(
    tree: BranchTree, return_mode: Any = "doc", *, node_id: Any, pid: Any, role: Any, content: Any
) -> BranchEdit:
    _check_new(tree, node_id, "Node ID already exists")
    tree.node(pid, "Parent node not found")
    _check_role(role)
    tree.add(node_id, pid, role, content)
    waiting = tree.stamp.node_id("n_append_ass", tree.nodes)
    tree.add(waiting, node_id, "assistant", "")
    if tree.active_path[-1:] == [pid]:
        tree.active_path += [node_id, waiting]
    doc = tree.written()
    node = {"node_id": node_id, **tree.nodes[node_id]}
    stamps = {"node_updated_at": tree.stamp.text, "placeholder_updated_at": tree.stamp.text}
    return _edit(
        tree,
        return_mode,
        {
            "node": lambda state, end: {"success": True, "node": node, **state, **end},
            "path": lambda state, end: {"success": True, **state, "node_id": waiting, **stamps, **end},
            "none": lambda state, end: {"success": True, "node_id": waiting, **stamps, **state, **end},
            "doc": lambda state, _end: {**doc, "success": True, **state},
        },
    )


def _delete(tree: BranchTree, return_mode: Any = "doc", *, node_id: Any) -> BranchEdit:
    parent = tree.node(node_id).get("pid")
    tree.remove(node_id)
    if node_id in tree.active_path:
        # As in the original: the last of the branches that are left takes its place.
        beside = tree.children.get(parent, [])[-1:] if parent else []
        tree.active_path = tree.active_path[: tree.active_path.index(node_id)] + beside
    doc = tree.written()

    def to(state: Mapping[str, Any]) -> dict[str, Any]:
        return {"switched_to": state["latest"]["node_id"]}

    return _edit(
        tree,
        return_mode,
        {
            "path": lambda state, end: {"success": True, **state, **to(state), **end},
            "none": lambda state, end: {"success": True, "node_id": node_id, **state, **to(state), **end},
            "doc": lambda state, _end: {**doc, **state, "success": True},
        },
    )


def _retry(
    tree: BranchTree, return_mode: Any = "doc", *, new_node_id: Any, retry_node_id: Any, role: Any, content: Any
) -> BranchEdit:
    _check_new(tree, new_node_id, "New node ID already exists")
    pid = tree.node(retry_node_id, "Retry node not found").get("pid")
    _check_role(role)
    if pid is None:
        msg = "Cannot retry root node"
        raise ShapeError(msg, where=Where(path=f"nodes.{retry_node_id}.pid"))
    tree.node(pid, "Parent node not found")
    tree.add(new_node_id, pid, role, content)
    if retry_node_id in tree.active_path:
        tree.active_path = [*tree.active_path[: tree.active_path.index(retry_node_id)], new_node_id]
    elif tree.active_path[-1:] == [pid]:
        tree.active_path.append(new_node_id)
    doc = tree.written()
    stamp = {"node_updated_at": tree.stamp.text}
    return _edit(
        tree,
        return_mode,
        {
            "path": lambda state, end: {"success": True, **state, "new_node_id": new_node_id, **stamp, **end},
            "none": lambda state, end: {"success": True, "node_id": new_node_id, **stamp, **state, **end},
            "doc": lambda state, _end: {**doc, **state, "success": True},
        },
    )


def _retry_user(tree: BranchTree, *, user_node_id: Any) -> BranchEdit:
    if tree.node(user_node_id, "User node not found").get("role") != "user":
        msg = f"Node {user_node_id} is not a user message"
        raise ShapeError(msg, where=Where(path=f"nodes.{user_node_id}.role"))
    # the assistant's message on the active path, else the first below the user's
    after = [
        child for parent, child in zip(tree.active_path, tree.active_path[1:], strict=False) if parent == user_node_id
    ]
    below = after[:1] + tree.children.get(user_node_id, [])
    answer = next((child for child in below if tree.nodes.get(child, {}).get("role") == "assistant"), None)
    if answer is not None:
        retry = {"action": "retry_assistant", "assistant_node_id": answer, "user_node_id": user_node_id}
        return BranchEdit(None, retry)
    waiting = tree.stamp.node_id("n_retry_ass", tree.nodes)
    tree.add(waiting, user_node_id, "assistant", "")
    if tree.active_path[-1:] == [user_node_id]:
        tree.active_path.append(waiting)
    doc = tree.written()
    return BranchEdit(
        doc,
        {
            "success": True,
            "action": "create_assistant",
            "assistant_node_id": waiting,
            "node_updated_at": tree.stamp.text,
            "user_node_id": user_node_id,
            **tree.state(),
            "updated_at": tree.stamp.text,
            "doc": doc,
        },
    )


def _switch(tree: BranchTree, return_mode: Any = "doc", *, target_j: Any) -> BranchEdit:
    if not isinstance(target_j, int):
        raise wrong_type("target_j", "a whole number", target_j)
    if not tree.active_path:
        msg = "active_path is empty"
        raise ShapeError(msg, where=Where(path="active_path"))
    target, beside = _target(tree, target_j)
    tree.active_path[-1:] = [target]
    doc = tree.written("active_path")
    node = {"node_id": target, "j": target_j, "n": len(beside)}
    return _edit(
        tree,
        return_mode,
        {
            "node": lambda state, end: {"success": True, "node": node, **state, **end},
            "path": lambda state, end: {"success": True, **state, "node_id": target, **end},
            "none": lambda state, end: {"success": True, "node_id": target, **state, **end},
            "doc": lambda state, _end: {"doc": doc, "node": node, **state, "success": True},
        },
    )


def _target(tree: BranchTree, target_j: int) -> tuple[str, list[str]]:
    """The node to switch to and the branches it is one of: the roots, or the children of the last node's parent."""
    current = tree.node(tree.active_path[-1], "Current node not found")
    parent = current.get("pid")
    if parent is None:
        tree.active_path = tree.active_path[-1:]
    beside = tree.roots if parent is None else tree.children.get(parent, [])
    if parent is None and len(beside) < 2:  # noqa: PLR2004 - another one
        msg = "Cannot switch branch: only one root node exists"
        raise ShapeError(msg, where=Where(path="roots"))
    if not beside:
        msg = f"No siblings found for parent: {parent}"
        raise ShapeError(msg, where=Where(path=f"children.{parent}"))
    if not 1 <= target_j <= len(beside):
        msg = f"Invalid target_j={shown(target_j)}, must be between 1 and {len(beside)}"
        raise ShapeError(msg, where=Where(path="target_j"))
    target = beside[target_j - 1]
    tree.node(target, "Target root node not found" if parent is None else "Target node not found")
    return target, beside


def _check_new(tree: BranchTree, name: Any, what: str) -> None:
    if not isinstance(name, str):
        what = "node_id"
        raise wrong_type(what, "a node's id", name)
    if name in tree.nodes:
        msg = f"{what}: {name}"
        raise ShapeError(msg, where=Where(path=f"nodes.{name}"))


def _check_role(role: Any) -> None:
    if role not in _ROLES:
        msg = f"Invalid role: {shown(role)}"
        raise ShapeError(msg, where=Where(path="role"), hint="roles of a chat are system, user and assistant")


def _mode(return_mode: Any) -> str:
    return return_mode.lower() if isinstance(return_mode, str) else "doc"


def _edit(tree: BranchTree, return_mode: Any, forms: Mapping[str, Callable[[Any, Any], dict[str, Any]]]) -> BranchEdit:
    """The answer in the form of a mode; one that an operation does not know is ``doc``."""
    form = forms.get(_mode(return_mode), forms["doc"])
    return BranchEdit(tree.doc, form(tree.state(), {"updated_at": tree.stamp.text}))


# --- the operations ----------------------------------------------------------------------------------------------------


EDITS: Final[Mapping[str, Callable[..., BranchEdit]]] = MappingProxyType(
    {
        "update_message": _update,
        "truncate_after": _truncate,
        "append_message": _append,
        "delete_branch": _delete,
        "retry_branch": _retry,
        "retry_user_message": _retry_user,
        "switch_branch": _switch,
    }
)
"""The changes by the name of their operation: called with a `BranchTree`, ``return_mode`` where there is one, and the
operation's arguments by name. For who keeps the new document whatever the answer shows."""


def update_message(
    node_id: Any, content: Any, doc: Any = None, return_mode: Any = "doc", *, options: BranchOptions | None = None
) -> dict[str, Any]:
    """Another content for a node. ``return_mode``: ``doc``, ``node``, ``none``. Raises `ShapeError`."""
    return _update(BranchTree.of(doc, options), return_mode, node_id=node_id, content=content).answer


def truncate_after(node_id: Any, doc: Any = None, *, options: BranchOptions | None = None) -> dict[str, Any]:
    """The document without a node and what ``children`` lists below it. Raises `ShapeError`."""
    return _truncate(BranchTree.of(doc, options), node_id=node_id).answer


def append_message(
    node_id: Any,
    pid: Any,
    role: Any,
    content: Any,
    doc: Any = None,
    return_mode: Any = "doc",
    *,
    options: BranchOptions | None = None,
) -> dict[str, Any]:
    """A new node below ``pid``, and an assistant's empty one below it that waits for an answer.

    ``return_mode``: ``doc``, ``node``, ``path``, ``none``. Raises `ShapeError`.
    """
    tree = BranchTree.of(doc, options)
    return _append(tree, return_mode, node_id=node_id, pid=pid, role=role, content=content).answer


def delete_branch(
    node_id: Any, doc: Any = None, return_mode: Any = "doc", *, options: BranchOptions | None = None
) -> dict[str, Any]:
    """Remove a node and its descendants; the active path goes to a sibling branch, or ends before it.

    ``return_mode``: ``doc``, ``path``, ``none``. Raises `ShapeError`, also where no root is left.
    """
    return _delete(BranchTree.of(doc, options), return_mode, node_id=node_id).answer


def retry_branch(
    new_node_id: Any,
    retry_node_id: Any,
    role: Any,
    content: Any,
    doc: Any = None,
    return_mode: Any = "doc",
    *,
    options: BranchOptions | None = None,
) -> dict[str, Any]:
    """Add a sibling of a node, which replaces it on the active path.

    ``return_mode``: ``doc``, ``path``, ``none``. Raises `ShapeError`.
    """
    tree = BranchTree.of(doc, options)
    edit = _retry(tree, return_mode, new_node_id=new_node_id, retry_node_id=retry_node_id, role=role, content=content)
    return edit.answer


def retry_user_message(user_node_id: Any, doc: Any = None, *, options: BranchOptions | None = None) -> dict[str, Any]:
    """Which assistant's message answers a user's (``retry_assistant``), or a new empty one below it (``create_assistant``).

    Raises `ShapeError`.
    """
    return _retry_user(BranchTree.of(doc, options), user_node_id=user_node_id).answer


def switch_branch(
    target_j: Any, doc: Any = None, return_mode: Any = "doc", *, options: BranchOptions | None = None
) -> dict[str, Any]:
    """The ``target_j``-th branch (from 1) in place of the active path's last node.

    ``return_mode``: ``doc``, ``node``, ``path``, ``none``. Raises `ShapeError`.
    """
    return _switch(BranchTree.of(doc, options), return_mode, target_j=target_j).answer
