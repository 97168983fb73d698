"""Which counting rule goes with which dialect."""

import pytest

from innkeeper.budget import framing_of


@pytest.mark.parametrize(
    ("dialect", "framing"),
    [
        (None, "openai"),
        ("openai", "openai"),
        ("responses", "openai"),
        ("mistral", "openai"),
        ("a dialect of one's own", "openai"),
        ("anthropic", "anthropic"),
        ("gemini", "google"),
        ("text", "none"),
    ],
)
def test_a_dialect_is_counted_as_its_provider_does(dialect: str | None, framing: str) -> None:
    """Measured providers by their own rule, one text for all messages by none, others as OpenAI."""
    assert framing_of(dialect).name == framing
