"""The contracts every tavern, dialect and door shares: messages, blocks, plans, requests, steps, pipelines, errors."""

from innkeeper.prompt.allowance import AllowanceError, Limits
from innkeeper.prompt.block import Block, BudgetGroup, InsertionPoint, Origin, OriginAsset, Piece
from innkeeper.prompt.build import build
from innkeeper.prompt.data import FrozenDict, deep_merge, freeze, thaw
from innkeeper.prompt.determinism import Clock, Mulberry32, Randomness
from innkeeper.prompt.dialect import Dialect, Dialects, Payload, Tool
from innkeeper.prompt.errors import (
    ConfigError,
    FormatError,
    InnkeeperError,
    InputError,
    LimitError,
    MaxTokensExceededError,
    PipelineError,
    ProviderError,
    ReplayError,
    StrictModeError,
    UnavailableError,
    UnknownNameError,
    UnsupportedError,
    UsageError,
    Where,
)
from innkeeper.prompt.machine import fresh_seed, utc_now
from innkeeper.prompt.message import Attachment, Message
from innkeeper.prompt.note import Instrumenter, Note, NoteKind, Trace, TraceCollector, TraceStep
from innkeeper.prompt.plan import Plan
from innkeeper.prompt.request import BuildRequest, ReplayBundle
from innkeeper.prompt.run.context import Context
from innkeeper.prompt.run.extensions import (
    HookContext,
    HookRegistry,
    Injection,
    InjectionPosition,
    InjectionRegistry,
    InMemoryHooks,
    InMemoryInjections,
)
from innkeeper.prompt.run.pipeline import NoConfig, Pipeline, Step, StepConfig
from innkeeper.prompt.run.state import Inputs, PassageSearch, Ports, Result, State, TokenCounter
from innkeeper.prompt.run.variables import InMemoryVariables, StagedVariables, VariablesStore

__all__ = [
    "AllowanceError",
    "Attachment",
    "Block",
    "BudgetGroup",
    "BuildRequest",
    "Clock",
    "ConfigError",
    "Context",
    "Dialect",
    "Dialects",
    "FormatError",
    "FrozenDict",
    "HookContext",
    "HookRegistry",
    "InMemoryHooks",
    "InMemoryInjections",
    "InMemoryVariables",
    "Injection",
    "InjectionPosition",
    "InjectionRegistry",
    "InnkeeperError",
    "InputError",
    "Inputs",
    "InsertionPoint",
    "Instrumenter",
    "LimitError",
    "Limits",
    "MaxTokensExceededError",
    "Message",
    "Mulberry32",
    "NoConfig",
    "Note",
    "NoteKind",
    "Origin",
    "OriginAsset",
    "PassageSearch",
    "Payload",
    "Piece",
    "Pipeline",
    "PipelineError",
    "Plan",
    "Ports",
    "ProviderError",
    "Randomness",
    "ReplayBundle",
    "ReplayError",
    "Result",
    "StagedVariables",
    "State",
    "Step",
    "StepConfig",
    "StrictModeError",
    "TokenCounter",
    "Tool",
    "Trace",
    "TraceCollector",
    "TraceStep",
    "UnavailableError",
    "UnknownNameError",
    "UnsupportedError",
    "UsageError",
    "VariablesStore",
    "Where",
    "build",
    "deep_merge",
    "freeze",
    "fresh_seed",
    "thaw",
    "utc_now",
]
