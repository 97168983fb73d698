"""Schema: everything that the inspector's page is given and gives back. The one schema: the page's types are written from it.

`scripts/inspector_types.py` turns these structs into ``inspector/src/api/types.ts``.
"""

from __future__ import annotations

from typing import Final

import msgspec

from innkeeper.service.inspector.views import (
    answers,
    exchanges,
    inspection,
    installed,
    library,
    records,
    talk,
    templates,
    timeline,
    workspace,
)

VIEWS: Final[tuple[type[msgspec.Struct], ...]] = tuple(
    view
    for module in (installed, workspace, inspection, timeline, exchanges, talk, library, templates, answers, records)
    for view in vars(module).values()
    if isinstance(view, type) and issubclass(view, msgspec.Struct) and view.__module__ == module.__name__
)
"""Every view, in the order in which the page's types are written."""
