"""Text completion as two servers have it at addresses of their own: ``llamacpp`` and ``koboldcpp``.

The prompt is made as in `innkeeper.dialects.text`; what differs is how the options are called. Both servers take OpenAI's shape
at ``/v1/completions``, too: that is the dialect ``text``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from innkeeper.dialects.conversation import TurnSequence
from innkeeper.dialects.options import Table, as_is, in_address, renamed
from innkeeper.dialects.report import Report
from innkeeper.dialects.text import Text


class LlamaCpp(Text):
    """The body of llama.cpp's ``/completion``. The model is the one that is loaded: its name is not sent."""

    sends_model: ClassVar[bool] = False
    provider: ClassVar[str] = "llamacpp"
    table: ClassVar[Table] = {
        **renamed(max_tokens="n_predict", logprobs="n_probs"),
        **as_is("temperature", "top_p", "top_k", "min_p", "typical_p", "seed"),
        **as_is("frequency_penalty", "presence_penalty"),
        **renamed(repetition_penalty="repeat_penalty", repetition_penalty_range="repeat_last_n"),
        **as_is("mirostat", "mirostat_tau", "mirostat_eta", "dynatemp_range", "dynatemp_exponent"),
        **as_is("xtc_threshold", "xtc_probability", "dry_multiplier", "dry_base", "dry_allowed_length"),
        **as_is("dry_sequence_breakers", "grammar", "json_schema", "logit_bias", "ignore_eos", "stream"),
        **as_is("cache_prompt", "id_slot", "samplers", "n_keep"),
    }


class KoboldCppDialect(Text):
    """The body of KoboldCppDialect's ``/api/v1/generate``. The model is the one that is loaded: its name is not sent."""

    sends_model: ClassVar[bool] = False
    provider: ClassVar[str] = "koboldcpp"
    table: ClassVar[Table] = {
        **renamed(max_tokens="max_length", num_ctx="max_context_length"),
        **as_is("temperature", "top_p", "top_k", "min_p", "top_a", "tfs"),
        **renamed(typical_p="typical", seed="sampler_seed"),
        **renamed(repetition_penalty="rep_pen", repetition_penalty_range="rep_pen_range"),
        **as_is("presence_penalty", "mirostat", "mirostat_tau", "mirostat_eta", "dynatemp_range", "dynatemp_exponent"),
        **as_is("smoothing_factor", "xtc_threshold", "xtc_probability", "dry_multiplier", "dry_base"),
        **as_is("dry_allowed_length", "dry_sequence_breakers", "grammar", "logit_bias", "sampler_order"),
        **as_is("negative_prompt", "guidance_scale", "banned_strings", "logprobs", "memory", "trim_stop"),
        "stream": in_address,
    }

    def _body(
        self, model: str | None, talk: TurnSequence, options: Mapping[str, Any], report: Report
    ) -> dict[str, Any]:
        body = super()._body(model, talk, options, report)
        stop = body.pop("stop", None)
        return {**body, **({"stop_sequence": stop} if stop else {})}
