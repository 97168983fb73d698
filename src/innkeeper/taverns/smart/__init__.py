"""The smart tavern: SmartTavern's prompts, from one operation on JSON values to the whole build.

Every operation takes and returns plain JSON values whose key order is part of the contract, and changes none of its arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.content.branch_tree import BranchTree
    from innkeeper.content.branches import (
        EDITS,
        Edit,
        append_message,
        branch_table,
        delete_branch,
        get_latest_message,
        openai_messages,
        retry_branch,
        retry_user_message,
        switch_branch,
        truncate_after,
        update_message,
    )
    from innkeeper.content.json.values import ShapeError
    from innkeeper.lore.verdict import Verdict
    from innkeeper.taverns.smart.assets_normalizer import (
        extract_character_regex,
        extract_character_world_book,
        extract_preset_regex,
        merge_regex,
        merge_world_books,
        normalize,
    )
    from innkeeper.taverns.smart.compat import DEFAULT_PROFILE, PROFILES, Compat, SmartOptions, compat_of
    from innkeeper.taverns.smart.conditions import Rule
    from innkeeper.taverns.smart.construction import Construction, construct, construct_explained
    from innkeeper.taverns.smart.framing import assemble, assemble_full
    from innkeeper.taverns.smart.regex_rules import apply_messages, apply_text, postprocess_apply
    from innkeeper.taverns.smart.steps import PIPELINE, TAVERN, build, builder, to_messages
    from innkeeper.taverns.smart.variables_update import apply_operation

__all__ = [
    "DEFAULT_PROFILE",
    "EDITS",
    "PIPELINE",
    "PROFILES",
    "TAVERN",
    "BranchTree",
    "Compat",
    "Construction",
    "Edit",
    "Rule",
    "ShapeError",
    "SmartOptions",
    "Verdict",
    "append_message",
    "apply_messages",
    "apply_operation",
    "apply_text",
    "assemble",
    "assemble_full",
    "branch_table",
    "build",
    "builder",
    "compat_of",
    "construct",
    "construct_explained",
    "delete_branch",
    "extract_character_regex",
    "extract_character_world_book",
    "extract_preset_regex",
    "get_latest_message",
    "merge_regex",
    "merge_world_books",
    "normalize",
    "openai_messages",
    "postprocess_apply",
    "retry_branch",
    "retry_user_message",
    "switch_branch",
    "to_messages",
    "truncate_after",
    "update_message",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "extract_character_regex": "assets_normalizer",
        "extract_character_world_book": "assets_normalizer",
        "extract_preset_regex": "assets_normalizer",
        "merge_regex": "assets_normalizer",
        "merge_world_books": "assets_normalizer",
        "normalize": "assets_normalizer",
        "BranchTree": "innkeeper.content.branch_tree",
        "EDITS": "innkeeper.content.branches",
        "Edit": "innkeeper.content.branches",
        "append_message": "innkeeper.content.branches",
        "branch_table": "innkeeper.content.branches",
        "delete_branch": "innkeeper.content.branches",
        "get_latest_message": "innkeeper.content.branches",
        "openai_messages": "innkeeper.content.branches",
        "retry_branch": "innkeeper.content.branches",
        "retry_user_message": "innkeeper.content.branches",
        "switch_branch": "innkeeper.content.branches",
        "truncate_after": "innkeeper.content.branches",
        "update_message": "innkeeper.content.branches",
        "postprocess_apply": "regex_rules",
        "apply_messages": "regex_rules",
        "apply_text": "regex_rules",
        "apply_operation": "variables_update",
        "DEFAULT_PROFILE": "compat",
        "PROFILES": "compat",
        "Compat": "compat",
        "Construction": "construction",
        "Rule": "conditions",
        "ShapeError": "innkeeper.content.json.values",
        "SmartOptions": "compat",
        "Verdict": "conditions",
        "assemble": "framing",
        "assemble_full": "framing",
        "compat_of": "compat",
        "construct": "construction",
        "construct_explained": "construction",
        "PIPELINE": "steps",
        "TAVERN": "steps",
        "build": "steps",
        "builder": "steps",
        "to_messages": "steps",
    },
)
