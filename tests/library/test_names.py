"""The public names of the library: which there are, where they live, what importing them costs."""

import importlib
import subprocess
import sys

import pytest

import innkeeper.library

PUBLIC = [
    "CLIP",
    "DRAFT",
    "PARTIAL",
    "PRODUCTION",
    "STAGING",
    "AgeVerification",
    "AnswerSource",
    "AsyncPromptService",
    "Authoring",
    "Budget",
    "Catalogue",
    "Ceilings",
    "Classifier",
    "Database",
    "Decision",
    "Detector",
    "EnvironmentKeys",
    "FileKeys",
    "Labelled",
    "Library",
    "MatchLevel",
    "Measure",
    "NewMemory",
    "Options",
    "Owner",
    "PartRef",
    "PrepareRequest",
    "PreparedPrompt",
    "RenderedAnswer",
    "RenderedTemplate",
    "Resolution",
    "ResolveRequest",
    "Resolved",
    "Role",
    "ScanFindings",
    "Segment",
    "Span",
    "Syntax",
    "SystemKeys",
    "TemplateDraft",
    "TemplateKey",
    "TemplateStore",
    "TemplateVersion",
    "TextKind",
    "Thresholds",
    "Tier",
    "TierDecision",
    "TierGate",
    "TierPolicy",
    "TokenizerSpec",
    "PromptService",
    "Secrets",
    "ToolConfig",
    "Tools",
    "Variable",
    "Vault",
    "account_ceiling",
    "budget_of",
    "character_ceiling",
    "compose",
    "compress",
    "effective_tier",
    "fenced",
    "impact",
    "model_key",
    "problems_of",
    "query",
    "render",
    "require_publishable",
    "resolve",
    "sealed",
    "template_values",
    "use_case_for",
]
"""Change this list on purpose only: it is what users import."""


def test_public_names_are_pinned() -> None:
    """The public list of the library is exactly the pinned one."""
    assert innkeeper.library.__all__ == sorted(PUBLIC)


def test_each_public_name_is_that_of_its_home() -> None:
    """Each name is listed once, and is the very object that its one home publishes, below the package or in the gate."""
    homes = [(home, name) for home, names in innkeeper.library._HOMES.items() for name in names]
    assert dir(innkeeper.library) == sorted(innkeeper.library.__all__) == sorted(name for _, name in homes)
    for home, name in homes:
        module = home if home.startswith("innkeeper.") else f"innkeeper.library.{home}"
        assert getattr(innkeeper.library, name) is getattr(importlib.import_module(module), name)


def test_unknown_name_is_an_attribute_error() -> None:
    """A name that does not exist fails as on any module."""
    with pytest.raises(AttributeError, match="no attribute 'Shelf'"):
        innkeeper.library.Shelf  # noqa: B018 - asking is the test


def test_import_is_light() -> None:
    """Importing the library loads neither msgspec nor SQLAlchemy."""
    script = "import sys, innkeeper.library; print(*sorted({'msgspec', 'sqlalchemy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []
