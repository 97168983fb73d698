"""Judgement: which texts of an operation stand behind the gate, and when; every operation declares one.

The block of age-indicating content in a sexual or adult context stands at every door, and nothing turns it off. What is only
doubtful in the general tier follows the operator's word: ``on`` refuses it, ``observe`` lets it pass with a note.
"""

from __future__ import annotations

from enum import StrEnum


class Judgement(StrEnum):
    """What becomes of the texts that pass an operation."""

    ASKED = "asked"
    """The prompt is judged before it is sent to a model, and the answer as it comes."""
    MADE = "made"
    """What is made of the request is judged before it is given."""
    TASK = "task"
    """The library judges the request in the tier of the task before a model is asked, and then the answer."""
    SAVED = "saved"
    """What is to be stored is judged in its own tier before it is."""
    STORED = "stored"
    """What is given was judged when it was stored or made."""
    OWN = "own"
    """Operators see their own files and rows, as they are."""
    NONE = "none"
    """No text for a person passes."""
