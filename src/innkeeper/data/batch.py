"""Batch: a table of build requests becomes a table of prompts. One pure function is all that every engine runs.

The same table and settings give the same table, on any machine and in any number of pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import msgspec

from innkeeper.budget.accounting import plan_tokens
from innkeeper.data.rows import ID, LINE, RowReader, error_of
from innkeeper.data.tables import arrow
from innkeeper.prompt import BuildRequest, InnkeeperError, Plan, UsageError
from innkeeper.prompt.allowance import allowed
from innkeeper.prompt.data import to_json
from innkeeper.prompt.typed.once import unpack
from innkeeper.taverns import build
from innkeeper.tokens import default_counter
from innkeeper.tokens.table.catalogue import listed_cost

if TYPE_CHECKING:
    import pyarrow as pa

Form = Literal["messages", "text", "tokens", "plan", "replay", "body", "training"]
"""What is made of a plan: messages, one text, token numbers, the whole plan, what builds it again, a provider's body, or a row to
train on."""

FORMS: Final[tuple[str, ...]] = get_args(Form)

PROVIDERS: Final[Mapping[str, tuple[str, str]]] = {
    "openai": ("openai", "custom_id"),
    "vllm": ("openai", "custom_id"),
    "anthropic": ("anthropic", "custom_id"),
    "gemini": ("gemini", "key"),
}
"""Providers with a format of batches: the dialect of the bodies, and the field with the name of a row."""


class BatchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same for all rows.

    ``request`` are fields of every build request that a row does not set itself; without ``now`` among them or in the row, a
    build reads the clock. ``shared`` are assets that rows name as ``@name``, ``roots`` the folders that paths may lead into,
    ``keep`` the columns that are passed on. ``provider`` is whose batch format the form ``body`` has. ``source`` names the
    dataset in errors.
    """

    form: Form = "messages"
    dialect: str | None = None
    provider: str | None = None
    request: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    roots: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    source: str = "rows"

    def __post_init__(self) -> None:
        """Raise `UsageError` for a form or a provider that is not known."""
        if self.form not in FORMS:
            raise UsageError(f"there is no form {self.form!r:.40}", hint=f"forms: {', '.join(FORMS)}")
        if self.form == "body" and self.provider not in PROVIDERS:
            raise UsageError("bodies need a provider with batches", hint=f"providers: {', '.join(PROVIDERS)}")


class BuiltRow(msgspec.Struct, frozen=True):
    """One prompt in the form that was asked for, with its figures; or the ``error`` that there is none by, as JSON.

    ``id`` is the row's own name, or its number; ``columns`` are those that are passed on, as text.
    ``tokens`` and ``cost`` (US dollars by the catalogue) are of the prompt; ``evicted`` are the blocks that did not fit.
    ``warnings`` are what the plan notes, each as its kind and its step. Where a model was asked, ``answer`` is what it said,
    ``ended`` why it stopped, ``input_tokens`` and ``output_tokens`` are as the provider counts, and ``paid`` is what they cost.
    """

    id: str
    columns: tuple[str | None, ...] = ()
    value: Any = None
    fingerprint: str | None = None
    tokens: int | None = None
    evicted: int | None = None
    cost: float | None = None
    warnings: tuple[str, ...] = ()
    answer: str | None = None
    ended: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    paid: float | None = None
    error: str | None = None


Ask = Callable[[Plan, BuiltRow], Mapping[str, Any]]
"""Returns the fields of a `BuiltRow` that a model's answer to a plan gives."""


def build_batch(table: pa.Table, settings: BatchSettings | None = None) -> pa.Table:
    """Build every row of a table; rows that cannot be built have an ``error`` in the place of a prompt.

    The result has the rows in their order: ``id``, the kept columns, the form's own column (named as the form; ``token_ids`` of
    tokens), and the fields of `BuiltRow`. Raises `UsageError` for settings that fit no row, `UnavailableError` without pyarrow.
    """
    settings = settings or BatchSettings()
    builder = builder_of(settings)
    return table_of([builder.built(row) for row in table.to_pylist()], settings)


def table_of(rows: Sequence[BuiltRow], settings: BatchSettings, *, answered: bool = False) -> pa.Table:
    """Return rows as the table that `build_batch` gives; with the columns of answers where they were ``answered``."""
    pa = arrow()
    columns: dict[str, Any] = {ID: pa.array([row.id for row in rows], pa.string())}
    for index, name in enumerate(settings.keep):
        columns[name] = pa.array([row.columns[index] if row.columns else None for row in rows], pa.string())
    for name, kind in _types(pa, settings.form, answered=answered).items():
        values = [row.value if name == column_of(settings.form) else getattr(row, name) for row in rows]
        columns[name] = pa.array([list(value) if isinstance(value, tuple) else value for value in values], kind)
    return pa.table(columns)


def column_of(form: Form) -> str:
    """The name of a form's column."""
    return "token_ids" if form == "tokens" else form


