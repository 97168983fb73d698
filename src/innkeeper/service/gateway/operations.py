"""The table of all operations: paths and shapes as in the reference's appendix A, each with what answers it.

What is not in the table does not exist here (404). Left out by design: what installs code, runs programs, deletes or
overwrites assets, starts and stops services (``api_files``, ``project_manager``, ``web_server``, ``api_gateway/start`` and
``stop``, ``image_binding``, ``styles``, ``data_catalog`` writes, ``data_import`` apart from its list). Other surfaces answer
what calls models (``llm_api``, ``chat_completion``, ``prompt_router``).

Only containers and single words are checked: texts and entries that the document says are converted or skipped are left to
the engine.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from msgspec import UNSET, Struct, UnsetType

from innkeeper.service.gateway import branch_operations as branches
from innkeeper.service.gateway import catalog, system
from innkeeper.service.gateway import engine as custom_macros
from innkeeper.service.gateway.engine import EngineFunction, construct, evaluate
from innkeeper.service.gateway.operation import GatewayPath, Operations, gives

Object = dict[str, Any]
Objects = list[dict[str, Any]]
Array = list[Any]
Container = list[Any] | dict[str, Any]
View = Literal["user_view", "assistant_view"]
Placement = Literal["before_macro", "after_macro"]
Role = Literal["system", "user", "assistant"]
Modes = Literal["doc", "node", "path", "none"]


class MacroPolicy(Struct):
    """What macros do about variables that are not set."""

    undefined_get: Literal["error", "empty"] | None = None
    error_token: str | None = None


class MacroBinding(Struct):
    """A name, and the operation it is bound to."""

    name: str
    handler_api: str


class BranchSettings(Struct):
    """Settings of a conversation that are to change."""

    type: Literal["threaded", "sandbox"] | None = None
    preset: str | None = None
    character: str | None = None
    persona: str | None = None
    regex_rules: list[str] | None = None
    world_books: list[str] | None = None
    llm_config: str | None = None


class SourcedMessage(Struct):
    """A message of a prompt, and where it came from."""

    role: Literal["system", "user", "assistant", "thinking"]
    content: str
    source: Object


class Tables(Struct):
    """Variables before and after."""

    initial: Object
    final: Object


class Item(Struct):
    """One asset of a list."""

    file: str
    name: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET


class ItemError(Struct):
    """A file of a list that cannot be read."""

    error: str
    file: str | UnsetType | None = UNSET


class AssetKind(Struct):
    """A kind of asset, its folder, and the file that each asset has."""

    type: str
    dir: str
    main_file: str


class Api(Struct):
    """One operation with its schemas."""

    name: str
    description: str
    path: str
    namespace: str
    input_schema: Object | UnsetType = UNSET
    output_schema: Object | UnsetType = UNSET


MESSAGES: Final = gives(messages=list[SourcedMessage])

_CONSTRUCTOR: Final = "modules/smarttavern/in_chat_constructor"
_MACRO: Final = "modules/smarttavern/macro"
_REGEX: Final = "modules/smarttavern/regex_replace"
_NORMALIZER: Final = "modules/smarttavern/assets_normalizer"
_BRANCHES: Final = "modules/smarttavern/chat_branches"
_CATALOG: Final = "modules/smarttavern/data_catalog"

_RULES: Final[dict[str, Any]] = {"regex_rules": Container, "placement": Placement, "view": View}
_EXPANSION: Final[dict[str, Any]] = {"variables": Object | None, "policy": MacroPolicy | None}
_CHAT: Final[dict[str, Any]] = {"doc": Object | None, "file": str | None}
_STORED: Final[dict[str, Any]] = {"file": str | None, "slug": str | None}

_path: Final = GatewayPath.of


def _engine(name: str, words: str, reply: Any, /, **types: Any) -> GatewayPath:
    """A path that a function of the smart tavern, or of its macros, answers under the path's last name."""
    package = "macros" if name.startswith(_MACRO) else "taverns"
    return _path(name, EngineFunction(f"{package}.smart:{name.rpartition('/')[2]}"), words, reply, **types)


