"""The dynamic-prompting document, heading by heading: which tests hold what it says. None is without one, and each is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.shared import ROOT, need

_ENHANCED: Final = "service/tasks/test_enhancement.py::test_the_documents_example"
_NEGATIVE: Final = "jobs/test_media_jobs.py::test_negatives"
_STATEMENTS: Final = "library/db/test_schema.py::test_every_statement_of_the_document_runs"
_FUNCTIONS: Final = (
    _ENHANCED,
    "service/tasks/test_turns.py::test_the_documents_shapes",
    "service/tasks/test_scenes.py::test_the_whole_way",
    "service/jobs/test_jobs.py::test_functions",
)

TESTS: Final[dict[str, tuple[str, ...]]] = {
    "Dynamic Prompting System": ("service/tasks/test_document.py::test_the_examples_of_the_page",),
    "Overview": ("library/test_library.py::test_builtins_prepare",),
    "NEW ARCHITECTURE: Pure Inference Engine": (
        "jobs/worker/test_engine.py::test_nothing_is_added_or_changed",
        "service/workers/test_routing.py::test_a_liar_is_quarantined",
    ),
    "Key Features": ("library/test_library.py::test_an_empty_library_answers", "properties/test_safety.py::*"),
    "Template Reference": ("library/catalogue/test_resolver.py::test_case",),
    "Active Templates (from Supabase prompt_templates)": (
        "library/catalogue/test_resolver.py::test_packaged_templates_answer_by_default",
        "library/test_acceptance.py::test_7_prompts_of_every_template_fit",
    ),
    "Model-to-Template Mapping": ("library/db/test_schema.py::test_model_specific_and_universal_templates",),
    "Database Relationship": ("library/db/test_schema.py::test_model_specific_and_universal_templates",),
    "Template Lookup Flow": ("library/catalogue/test_resolver.py::test_agrees_with_a_plain_search",),
    "Fallback Chain": (
        "library/catalogue/test_resolver.py::test_never_a_higher_tier",
        "library/catalogue/test_resolver.py::test_strict_refuses_makeshifts",
    ),
    "Example SQL Queries": (_STATEMENTS,),
    "Template Selection for Different Providers": (
        "service/tasks/test_enhancement.py::test_targets_overlays_and_videos",
    ),
    "Technical Implementation": (_ENHANCED,),
    "Enhanced Logging System": (
        "library/log/test_enhancements.py::test_the_row_of_an_answer_holds_no_text",
        "library/log/test_enhancements.py::test_texts_are_stored_only_where_that_is_wanted",
    ),
    "Pure Inference Engine Integration": (
        "inference/requests/test_worker_protocol.py::test_one_hash_on_both_sides",
        "library/prepare/test_preparation.py::test_the_prompt_has_the_template_and_the_text_once",
    ),
    "Data Flow Security": ("inference/requests/test_worker_protocol.py::test_nothing_is_added",),
    "Third-Party API Integration": (
        "operations/tasks/test_execution.py::test_every_attempt_is_planned_anew",
        "inference/routing/test_router.py::test_tiers_only_fall",
    ),
    "Performance": ("library/test_library.py::test_steady_hit_rate",),
    "Token Optimization": (
        "service/tasks/test_enhancement.py::test_a_second_pass_only_where_the_first_broke_the_budget",
        "library/prepare/test_segments.py::test_clip_prompts_fit_their_window",
    ),
    "Caching Strategy": (
        "library/test_acceptance.py::test_4_every_source_answers_alike",
        "library/templates/test_cache.py::test_every_part_of_the_key_counts",
    ),
    "Monitoring Metrics": ("library/log/test_logs.py::test_figures",),
    "Admin Management": ("library/db/test_schema.py::test_view_has_the_columns_of_the_document",),
    "Template Management": (
        "library/db/test_schema.py::test_update_makes_a_version_and_moves_the_label",
        "library/db/test_schema.py::test_deactivate_activate_and_roll_back",
    ),
    "Log Analysis": (
        "library/db/test_schema.py::test_log_analysis_as_printed",
        "library/test_library.py::test_the_documents_query",
    ),
    "Integration Points": _FUNCTIONS,
    "Edge Functions": _FUNCTIONS,
    "Worker System": (
        "service/workers/test_app.py::test_endpoints",
        "service/workers/test_app.py::test_legacy_generate",
    ),
    "Frontend Integration": (
        "service/tasks/test_turns.py::test_the_documents_shapes",
        "library/prepare/test_conversation.py::test_route",
    ),
    "Negative Prompt Integration": (_NEGATIVE,),
    "Database Structure": ("library/models/test_stores.py::test_the_same_fragment_in_both_generation_modes",),
    "Usage in Edge Functions": (_NEGATIVE, "library/test_library.py::test_negative_prompts"),
    "Generation Mode Optimization": ("library/models/test_facts.py::test_an_image_takes_three",),
    "Model Type Mapping": ("library/models/test_facts.py::test_models_without_such_an_input_are_skipped",),
    "Troubleshooting": ("operations/tasks/test_execution.py::test_without_a_template_no_model_is_asked",),
    "Common Issues": (
        "library/catalogue/test_resolver.py::test_tried_keys_are_told",
        "service/workers/test_routing.py::test_leases_run_out",
        "library/prepare/test_budget.py::test_overflow",
    ),
    "Debug Commands": ("service/workers/test_app.py::test_pages", "cli/tasks/test_tasks.py::test_jobs_and_workers"),
    "Recent Updates": ("library/db/test_schema.py::test_revisions_are_those_of_the_migrations",),
    "January 2026: Third-Party API Integration Documentation": ("service/jobs/test_jobs.py::test_functions",),
    "January 3, 2026: Documentation Alignment": ("service/tasks/test_document.py::test_the_examples_of_the_page",),
    "Previous Updates (2024)": (
        "service/tasks/test_scenes.py::test_a_model_tells_the_moment",
        "operations/tasks/test_turns.py::test_a_turn",
    ),
    "Suggested Table Reference Docs": ("library/db/test_schema.py::test_view_has_the_columns_of_the_document",),
}
"""Tests by heading, below ``tests``; ``*`` is all of a module."""


@cache
def _defined(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


@pytest.mark.parametrize("heading", TESTS)
def test_every_heading_has_tests_that_are_there(heading: str) -> None:
    """A heading names tests, and each of them is a test."""
    assert TESTS[heading]
    for name in TESTS[heading]:
        file, _, function = name.partition("::")
        defined = _defined(ROOT / "tests" / file)
        assert (function in defined) if function != "*" else any(each.startswith("test_") for each in defined), name


def test_no_heading_is_left_out() -> None:
    """The headings are those of the document."""
    document = need("spec/requirements/4-dynamic-prompting.md")
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = (line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#"))
    assert {re.sub(r"^[^\x20-\x7e]+\S*\s+", "", heading) for heading in headings} == set(TESTS)
