"""Tavern: a name and a pipeline. The common part of all taverns; their steps make the difference.

A `Builder` says a build step by step, ``builder.history(chat).message(text).build()``, the same for every tavern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, Unpack

import msgspec

from innkeeper.budget import FIT, cache_plan, explain, plan_diff
from innkeeper.content.finding import Finding
from innkeeper.content.preset import Preset
from innkeeper.dialects import DIALECTS
from innkeeper.prompt import (
    BuildRequest,
    Context,
    Note,
    Pipeline,
    Plan,
    Ports,
    Step,
    UnknownNameError,
    UsageError,
    deep_merge,
)
from innkeeper.prompt import build as run_build
from innkeeper.prompt.data import EMPTY
from innkeeper.taverns.assets import Assets
from innkeeper.taverns.inputs import UNDECLARED, InputRules, canonical_name, read_inputs, read_keywords
from innkeeper.taverns.keywords import BuildInputs, lists_inputs

_MERGED: Final = ("meta", "macro_vars", "configs")
"""Inputs to which later calls add."""


class Builder:
    """Collects the inputs of one build. Every method but `build` and `to_messages` returns the builder.

    Each input of `innkeeper.taverns.inputs` is a method of its name that takes the value. Steps are changed on a copy: the
    tavern's own pipeline stays as it is. A builder builds once.
    """

    def __init__(self, tavern: Tavern, **inputs: Unpack[BuildInputs]) -> None:
        self._tavern = tavern
        self._inputs: dict[str, Any] = {}
        self._changes: list[Callable[[Pipeline], Pipeline]] = []
        self._step_options: dict[str, dict[str, Any]] = {}
        self._built = False
        self.set(**inputs)

    def __getattr__(self, name: str) -> Callable[..., Builder]:
        """The setter of an input. Raises `AttributeError` with the nearest name for one that does not exist."""
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            canonical_name(name)
        except UsageError as error:
            raise AttributeError(f"{error.message}; {error.hint}") from None
        return lambda value: self.set(**{name: value})

    def set(self, **inputs: Unpack[BuildInputs]) -> Builder:
        """Set inputs by keyword. ``meta``, ``macro_vars`` and ``configs`` add to what is there. Raises `UsageError`."""
        self._check_open()
        fields: Mapping[str, Any] = inputs
        for keyword, value in fields.items():
            name = canonical_name(keyword)
            present = self._inputs.get(name)
            merges = name in _MERGED and isinstance(present, Mapping) and isinstance(value, Mapping)
            self._inputs[name] = deep_merge(present, value) if merges and present is not None else value
        return self

    def meta(self, key: str | Mapping[str, Any], value: Any = None) -> Builder:
        """Set one per-build text such as ``system_template``, or several by a mapping. A key counts even with ``None``."""
        return self.set(meta=dict(key) if isinstance(key, Mapping) else {key: value})

    def strict(self, strict: bool = True) -> Builder:  # noqa: FBT001, FBT002 - reads as `builder.strict()`
        """Turn warnings into errors."""
        return self.set(strict=strict)

    def lore_book(self, book: Any) -> Builder:
        """Add a lorebook."""
        return self.lore_books((book,))

    def lore_books(self, books: Iterable[Any]) -> Builder:
        """Add lorebooks."""
        return self.set(lorebooks=(*self._inputs.get("lorebooks", ()), *books))

    lorebooks = lore_books

    def context(self, context: Context | Mapping[str, Any] | None) -> Builder:
        """Set the application's snapshot. Raises `UsageError` for what is not a mapping."""
        return self.set(context=Context.build(context or {}))

    def authors_note(self, note: Any = None, **parts: Any) -> Builder:
        """Set the author's note by its value, or by ``position``, ``depth``, ``role`` and so on; absent parts are left out."""
        fields = {key: value for key, value in parts.items() if value is not None}
        return self.set(authors_note=fields or None if note is None else note)

    def set_var(self, name: str, value: Any) -> Builder:
        """Set one macro variable; names are lower case."""
        return self.set(macro_vars={name.lower(): value})

    def set_variable(self, name: str, value: Any, scope: str = "local") -> Builder:
        """Set a variable of the chat before the build: in the store if there is one, else in the request."""
        return self.set_variables({name: value}, scope)

    def set_variables(self, values: Mapping[str, Any], scope: str = "local") -> Builder:
        """`set_variable` for each of them."""
        store: Any = self._inputs.get("variables")
        if hasattr(store, "set"):
            for name, value in values.items():
                store.set(name, value, scope)
            return self
        return self.set(variables=deep_merge(store or {}, {scope: dict(values)}))

    def configure_step(self, name: str, **options: Any) -> Builder:
        """Merge options over a step's own. They are data of the request: a replay of the plan knows them."""
        self._check_open()
        self._step_options[name] = deep_merge(self._step_options.get(name, {}), options)
        return self

    def replace_step(self, name: str, step: Step[Any], **options: Any) -> Builder:
        """Replace a step by another, dropping its options."""
        self._step_options.pop(name, None)
        return self._change(lambda pipeline: pipeline.replace(name, step, **options))

    def insert_step_before(self, anchor: str, step: Step[Any], **options: Any) -> Builder:
        """Add a step before another."""
        return self._change(lambda pipeline: pipeline.insert_before(anchor, step, **options))

    def insert_step_after(self, anchor: str, step: Step[Any], **options: Any) -> Builder:
        """Add a step after another."""
        return self._change(lambda pipeline: pipeline.insert_after(anchor, step, **options))

    def remove_step(self, name: str) -> Builder:
        """Leave a step out."""
        self._step_options.pop(name, None)
        return self._change(lambda pipeline: pipeline.without(name))

    def build(self) -> Plan:
        """Build the plan. Raises `UsageError` on a second call, else the errors of `Tavern.build`."""
        self._check_open()
        self._built = True
        if not self._changes and not self._step_options:
            return self._tavern.build(**self._inputs)
        from innkeeper.taverns.inputs import read_keywords

        pipeline = self._tavern.pipeline_for(read_keywords(None, None, self._inputs).request)
        for change in self._changes:
            pipeline = change(pipeline)
        for name in self._step_options:
            pipeline.options(name)  # refuses the name of a step that is not there
        options = deep_merge(self._step_options, self._inputs.get("step_options") or {})
        return self._tavern.build(
            **{**self._inputs, "step_options": options}, pipeline=pipeline if self._changes else None
        )

    def to_messages(self, dialect: str | None = None, **options: Any) -> Any:
        """`build`, then the messages in a dialect's shape. A dialect given here is known to the steps as well."""
        if dialect is not None and self._inputs.get("dialect") is None:
            self.set(dialect=dialect)
        return self.build().to_messages(dialect, **options)

    def _change(self, change: Callable[[Pipeline], Pipeline]) -> Builder:
        self._check_open()
        self._changes.append(change)
        return self

    def _check_open(self) -> None:
        if self._built:
            raise UsageError("this builder has built its plan", hint="make a new one for another build")