PROMPTS: Final = (
    _path(
        f"{_CONSTRUCTOR}/construct",
        construct,
        "Insert in-chat prompts and world-book entries into a chat history, each message with its source.",
        MESSAGES,
        history=Objects,
        presets_in_chat=Array,
        world_books=Container,
        variables=Object | None,
    ),
    _engine(
        "modules/smarttavern/framing_prompt/assemble",
        "Put relative prompts, descriptions and the books before and after the character around a history.",
        MESSAGES,
        history=Container,
        world_books=Container | None,
        presets_relative=Array | None,
        presets_doc=Object | None,
        character=Object | None,
        persona=Object | None,
    ),
    _engine(
        "workflow/smarttavern/prompt_raw/assemble_full",
        "Construct and frame in one: the whole prompt before regular expressions and macros.",
        MESSAGES,
        presets=Object,
        world_books=Container | None,
        history=Array,
        character=Object | None,
        persona=Object | None,
        variables=Object | None,
    ),
    _path(
        "workflow/smarttavern/prompt_postprocess/apply",
        EngineFunction("taverns.smart:postprocess_apply"),
        "Run regular expressions, macros and regular expressions again over the messages, for one view.",
        gives(message=Objects, variables=Tables),
        messages=Objects,
        regex_rules=Container,
        view=View,
        variables=Object | None,
    ),
    _engine(
        f"{_REGEX}/apply_messages",
        "Run regular expression rules over messages.",
        gives(message=Objects),
        **_RULES,
        messages=Objects,
        variables=Object | None,
    ),
    _engine(
        f"{_REGEX}/apply_text",
        "Run regular expression rules over one text.",
        gives(text=str),
        **_RULES,
        text=str,
        variables=Object | None,
    ),
)

MACROS: Final = (
    _engine(
        f"{_MACRO}/process",
        "Expand the macros of messages, one after the other over one table of variables.",
        gives(messages=Objects, variables=Tables),
        messages=Objects,
        **_EXPANSION,
    ),
    _engine(
        f"{_MACRO}/process_text",
        "Expand the macros of one text.",
        gives(text=str, variables=Tables),
        text=str,
        **_EXPANSION,
    ),
    _engine(
        f"{_MACRO}/process_text_batch",
        "Expand the macros of texts, each over its own copy of the variables.",
        gives(texts=list[str], variables_list=list[Tables]),
        texts=list[str],
        **_EXPANSION,
    ),
    _path(
        f"{_MACRO}/register",
        custom_macros.register,
        "Bind macro names to operations of this service that change nothing.",
        gives(success=bool, count=int),
        "state",
        macros=list[MacroBinding],
    ),
    _path(
        f"{_MACRO}/list",
        custom_macros.list_macros,
        "The registered macros and what they stand for.",
        gives(success=bool, items=Object),
        "state",
    ),
    _path(f"{_MACRO}/clear", custom_macros.clear, "Forget the registered macros.", gives(success=bool), "state"),
    _path(
        "modules/smarttavern/python_sandbox/eval",
        evaluate,
        "Evaluate an expression, or statements that set result, over variables. It reaches nothing else.",
        gives(success=bool, result=str, error=str | None, variables=Tables),
        code=str,
        **_EXPANSION,
    ),
)

ASSETS: Final = (
    _engine(
        f"{_NORMALIZER}/normalize",
        "Merge world books and regular expression rules of a preset, books and a character.",
        gives(preset=Object, world_book=Array, character=Object, merged_regex=Object, meta=Object | UnsetType),
        preset=Object,
        world_books=Container,
        character=Object,
        regex_files=Container | None,
    ),
    _engine(
        f"{_NORMALIZER}/extract_preset_regex",
        "The regular expression rules in a preset.",
        gives(regex_rules=Array, meta=Object | UnsetType),
        preset=Object,
    ),
    _engine(
        f"{_NORMALIZER}/extract_character_world_book",
        "The world-book entries in a character.",
        gives(entries=Array, meta=Object | UnsetType),
        character=Object,
    ),
    _engine(
        f"{_NORMALIZER}/extract_character_regex",
        "The regular expression rules in a character.",
        gives(regex_rules=Array, meta=Object | UnsetType),
        character=Object,
    ),
    _engine(
        f"{_NORMALIZER}/merge_world_books",
        "World books and a character's in one list, none twice.",
        gives(world_book=Array, meta=Object | UnsetType),
        world_books=Container,
        character_world_book=Container | None,
    ),
    _engine(
        f"{_NORMALIZER}/merge_regex",
        "Regular expression rules of several origins in one list, none twice.",
        gives(merged_regex=Object, meta=Object | UnsetType),
        independent_regex=Container,
        preset_regex=Container | None,
        character_regex=Container | None,
    ),
    _path(
        "workflow/smarttavern/variables_update/apply",
        branches.update_variables,
        "Change a conversation's variables file.",
        gives(variables=Object, variables_file=str | None),
        "writes",
        file=str,
        overrides=Object,
        operation=str | None,
        options=Object | None,
    ),
)


def _look(name: str, words: str, reply: type[Struct]) -> GatewayPath:
    return _path(f"{_BRANCHES}/{name}", branches.Look(name), words, reply, "reads", **_CHAT)


def _change(name: str, words: str, reply: Any = Object, /, **types: Any) -> GatewayPath:
    return _path(f"{_BRANCHES}/{name}", branches.BranchChange(name), words, reply, "writes", **types, **_CHAT)


