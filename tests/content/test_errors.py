"""Limits: named, held, and raised with their numbers."""

import msgspec
import pytest

from innkeeper.content import LIMITS, Limits
from innkeeper.content.errors import check_limit
from innkeeper.prompt.errors import LimitError


@pytest.mark.parametrize("name", Limits.__struct_fields__)
def test_each_limit_is_held(name: str) -> None:
    """What is at a limit passes, what is above is refused with the limit's name and both numbers."""
    allowed = getattr(LIMITS, name)
    check_limit(LIMITS, name, allowed, "the thing")
    with pytest.raises(LimitError) as caught:
        check_limit(LIMITS, name, allowed + 1, "the thing", asset="file.json")
    error = caught.value
    assert (error.limit, error.allowed, error.found) == (name, allowed, allowed + 1)
    assert error.where is not None
    assert error.where.asset == "file.json"
    assert error.http_status == 413


def test_the_promised_figures() -> None:
    """The defaults are those that the documentation promises."""
    mib = 1024 * 1024
    promised = Limits(
        file_bytes=32 * mib,
        json_depth=64,
        json_keys=200_000,
        json_string_bytes=8 * mib,
        png_text_chunks=64,
        png_text_bytes=8 * mib,
        png_total_text_bytes=16 * mib,
        archive_entries=2_000,
        archive_entry_bytes=64 * mib,
        archive_total_bytes=256 * mib,
        archive_ratio=200,
        lore_entries=20_000,
        lore_keys=64,
        lore_content_bytes=64 * 1024,
        chat_messages=100_000,
        message_bytes=mib,
    )
    assert promised == LIMITS


def test_limits_can_be_changed_one_by_one() -> None:
    """Another value for one limit leaves the others."""
    own = msgspec.structs.replace(LIMITS, json_depth=3)
    with pytest.raises(LimitError):
        check_limit(own, "json_depth", 4, "the nesting")
    check_limit(own, "json_keys", LIMITS.json_keys, "the keys")