class ScriptedText(msgspec.Struct, frozen=True):
    """A text after scripts. ``notes`` name scripts that did not run; ``variables`` are the chat's afterwards, by scope."""

    text: str
    notes: tuple[Note, ...] = ()
    variables: Mapping[str, Any] = EMPTY


class ReplyScripts(NamedTuple):
    """How scripts of a tavern's assets treat an answer: whether any could change it, and the text of it that the chat keeps.

    Both get the request by which an answer is finished: the user's message in its history, the variables after the build.
    """

    could_change: Callable[[BuildRequest], bool]
    stored_text: Callable[[BuildRequest, str, Ports | None], ScriptedText]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tavern:
    """A way of building prompts.

    ``pipeline`` is its steps; where they depend on the request, ``choose`` gives the pipeline for one. ``inputs`` says which
    inputs it has no use for. ``summary`` is a line for lists of taverns. ``profiles`` are the variants of its rules that a
    request may name, the usual one first; none where it has no variants. ``replies`` says how scripts treat an answer.
    ``lint`` gives the findings on assets, by a request's fields, the preset that judges lore, and the model that counts it.
    ``lore_settings`` writes ``depth``, ``recursive`` and ``budget`` of a scan as settings of a request; None: it scans no lore.
    ``carrying`` gives steps that leave the same ``carry`` in a plan without texts, where no macro sets a variable; None: all do.
    """

    name: str
    pipeline: Pipeline
    summary: str = ""
    inputs: InputRules = UNDECLARED
    choose: Callable[[BuildRequest], Pipeline] | None = None
    carrying: Callable[[BuildRequest], Pipeline | None] = lambda _: None
    profiles: tuple[str, ...] = ()
    replies: ReplyScripts | None = None
    lint: Callable[[Mapping[str, Any], Preset | None, str | None], Iterable[Finding]] = lambda *_: ()
    lore_settings: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None

    def pipeline_for(self, request: BuildRequest) -> Pipeline:
        """The steps that a request is built with."""
        return self.pipeline if self.choose is None else self.choose(request)

    @lists_inputs
    def build(
        self,
        request: BuildRequest | Mapping[str, Any] | None = None,
        ports: Ports | None = None,
        /,
        *,
        pipeline: Pipeline | None = None,
        commit: bool = True,
        **inputs: Unpack[BuildInputs],
    ) -> Plan:
        """The plan for a request, for keywords, or for a request with keywords over it.

        After the tavern's own steps it is made to fit its window (`innkeeper.budget.FIT`): used + reserved <= window.

        Args:
            request: the request, or its fields.
            ports: objects that are not data; each can be given as a keyword as well.
            pipeline: other steps than the tavern's own; such a plan cannot be replayed, and says so.
            commit: whether variables that templates set are written to the caller's store.
            inputs: every keyword of `BuildInputs`.

        Raises:
            UsageError: an unknown keyword.
            UnknownNameError: an unknown dialect.
            FormatError: an input that cannot be read.
            ConfigError: a step's configuration that does not fit.
            PipelineError: a step failed.
            MaxTokensExceededError: what may not be left out does not fit.
        """
        read = read_keywords(request, ports, inputs)
        asked = read.request if read.request.tavern == self.name else read.request.with_(tavern=self.name)
        dialects = read.ports.dialects or DIALECTS
        if asked.dialect is not None and asked.dialect not in dialects:
            raise UnknownNameError("dialect", asked.dialect, dialects)
        if "variables" not in self.inputs.ignored:
            asked = _with_stored(asked, read.ports)
        steps = pipeline or self.pipeline_for(asked)
        plan = run_build(
            asked,
            _fitting(steps),
            read.ports,
            commit=commit,
            assets=lambda state: read_inputs(state, self.inputs, asked),
            dialects=DIALECTS,
        )
        custom = () if pipeline is None or pipeline is self.pipeline_for(asked) else ("pipeline",)
        return plan.with_(
            notes=(*read.notes, *plan.notes),
            explainer=explain,
            comparer=plan_diff,
            cache_planner=cache_plan,
            unreplayable=(*plan.unreplayable, *custom),
        )

    @lists_inputs
    def builder(self, **inputs: Unpack[BuildInputs]) -> Builder:
        """A fluent builder with this tavern's steps. The inputs are those of `build`; each is a method of the builder, too."""
        return Builder(self, **inputs)

    @lists_inputs
    def to_messages(
        self,
        request: BuildRequest | Mapping[str, Any] | None = None,
        ports: Ports | None = None,
        /,
        **inputs: Unpack[BuildInputs],
    ) -> Any:
        """`build`, then the messages in the shape of ``dialect`` (``openai`` where none is given).

        The inputs are those of `build`.
        """
        return self.build(request, ports, **inputs).to_messages()


@lru_cache(maxsize=32)
def _fitting(steps: Pipeline) -> Pipeline:
    """The steps with the one that makes a plan fit its window."""
    return steps if FIT.name in steps else steps.append(FIT)


def _with_stored(request: BuildRequest, ports: Ports) -> BuildRequest:
    """The request with the variables that its chat's metadata holds, unless it or the ports bring others."""
    stored = Assets(request).metadata.get("variables")
    if ports.variables is not None or request.variables.get("local") or not isinstance(stored, Mapping):
        return request
    return request.with_(variables={**request.variables, "local": stored})
