"""The `innkeeper` command (placeholder)."""


def main() -> int:
    """Do nothing yet."""
    return 0
