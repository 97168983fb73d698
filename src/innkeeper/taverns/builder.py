"""Builder: a build said step by step, `builder.history(chat).message(text).build()`. The same for every tavern."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from innkeeper.prompt import Context, Pipeline, Plan, Step, UsageError, deep_merge
from innkeeper.taverns.inputs import canonical_name

if TYPE_CHECKING:
    from innkeeper.taverns.tavern import Tavern

__all__ = ["Builder"]

_MERGED: Final = ("meta", "macro_vars", "configs")
"""Inputs of which later calls add to what earlier ones gave."""


class Builder:
    """Collects the inputs of one build. Every method but `build` and `to_messages` returns the builder.

    Each input of `innkeeper.taverns.inputs` is a method of its name that takes the value. Steps are changed on a copy: the
    tavern's own pipeline stays as it is. A builder builds once.
    """

    def __init__(self, tavern: Tavern, **inputs: Any) -> None:
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

    def set(self, **inputs: Any) -> Builder:
        """Set inputs by keyword. ``meta``, ``macro_vars`` and ``configs`` add to what is there. Raises `UsageError`."""
        self._check_open()
        for keyword, value in inputs.items():
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
        given = {key: value for key, value in parts.items() if value is not None}
        return self.set(authors_note=given or None if note is None else note)

    def set_var(self, name: str, value: Any) -> Builder:
        """Set one macro variable; names are lower case."""
        return self.set(macro_vars={name.lower(): value})

    def set_variable(self, name: str, value: Any, scope: str = "local") -> Builder:
        """Set a variable of the chat before the build: in the store, where there is one, else in the request."""
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
        """Put a step in the place of another, whose options are gone."""
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
        """The plan. Raises `UsageError` when it is asked for a second time, else what `Tavern.build` raises."""
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
