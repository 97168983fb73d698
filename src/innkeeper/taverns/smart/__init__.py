"""The smart tavern: SmartTavern's prompts, from one operation on JSON values to the whole build.

Every operation takes and returns plain JSON values whose key order is part of the contract, and changes none of its arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.content.branch_tree import BranchTree as BranchTree
    from innkeeper.content.branches import EDITS as EDITS
    from innkeeper.content.branches import BranchEdit as BranchEdit
    from innkeeper.content.branches import append_message as append_message
    from innkeeper.content.branches import branch_table as branch_table
    from innkeeper.content.branches import delete_branch as delete_branch
    from innkeeper.content.branches import get_latest_message as get_latest_message
    from innkeeper.content.branches import openai_messages as openai_messages
    from innkeeper.content.branches import retry_branch as retry_branch
    from innkeeper.content.branches import retry_user_message as retry_user_message
    from innkeeper.content.branches import switch_branch as switch_branch
    from innkeeper.content.branches import truncate_after as truncate_after
    from innkeeper.content.branches import update_message as update_message
    from innkeeper.content.json.values import ShapeError as ShapeError
    from innkeeper.lore.verdict import Verdict as Verdict
    from innkeeper.taverns.smart.assets_normalizer import extract_character_regex as extract_character_regex
    from innkeeper.taverns.smart.assets_normalizer import extract_character_world_book as extract_character_world_book
    from innkeeper.taverns.smart.assets_normalizer import extract_preset_regex as extract_preset_regex
    from innkeeper.taverns.smart.assets_normalizer import merge_regex as merge_regex
    from innkeeper.taverns.smart.assets_normalizer import merge_world_books as merge_world_books
    from innkeeper.taverns.smart.assets_normalizer import normalize as normalize
    from innkeeper.taverns.smart.compat import DEFAULT_PROFILE as DEFAULT_PROFILE
    from innkeeper.taverns.smart.compat import PROFILES as PROFILES
    from innkeeper.taverns.smart.compat import Compat as Compat
    from innkeeper.taverns.smart.compat import SmartOptions as SmartOptions
    from innkeeper.taverns.smart.compat import compat_of as compat_of
    from innkeeper.taverns.smart.conditions import ConditionRule as ConditionRule
    from innkeeper.taverns.smart.construction import Construction as Construction
    from innkeeper.taverns.smart.construction import construct as construct
    from innkeeper.taverns.smart.construction import construct_explained as construct_explained
    from innkeeper.taverns.smart.framing import assemble as assemble
    from innkeeper.taverns.smart.framing import assemble_full as assemble_full
    from innkeeper.taverns.smart.regex_rules import apply_messages as apply_messages
    from innkeeper.taverns.smart.regex_rules import apply_text as apply_text
    from innkeeper.taverns.smart.regex_rules import postprocess_apply as postprocess_apply
    from innkeeper.taverns.smart.steps import PIPELINE as PIPELINE
    from innkeeper.taverns.smart.steps import TAVERN as TAVERN
    from innkeeper.taverns.smart.steps import build as build
    from innkeeper.taverns.smart.steps import builder as builder
    from innkeeper.taverns.smart.steps import to_messages as to_messages
    from innkeeper.taverns.smart.variables_update import apply_operation as apply_operation

_HOMES: Final = {
    "assets_normalizer": (
        "extract_character_regex",
        "extract_character_world_book",
        "extract_preset_regex",
        "merge_regex",
        "merge_world_books",
        "normalize",
    ),
    "compat": ("Compat", "DEFAULT_PROFILE", "PROFILES", "SmartOptions", "compat_of"),
    "conditions": ("ConditionRule", "Verdict"),
    "construction": ("Construction", "construct", "construct_explained"),
    "framing": ("assemble", "assemble_full"),
    "innkeeper.content.branch_tree": ("BranchTree",),
    "innkeeper.content.branches": (
        "BranchEdit",
        "EDITS",
        "append_message",
        "branch_table",
        "delete_branch",
        "get_latest_message",
        "openai_messages",
        "retry_branch",
        "retry_user_message",
        "switch_branch",
        "truncate_after",
        "update_message",
    ),
    "innkeeper.content.json.values": ("ShapeError",),
    "regex_rules": ("apply_messages", "apply_text", "postprocess_apply"),
    "steps": ("PIPELINE", "TAVERN", "build", "builder", "to_messages"),
    "variables_update": ("apply_operation",),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
