"""The smart tavern: SmartTavern's prompts, from one operation on JSON values to the whole build.

Every operation takes and returns plain JSON values whose key order is part of the contract, and changes none of its arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
        "BranchEdit": "innkeeper.content.branches",
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
        "ConditionRule": "conditions",
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
