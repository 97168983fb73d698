"""The contracts every tavern, dialect and door shares: messages, blocks, plans, requests, steps, pipelines, errors."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.prompt.allowance import AllowanceError as AllowanceError
    from innkeeper.prompt.allowance import BuildLimits as BuildLimits
    from innkeeper.prompt.block import Block as Block
    from innkeeper.prompt.block import BudgetGroup as BudgetGroup
    from innkeeper.prompt.block import InsertionPoint as InsertionPoint
    from innkeeper.prompt.block import Origin as Origin
    from innkeeper.prompt.block import OriginAsset as OriginAsset
    from innkeeper.prompt.block import Piece as Piece
    from innkeeper.prompt.build import build as build
    from innkeeper.prompt.data import FrozenDict as FrozenDict
    from innkeeper.prompt.data import deep_merge as deep_merge
    from innkeeper.prompt.data import freeze as freeze
    from innkeeper.prompt.data import thaw as thaw
    from innkeeper.prompt.determinism import Clock as Clock
    from innkeeper.prompt.determinism import Mulberry32 as Mulberry32
    from innkeeper.prompt.determinism import Randomness as Randomness
    from innkeeper.prompt.errors import ConfigError as ConfigError
    from innkeeper.prompt.errors import FormatError as FormatError
    from innkeeper.prompt.errors import InnkeeperError as InnkeeperError
    from innkeeper.prompt.errors import InputError as InputError
    from innkeeper.prompt.errors import LimitError as LimitError
    from innkeeper.prompt.errors import MaxTokensExceededError as MaxTokensExceededError
    from innkeeper.prompt.errors import PipelineError as PipelineError
    from innkeeper.prompt.errors import ProviderError as ProviderError
    from innkeeper.prompt.errors import ReplayError as ReplayError
    from innkeeper.prompt.errors import StrictModeError as StrictModeError
    from innkeeper.prompt.errors import UnavailableError as UnavailableError
    from innkeeper.prompt.errors import UnknownNameError as UnknownNameError
    from innkeeper.prompt.errors import UnsupportedError as UnsupportedError
    from innkeeper.prompt.errors import UsageError as UsageError
    from innkeeper.prompt.errors import Where as Where
    from innkeeper.prompt.machine import fresh_seed as fresh_seed
    from innkeeper.prompt.machine import utc_now as utc_now
    from innkeeper.prompt.message import Message as Message
    from innkeeper.prompt.message import messages_of as messages_of
    from innkeeper.prompt.note import Instrumenter as Instrumenter
    from innkeeper.prompt.note import Note as Note
    from innkeeper.prompt.note import NoteKind as NoteKind
    from innkeeper.prompt.note import Trace as Trace
    from innkeeper.prompt.note import TraceCollector as TraceCollector
    from innkeeper.prompt.note import TraceStep as TraceStep
    from innkeeper.prompt.parts import Attachment as Attachment
    from innkeeper.prompt.payload.dialect import Dialect as Dialect
    from innkeeper.prompt.payload.dialect import Dialects as Dialects
    from innkeeper.prompt.payload.dialect import Payload as Payload
    from innkeeper.prompt.payload.dialect import Tool as Tool
    from innkeeper.prompt.plan import Plan as Plan
    from innkeeper.prompt.request import BuildRequest as BuildRequest
    from innkeeper.prompt.request import ReplayBundle as ReplayBundle
    from innkeeper.prompt.run.context import Context as Context
    from innkeeper.prompt.run.extensions import HookContext as HookContext
    from innkeeper.prompt.run.extensions import HookRegistry as HookRegistry
    from innkeeper.prompt.run.extensions import Injection as Injection
    from innkeeper.prompt.run.extensions import InjectionPosition as InjectionPosition
    from innkeeper.prompt.run.extensions import InjectionRegistry as InjectionRegistry
    from innkeeper.prompt.run.extensions import InMemoryHooks as InMemoryHooks
    from innkeeper.prompt.run.extensions import InMemoryInjections as InMemoryInjections
    from innkeeper.prompt.run.pipeline import NoConfig as NoConfig
    from innkeeper.prompt.run.pipeline import Pipeline as Pipeline
    from innkeeper.prompt.run.pipeline import Step as Step
    from innkeeper.prompt.run.pipeline import StepConfig as StepConfig
    from innkeeper.prompt.run.state import Inputs as Inputs
    from innkeeper.prompt.run.state import PassageSearch as PassageSearch
    from innkeeper.prompt.run.state import Ports as Ports
    from innkeeper.prompt.run.state import Result as Result
    from innkeeper.prompt.run.state import ScratchKey as ScratchKey
    from innkeeper.prompt.run.state import State as State
    from innkeeper.prompt.run.state import TokenCounter as TokenCounter
    from innkeeper.prompt.run.variables import InMemoryVariables as InMemoryVariables
    from innkeeper.prompt.run.variables import StagedVariables as StagedVariables
    from innkeeper.prompt.run.variables import VariablesStore as VariablesStore

_HOMES: Final = {
    "allowance": ("AllowanceError", "BuildLimits"),
    "block": ("Block", "BudgetGroup", "InsertionPoint", "Origin", "OriginAsset", "Piece"),
    "build": ("build",),
    "data": ("FrozenDict", "deep_merge", "freeze", "thaw"),
    "determinism": ("Clock", "Mulberry32", "Randomness"),
    "payload.dialect": ("Dialect", "Dialects", "Payload", "Tool"),
    "errors": (
        "ConfigError",
        "FormatError",
        "InnkeeperError",
        "InputError",
        "LimitError",
        "MaxTokensExceededError",
        "PipelineError",
        "ProviderError",
        "ReplayError",
        "StrictModeError",
        "UnavailableError",
        "UnknownNameError",
        "UnsupportedError",
        "UsageError",
        "Where",
    ),
    "machine": ("fresh_seed", "utc_now"),
    "message": ("Message", "messages_of"),
    "note": ("Instrumenter", "Note", "NoteKind", "Trace", "TraceCollector", "TraceStep"),
    "parts": ("Attachment",),
    "plan": ("Plan",),
    "request": ("BuildRequest", "ReplayBundle"),
    "run.context": ("Context",),
    "run.extensions": (
        "HookContext",
        "HookRegistry",
        "InMemoryHooks",
        "InMemoryInjections",
        "Injection",
        "InjectionPosition",
        "InjectionRegistry",
    ),
    "run.pipeline": ("NoConfig", "Pipeline", "Step", "StepConfig"),
    "run.state": ("Inputs", "PassageSearch", "Ports", "Result", "ScratchKey", "State", "TokenCounter"),
    "run.variables": ("InMemoryVariables", "StagedVariables", "VariablesStore"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
