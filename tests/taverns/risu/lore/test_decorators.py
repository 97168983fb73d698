"""The head of an entry."""

from typing import Any

import pytest

from innkeeper.taverns.risu.lore.decorators import LoreInjection, read_decorators, rejected_lines

CASES: list[tuple[str, dict[str, Any]]] = [
    ("no head", {"text": "no head"}),
    ("@@end\nK", {"position": "depth", "depth": 0, "text": "K"}),
    ("@@@end\nK", {"position": "depth", "depth": 0, "text": "K"}),
    ("  @@depth 2\n@@role user\nK ", {"position": "depth", "depth": 2, "role": "user", "text": "K"}),
    ("@@position nowhere\n@@@position after_desc\nK", {"position": "after_desc", "text": "K"}),
    ("@@position before_desc\n@@@position after_desc\nK", {"position": "before_desc", "text": "K"}),
    ("@@role wizard\n@@@unknown\n@@@role user\n@@@role assistant\nK", {"role": "user", "text": "K"}),
    ("@@depth\n\n@@role user", {"position": "", "role": "system", "text": "@@role user"}),
    ("@@priority 5\n@@ignore_on_max_context\nK", {"priority": -1000}),
    ("@@keep_activate_after_match\n@@@role user\nK", {"role": "user", "forces": ["keep"]}),
    ("@@match_full_word\n@@unrecursive\n@@no_recursive_search\nK", {"full_words": True, "feeds_recursion": False}),
    (
        "@@inject_replace old\n@@inject_lore Base\nnew",
        {"injection": LoreInjection(operation="replace", location="Base", param="old", lore=True)},
    ),
    ("@@inject_lore My, Base\nX", {"injection": LoreInjection(location="My Base", lore=True)}),
    ("@@inject_prepend a,b\nX", {"injection": LoreInjection(operation="prepend", param="a b")}),
    ("@@depth 2px\nK", {"depth": 2}),
    (f"@@depth {'9' * 5000}\nK", {"depth": 2**31, "text": "K"}),
    ("@@disable_ui_prompt x\n@@@role user\nK", {"role": "user"}),
    ("@@scan_depth 3\n@@instruct_depth 2\n@@@depth 1\nK", {"scan_depth": 3, "depth": 1, "position": "depth"}),
]


@pytest.mark.parametrize(("content", "expected"), CASES)
def test_heads(content: str, expected: dict[str, Any]) -> None:
    """What each says, and what is left."""
    read = read_decorators(content)
    assert {name: getattr(read, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("content", "numbers"),
    [
        ("@@depth 1\n@@role narrator\n@@nope\nK @@depth x", [1, 2]),
        ("@@role wizard\n@@@unknown\n@@@role user\nK", []),
        ("@@bad\n@@worse\n@@@role user\nK", [0]),
        ("@@keep_activate_after_match\n@@instruct_depth 2\nK", [1]),
        ("K\n@@nope", []),
    ],
)
def test_lines_without_effect(content: str, numbers: list[int]) -> None:
    """Rejected ones and unknown ones, unless another line stands in for them."""
    assert [*rejected_lines(content)] == numbers
