"""The engine's version. It stands below every floor, for replay bundles say by which one they were made."""

from typing import Final

VERSION: Final = "0.1.0"
