"""Any JSON value, for the properties that hold whatever comes in."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["KEYS", "VALUES", "objects"]

KEYS = st.sampled_from(
    [
        "id",
        "pid",
        "role",
        "content",
        "source",
        "type",
        "name",
        "entries",
        "world_book",
        "regex_rules",
        "items",
        "a",
        "b",
        "",
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.just(5_000).map(lambda digits: 10**digits),
    st.floats(allow_nan=False, width=16),
    st.sampled_from(["", "a", "b", "user", "assistant", "history.user", "(", "true", "\ud800"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)


def objects(**fields: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    """Objects with some of these fields."""
    return st.fixed_dictionaries({}, optional=fields)