BRANCHES: Final = (
    _look("openai_messages", "The messages of the active path.", gives(messages=Objects, path=list[str] | UnsetType)),
    _look("branch_table", "Which branch of how many is active, level by level.", gives(latest=Object, levels=Objects)),
    _look(
        "get_latest_message",
        "The last message of the active path.",
        gives(node_id=str, role=str, content=str, depth=int),
    ),
    _change(
        "update_message",
        "Give a message another text.",
        node_id=str,
        content=str,
        return_mode=Literal["doc", "node", "none"] | None,
    ),
    _change("truncate_after", "Remove a message and what follows.", node_id=str),
    _change(
        "append_message",
        "Add a message below another.",
        node_id=str,
        pid=str,
        role=Role,
        content=str,
        return_mode=Modes | None,
    ),
    _change("delete_branch", "Remove a branch.", node_id=str, return_mode=Literal["doc", "path", "none"] | None),
    _change(
        "retry_branch",
        "Add a sibling beside a message and make it active.",
        new_node_id=str,
        retry_node_id=str,
        role=Role,
        content=str,
        return_mode=Literal["doc", "path", "none"] | None,
    ),
    _change(
        "retry_user_message",
        "Whether the answer to a user's message is to be retried or made.",
        gives(action=str, assistant_node_id=str | UnsetType, user_node_id=str, pid=str | UnsetType),
        user_node_id=str,
    ),
    _change("switch_branch", "Make another branch active at the last level.", target_j=int, return_mode=Modes | None),
    _path(
        f"{_BRANCHES}/variables",
        branches.variables,
        "A conversation's variables: read, set, merge, reset.",
        gives(variables_file=str, variables=Object, slug=str),
        "writes",
        action=Literal["get", "set", "merge", "reset"],
        data=Object | None,
        **_STORED,
    ),
    _path(
        f"{_BRANCHES}/settings",
        branches.settings,
        "A conversation's settings: read, update.",
        gives(settings_file=str, settings=Object, slug=str),
        "writes",
        action=Literal["get", "update"],
        patch=BranchSettings | None,
        **_STORED,
    ),
)

_LIST: Final = gives(folder=str, total=int, items=list[Item], errors=list[ItemError] | UnsetType)
_DETAIL: Final = gives(
    file=str | UnsetType,
    name=str | UnsetType | None,
    description=str | UnsetType | None,
    content=Container | UnsetType | None,
    error=str | UnsetType,
    message=str | UnsetType,
)


_FOLDERS: Final = (
    ("presets", "presets", "preset", "preset"),
    ("world_books", "world books", "world_book", "world book"),
    ("characters", "characters", "character", "character"),
    ("personas", "personas", "persona", "persona"),
    ("regex_rules", "regular expression rules", "regex_rule", "file of regular expression rules"),
    ("conversations", "conversations", "conversation", "conversation"),
    ("llm_configs", "model configurations", "llm_config", "model configuration, without its keys"),
)
"""Folders of the data folder: each with what its list and one of its assets are called."""

_LISTS: Final = (
    _path(f"{_CATALOG}/list_{folder}", catalog.Listing(folder), f"The {words} of the data folder.", _LIST, "reads")
    for folder, words, _, _ in _FOLDERS
)
_DETAILS: Final = (
    _path(f"{_CATALOG}/get_{kind}_detail", catalog.Detail(folder), f"One {words}, read.", _DETAIL, "reads", file=str)
    for folder, _, kind, words in _FOLDERS
)

CATALOG: Final = (
    *_LISTS,
    *_DETAILS,
    _path(
        f"{_CATALOG}/get_node_detail",
        catalog.node,
        "One message of a conversation.",
        gives(
            success=bool,
            file=str | UnsetType,
            node_id=str | UnsetType,
            node=Object | UnsetType | None,
            error=str | UnsetType,
            message=str | UnsetType,
        ),
        "reads",
        file=str,
        node_id=str,
    ),
    _path(
        f"{_CATALOG}/get_data_asset",
        catalog.asset,
        "A file below the data folder, in base64; model configurations are not given.",
        gives(
            file=str | UnsetType,
            mime=str | UnsetType,
            size=int | UnsetType,
            content_base64=str | UnsetType,
            error=str | UnsetType,
            message=str | UnsetType,
        ),
        "reads",
        file=str,
    ),
    _path(
        "modules/smarttavern/data_import/get_supported_types",
        catalog.supported_types,
        "The kinds of assets and where they live.",
        gives(success=bool, types=list[AssetKind], formats=list[str]),
    ),
)

GATEWAY: Final = (
    _path(
        "modules/api_gateway/list_apis",
        system.list_apis,
        "All operations with their schemas.",
        gives(apis=list[Api], total=int | UnsetType),
    ),
    _path(
        "modules/api_gateway/info",
        system.gateway_info,
        "How many operations there are, and what the service allows.",
        gives(endpoints=int, middlewares=int, websocket_connections=int, config=Object | UnsetType),
        "state",
        config_file=str | None,
    ),
)

OPERATIONS: Final = Operations(*PROMPTS, *MACROS, *ASSETS, *BRANCHES, *CATALOG, *GATEWAY)
"""Everything the gateway answers."""
