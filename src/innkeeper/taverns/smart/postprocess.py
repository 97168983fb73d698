"""Post-process: the messages of a prompt as one view sees them: regex rules, macros, regex rules.

SmartTavern's ``prompt_postprocess``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from innkeeper.prompt.note import Note
from innkeeper.taverns.smart.options import SmartOptions
from innkeeper.taverns.smart.regex_rules import apply_messages
from innkeeper.taverns.smart.values import copied

__all__ = ["postprocess_apply"]


def postprocess_apply(
    messages: Any,
    regex_rules: Any,
    view: Any,
    variables: Mapping[str, Any] | None = None,
    *,
    options: SmartOptions | None = None,
    notes: list[Note] | None = None,
) -> dict[str, Any]:
    """``{"message": […], "variables": {"initial": …, "final": …}}``: new messages, and the variables around the macros.

    Rules of ``before_macro`` run, then the macros of every message in their order, sharing one table, then rules of
    ``after_macro``. Conditions of rules see ``variables`` as they came in, both times. The arguments are not changed.
    Raises as `apply_messages`.
    """
    from innkeeper.macros.smart import process

    chosen = options or SmartOptions()
    own = copied(messages, "messages") or []
    before = apply_messages(regex_rules, "before_macro", view, own, variables, options=chosen, notes=notes)["message"]
    expanded = process(before, variables, options=chosen.macros)
    after = apply_messages(
        regex_rules, "after_macro", view, expanded["messages"], variables, options=chosen, notes=notes
    )
    return {"message": after["message"], "variables": expanded["variables"]}
