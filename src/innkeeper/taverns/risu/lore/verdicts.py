"""The reasons that decide about an entry of RisuAI's lorebook."""

from __future__ import annotations

from innkeeper.lore.verdict import BaseReason


class RisuReason(BaseReason):
    """The first five fire an entry; the others stop it."""

    KEY = "key", "fired by {key!r} in {place} (pass {loop})", True
    CONSTANT = "constant", "fired: always active (pass {loop})", True
    ACTIVATED = "activated", "fired: decorator @@activate (pass {loop})", True
    MATCHED_BEFORE = "matched_before", "fired: it matched before, and stays (@@keep_activate_after_match)", True
    MERGED = "merged", "fired, and merged into {target!r}", True

    NO_KEYS = "no_keys", "it has no keys and is not always active"
    CHILD = "child", "it stands in for an earlier entry with its id, which is active or missing"
    SUPPRESSED = "suppressed", "decorator @@dont_activate"
    MATCHED_ONCE = "matched_once", "it matched before, and fires once (@@dont_activate_after_match)"
    LENGTH = "length", "@@{name} {number:g}: the chat has {length} messages, with the greeting"
    GREETING = "greeting", "@@is_greeting {number:g}: the chat began with greeting {greeting}"
    PROBABILITY = "probability", "rolled {roll:.2f} against {probability:g} %"
    NO_DEPTH = "no_depth", "its scan depth is {depth:g}: nothing to search"
    NO_MATCH = "no_match", "no key matched: {keys}"
    SECONDARY = "secondary", "a key matched, but none of its secondary keys: {keys}"
    ADDITIONAL = "additional", "none of @@additional_keys matched: {keys}"
    EXCLUDED = "excluded", "@@{name} matched: {keys}"
    BUDGET = "budget", "over the lore budget: {tokens} tokens behind {used} of {budget}"
    NO_TARGET = "no_target", "fired, but no active entry is called {target!r} (@@inject_lore)"
    UNPLACED = "unplaced", "fired, but {why}"
