"""CbsExpander: CBS as one build expands it, with what is the same in all of its texts."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

import msgspec

from innkeeper.macros.cbs import CbsScope, Expanded, expand
from innkeeper.macros.engine.errors import MacroLimitError


class CbsExpander:
    """Expands texts in one scope. Variables that a text writes are there for the next one; ``report`` gets notes, each once."""

    def __init__(self, scope: CbsScope, variables: MutableMapping[str, Any], report: Callable[[str], None]) -> None:
        self.scope = msgspec.structs.replace(scope, variables=variables)
        self.variables = variables
        self._report = report
        self._reported: set[str] = set()

    def __call__(self, text: str, **changes: Any) -> str:
        """The text with its macros expanded; ``changes`` are fields of the scope that are other ones here.

        One that takes more than the limits allow stays as it is, and is reported.
        """
        if "{" not in text and "<" not in text:
            return text
        scope = msgspec.structs.replace(self.scope, **changes) if changes else self.scope
        try:
            expanded = expand(text, scope)
        except MacroLimitError as error:
            expanded = Expanded(text, {}, (error.message,))
        for name, value in expanded.variables.items():
            if value is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = value
        for note in expanded.notes:
            if note not in self._reported:
                self._reported.add(note)
                self._report(note)
        return expanded.text