def _types(pa: Any, form: Form, *, answered: bool) -> dict[str, Any]:
    """The columns of a result besides those of its rows, with their types."""
    ids, mask = pa.list_(pa.int32()), pa.list_(pa.int8())
    training = pa.struct({"text": pa.large_string(), "tokens": ids, "mask": mask})
    answers = {
        "answer": pa.large_string(),
        "ended": pa.string(),
        "input_tokens": pa.int64(),
        "output_tokens": pa.int64(),
        "paid": pa.float64(),
    }
    return {
        column_of(form): {"tokens": ids, "training": training}.get(form, pa.large_string()),
        "fingerprint": pa.string(),
        "tokens": pa.int64(),
        "evicted": pa.int64(),
        "cost": pa.float64(),
        "warnings": pa.list_(pa.string()),
        **(answers if answered else {}),
        "error": pa.string(),
    }


@lru_cache(maxsize=4)
def _known_builder(settings: bytes) -> RowBuilder:
    return RowBuilder(unpack(settings, BatchSettings))


def builder_of(settings: BatchSettings) -> RowBuilder:
    """Return the builder of settings, which are known by their content: what all rows share is read once."""
    return _known_builder(msgspec.msgpack.encode(settings))


class RowBuilder:
    """Builds rows by settings, which are read once. ``training`` makes rows to train on where a model on this machine does."""

    def __init__(self, settings: BatchSettings, training: Callable[[Plan], dict[str, Any]] | None = None) -> None:
        self.settings, self._training = settings, training

    @cached_property
    def reader(self) -> RowReader:
        """What reads the rows. Raises `InnkeeperError` where the common fields are no request."""
        settings = self.settings
        return RowReader(BuildRequest.of(settings.request), settings.shared, settings.roots, settings.keep)

    def built(self, row: Mapping[str, Any], ask: Ask | None = None) -> BuiltRow:
        """Build one row, and add to it what ``ask`` returns for its plan; an error of ours is its result."""
        name = str(row.get(ID))
        made = BuiltRow(name)
        try:
            fields = self.reader.fields(row)
            made = BuiltRow(name := str(fields.get(ID, name)))
            request = self.reader.request(fields)
            with allowed(request.limits):
                plan = build(request)
                made = self._shown(plan, name, fields)
            return made if ask is None else msgspec.structs.replace(made, **ask(plan, made))
        except InnkeeperError as error:
            reason = error
        except _DEFECTS as error:
            hint = "this is a defect of Innkeeper; the row alone shows it, with innkeeper build"
            reason = InnkeeperError(f"internal error: {type(error).__name__}", hint=hint)
        facts = error_of(reason, self.settings.source, row.get(LINE))
        return msgspec.structs.replace(made, error=to_json(facts).decode("utf-8", "replace"))

    def _shown(self, plan: Plan, name: str, fields: Mapping[str, Any]) -> BuiltRow:
        messages = plan.to_messages(self.settings.dialect)
        tokens = plan_tokens(plan)
        columns = [
            value if value is None or isinstance(value, str) else to_json(value).decode("utf-8", "replace")
            for value in map(fields.get, self.settings.keep)
        ]
        notes = [f"{note.kind}: {note.step}" if note.step else str(note.kind) for note in (*plan.warnings, *plan.notes)]
        return BuiltRow(
            id=name,
            columns=tuple(columns),
            value=self._value(plan, name, messages),
            fingerprint=plan.fingerprint_of(messages, self.settings.dialect),
            tokens=tokens,
            evicted=getattr(plan.trim_report, "eviction_count", 0),
            cost=listed_cost(plan.model, tokens),
            warnings=tuple(notes),
        )

    def _value(self, plan: Plan, name: str, messages: Any) -> Any:
        settings = self.settings
        match settings.form:
            case "text":
                return text_of(plan)
            case "tokens":
                return token_ids(text_of(plan), plan.model)
            case "training":
                from innkeeper.data.training import training_row

                return (self._training or training_row)(plan)
            case "plan":
                value: Any = plan.to_dict()
            case "replay":
                return plan.replay(settings.dialect).to_json().decode()
            case "body":
                value = self._body(plan, name)
            case _:
                value = messages
        return to_json(value, sort=False).decode("utf-8", "replace")

    def _body(self, plan: Plan, row: str) -> dict[str, Any]:
        """The line of a provider's batch file."""
        provider = self.settings.provider or ""
        dialect, key = PROVIDERS[provider]
        body = plan.to_request(self.settings.dialect or dialect).body
        name = {key: row}
        if provider == "anthropic":
            return {**name, "params": body}
        if provider == "gemini":
            return {**name, "request": body}
        return {**name, "method": "POST", "url": "/v1/chat/completions", "body": body}


_DEFECTS: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a step of ours may raise that is no error of ours: it is the row's result as well."""


def text_of(plan: Plan) -> str:
    """The prompt as one text, in the template that its settings name."""
    made = plan.to_messages(plan.dialect if plan.dialect in _TEXTS else "text")
    return str(made["prompt"] if isinstance(made, Mapping) else made)


_TEXTS: Final = frozenset({"text", "koboldcpp", "llamacpp", "chat_template"})


def token_ids(text: str, model: str | None) -> list[int]:
    """The numbers of a text's tokens for a model. Raises `UsageError` where no tokenizer of it is here."""
    ids = default_counter().tokenize(text, model).ids
    if ids is None:
        raise UsageError(
            f"no tokenizer of {model or 'an unnamed model'} is here", hint="name a model whose vocabulary is"
        )
    return list(ids)
