"""What the measurements of this folder share: a heap in which only their own objects are gone over."""

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def _heap_of_its_own() -> None:
    """Set aside what thousands of earlier tests have left, which each collection would otherwise go over again."""
    gc.freeze()
