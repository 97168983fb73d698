"""What the OpenAPI document tells of all surfaces but the gateway, whose operations may be others."""

from __future__ import annotations

from typing import Final

from innkeeper.service.openapi.models import MODELS
from innkeeper.service.openapi.pages import PAGES, PROMPTS, RUN
from innkeeper.service.openapi.workers import WORKERS

__all__ = ["DESCRIPTIONS"]

DESCRIPTIONS: Final = (PAGES, MODELS, PROMPTS, RUN, WORKERS)
"""One a surface."""
