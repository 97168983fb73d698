"""The requirement document on dynamic prompting, heading by heading: which test holds what stands there.

What is no behaviour (dates, what was changed when, screens of another program) is named with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parents[2]

HEADINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "Overview": ("library/test_builtins.py::test_the_documents_templates_are_there",),
    "NEW ARCHITECTURE: Pure Inference Engine": (
        "inference/worker/test_engine.py::test_nothing_is_added_or_changed",
        "service/workers/test_app.py::test_endpoints",
    ),
    "Key Features": (
        "library/catalogue/test_resolver.py::test_case",
        "inference/tasks/test_execution.py::test_an_answer_tells_where_it_came_from",
    ),
    "Template Reference": ("library/test_builtins.py::test_names_follow_the_key",),
    "Active Templates (from Supabase prompt_templates)": (
        "library/test_builtins.py::test_the_documents_templates_are_there",
        "library/test_builtins.py::test_every_adult_row_has_a_general_counterpart",
        "library/test_builtins.py::test_general_templates_render_from_a_bare_character",
    ),
    "Model-to-Template Mapping": ("library/catalogue/test_resolver.py::test_case",),
    "Database Relationship": ("library/db/test_schema.py::test_model_specific_and_universal_templates",),
    "Template Lookup Flow": ("library/catalogue/test_resolver.py::test_agrees_with_a_plain_search",),
    "Fallback Chain": (
        "library/catalogue/test_resolver.py::test_packaged_templates_answer_by_default",
        "library/catalogue/test_resolver.py::test_never_a_higher_tier",
        "service/tasks/test_enhancement.py::test_strict",
    ),
    "Example SQL Queries": ("library/db/test_schema.py::test_every_statement_of_the_document_runs",),
    "Template Selection for Different Providers": (
        "service/tasks/test_enhancement.py::test_targets_overlays_and_videos",
        "library/catalogue/test_resolver.py::test_case",
    ),
    "Technical Implementation": ("inference/tasks/test_execution.py::test_every_attempt_is_planned_anew",),
    "Enhanced Logging System": (
        "library/log/test_enhancements.py::test_the_row_of_an_answer_holds_no_text",
        "library/log/test_enhancements.py::test_the_row_of_a_failure",
    ),
    "Pure Inference Engine Integration": (
        "inference/worker/test_protocol.py::test_one_hash_on_both_sides",
        "service/tasks/test_enhancement.py::test_the_documents_example",
    ),
    "Data Flow Security": (
        "service/workers/test_routing.py::test_a_liar_is_quarantined",
        "library/test_acceptance.py::test_6_values_are_literal",
    ),
    "Third-Party API Integration": (
        "inference/routing/test_routed.py::test_as_a_model",
        "inference/jobs/test_routing.py::test_fallback",
        "cli/route/test_route.py::test_explain",
    ),
    "Performance": ("library/test_acceptance.py::test_4_every_source_answers_alike",),
    "Token Optimization": (
        "service/tasks/test_enhancement.py::test_a_second_pass_only_where_the_first_broke_the_budget",
        "library/test_acceptance.py::test_7_prompts_of_every_template_fit",
        "library/test_acceptance.py::test_8_five_hundred_messages",
    ),
    "Caching Strategy": (
        "library/catalogue/test_sources.py::test_steady_work_hits_memory",
        "library/catalogue/test_sources.py::test_database_down_snapshot_answers",
        "library/catalogue/test_sources.py::test_database_down_no_snapshot_builtins_answer",
    ),
    "Monitoring Metrics": ("library/log/test_metrics.py::test_metrics_are_told_in_order",),
    "Admin Management": ("cli/keep/test_template_changes.py::test_publish_and_back",),
    "Template Management": (
        "library/db/test_schema.py::test_update_makes_a_version_and_moves_the_label",
        "library/db/test_schema.py::test_deactivate_activate_and_roll_back",
    ),
    "Log Analysis": ("library/db/test_schema.py::test_log_analysis_as_printed",),
    "Integration Points": ("service/tasks/test_document.py::test_the_examples_of_the_page",),
    "Edge Functions": (
        "service/tasks/test_enhancement.py::test_the_documents_example",
        "service/tasks/test_turns.py::test_the_documents_shapes",
        "inference/tasks/test_suggestions.py::test_each_type",
        "service/tasks/test_scenes.py::test_the_whole_way",
        "service/jobs/test_functions.py::test_fields",
    ),
    "Worker System": (
        "service/workers/test_app.py::test_legacy_generate",
        "service/workers/test_register.py::test_document_names",
    ),
    "Frontend Integration": (
        "service/tasks/test_turns.py::test_a_chat_without_a_character",
        "service/tasks/test_enhancement.py::test_the_documents_example",
        "inference/tasks/scenes/test_scenes.py::test_a_short_window_is_told_in_phrases",
    ),
    "Negative Prompt Integration": ("library/models/test_facts.py::test_clip_prompts_fit_their_window",),
    "Database Structure": ("library/models/test_stores.py::test_the_same_fragment_in_both_generation_modes",),
    "Usage in Edge Functions": (
        "library/models/test_facts.py::test_lower_numbers_come_first",
        "inference/jobs/test_media_jobs.py::test_negatives",
    ),
    "Generation Mode Optimization": ("library/models/test_facts.py::test_an_image_takes_three",),
    "Model Type Mapping": ("library/models/test_facts.py::test_models_without_such_an_input_are_skipped",),
    "Troubleshooting": ("library/catalogue/test_resolver.py::test_tried_keys_are_told",),
    "Common Issues": (
        "library/catalogue/test_resolver.py::test_missing_label_is_its_own_error",
        "service/tasks/test_enhancement.py::test_faults",
        "library/models/test_facts.py::test_the_window_is_kept",
    ),
    "Debug Commands": ("service/workers/test_app.py::test_pages", "service/workers/test_app.py::test_endpoints"),
    "Recent Updates": (),
    "January 2026: Third-Party API Integration Documentation": (),
    "January 3, 2026: Documentation Alignment": (),
    "Previous Updates (2024)": (),
    "Suggested Table Reference Docs": ("library/db/test_schema.py::test_view_has_the_columns_of_the_document",),
}
"""By heading. Those without a test are a history of the document."""


@pytest.mark.parametrize("heading", HEADINGS)
def test_every_heading_has_its_test(heading: str) -> None:
    """The tests that are named are there."""
    for name in HEADINGS[heading]:
        path, _, function = name.partition("::")
        source = (TESTS / path).read_text("utf-8")
        assert re.search(rf"^(?:async )?def {function}\(", source, re.MULTILINE), name
