"""The quick scan fires what a plain one fires, in its order, with the same draws and log."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.determinism import Mulberry32
from innkeeper.taverns.risu.lore.activation import LoreQuery, scan
from innkeeper.taverns.risu.lore.compiled import compile_lore
from innkeeper.taverns.risu.lore.entry import stored_entries
from innkeeper.text.javascript.values import length_of
from tests.taverns.risu.lore.plain_scan import PlainScan

KEYS = st.sampled_from(["reef", "bell", "the reef", "Fog", "sea salt", "is"])
HEADS = st.one_of(
    st.sampled_from([
        "@@recursive", "@@unrecursive", "@@no_recursive_search", "@@activate", "@@dont_activate", "@@match_full_word",
        "@@match_partial_word", "@@keep_activate_after_match", "@@dont_activate_after_match", "@@ignore_on_max_context",
        "@@@activate", "@@nope", "@@position bad", "@@scan_depth 0", "@@scan_depth 3", "@@scan_depth 9", "@@is_greeting 0",
        "@@is_greeting 1", "@@probability 50", "@@probability 60", "@@activate_only_after 3", "@@activate_only_every 2",
        "@@activate_only_every 0", "@@priority 7",
    ]),
    st.tuples(st.sampled_from(["additional_keys", "exclude_keys", "exclude_keys_all"]), KEYS, KEYS).map(
        lambda parts: f"@@{parts[0]} {parts[1]}, {parts[2]}"
    ),
)  # fmt: skip
TEXTS = st.lists(st.one_of(KEYS, st.sampled_from(["lorem", "{{// bell}}"])), max_size=4).map(" ".join)
ENTRIES = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.lists(KEYS, max_size=2).map(",".join),
            "secondkey": st.sampled_from(["", "reef", "fog,bell"]),
            "comment": st.sampled_from(["", "c"]),
            "content": st.tuples(st.lists(HEADS, max_size=3), TEXTS).map(
                lambda parts: "\n".join([*parts[0], parts[1]])
            ),
            "insertorder": st.sampled_from([1, 50, 100]),
            "alwaysActive": st.sampled_from([False, False, False, True]),
            "selective": st.booleans(),
        }
    ),
    max_size=8,
)


@given(
    entries=ENTRIES,
    texts=st.lists(TEXTS, max_size=6),
    settings=st.fixed_dictionaries(
        {
            "depth": st.sampled_from([1, 2, 5, 9]),
            "budget": st.sampled_from([5, 10, 800]),
            "full": st.booleans(),
            "recursive": st.booleans(),
            "leak": st.booleans(),
        }
    ),
    variables=st.dictionaries(st.sampled_from(["__internal_ka_e0", "__internal_da_e1"]), st.just("true")),
)
def test_a_scan_is_as_a_plain_one(
    entries: list[dict[str, Any]], texts: list[str], settings: dict[str, Any], variables: dict[str, str]
) -> None:
    """Whatever the entries, the chat and the settings are."""
    entries = [{**entry, "id": f"e{index}"} for index, entry in enumerate(entries)]
    messages = [(("user", "char")[index % 2], text) for index, text in enumerate(texts)]
    plain = PlainScan(entries, messages, dict(variables), **settings)
    expected, log = plain.run()
    own = dict(variables)
    result = scan(
        compile_lore([*stored_entries(entries)], full_words=settings["full"]),
        LoreQuery(
            messages=messages,
            budget=settings["budget"],
            depth=settings["depth"],
            recursive=settings["recursive"],
            variables=own,
            random=Mulberry32(42),
            count=lambda texts: [-(-length_of(text) // 4) for text in texts],
            report=lambda _what, _why: None,
            leak=settings["leak"],
        ),
    )
    assert [each.text for each in result.active] == expected
    assert [(match.source, match.key) for match in result.matches] == log
    assert own == plain.variables
