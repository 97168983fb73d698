"""The table of all operations: paths and shapes as in the reference's appendix A, each with what answers it.

What is not in the table does not exist here (404). Left out by design: what installs code, runs programs, deletes or
overwrites assets, starts and stops services (``api_files``, ``project_manager``, ``web_server``, ``api_gateway/start`` and
``stop``, ``image_binding``, ``styles``, ``data_catalog`` writes, ``data_import`` apart from its list). Other surfaces answer
what calls models (``llm_api``, ``chat_completion``, ``prompt_router``).
"""

from __future__ import annotations

from typing import Final

from innkeeper.service.gateway import asset_operations as assets
from innkeeper.service.gateway import branch_operations as branches
from innkeeper.service.gateway import catalog, custom_macros, system
from innkeeper.service.gateway import prompt_operations as prompts
from innkeeper.service.gateway.operation import Operation, Operations, operation

__all__ = ["OPERATIONS"]

_ROLE: Final = "role*:enum(system user assistant thinking)"
_MESSAGES: Final = f"[{{{_ROLE}, content*:str, source*:obj}}]"
_TABLES: Final = "{initial*:obj, final*:obj}"
_POLICY: Final = "{undefined_get:enum(error empty), error_token:str}"
_VIEW: Final = "placement*:enum(before_macro after_macro), view*:enum(user_view assistant_view)"
_DETAIL: Final = "{file:str, name:str/null, description:str/null, content:obj/arr/null, error:str, message:str}"
_ITEM: Final = "file*:str, name:str/null, description:str/null"
_LIST: Final = f"{{folder*:str, total*:int, items*:[{{{_ITEM}}}], errors:[{{file:str/null, error*:str}}]}}"
_ASSET: Final = "{file:str, mime:str, size:int, content_base64:str, error:str, message:str}"

_CONSTRUCTOR: Final = "modules/smarttavern/in_chat_constructor"
_MACRO: Final = "modules/smarttavern/macro"
_REGEX: Final = "modules/smarttavern/regex_replace"
_NORMALIZER: Final = "modules/smarttavern/assets_normalizer"
_BRANCHES: Final = "modules/smarttavern/chat_branches"
_CATALOG: Final = "modules/smarttavern/data_catalog"

PROMPTS: Final = (
    operation(
        f"{_CONSTRUCTOR}/construct",
        prompts.construct,
        "Insert in-chat prompts and world-book entries into a chat history, each message with its source.",
        "{history*:[obj], presets_in_chat*:arr, world_books*:arr/obj, variables:obj}",
        f"{{messages*:{_MESSAGES}}}",
    ),
    operation(
        "modules/smarttavern/framing_prompt/assemble",
        prompts.assemble,
        "Put relative prompts, descriptions and the books before and after the character around a history.",
        "{history*:arr/obj, world_books:arr/obj, presets_relative:arr, presets_doc:obj, character:obj, persona:obj}",
        f"{{messages*:{_MESSAGES}}}",
    ),
    operation(
        "workflow/smarttavern/prompt_raw/assemble_full",
        prompts.assemble_full,
        "Construct and frame in one: the whole prompt before regular expressions and macros.",
        "{presets*:obj, world_books:arr/obj, history*:arr, character:obj, persona:obj, variables:obj}",
        f"{{messages*:{_MESSAGES}}}",
    ),
    operation(
        "workflow/smarttavern/prompt_postprocess/apply",
        prompts.postprocess,
        "Run regular expressions, macros and regular expressions again over the messages, for one view.",
        "{messages*:[obj], regex_rules*:arr/obj, view*:enum(user_view assistant_view), variables:obj}",
        f"{{message*:[obj], variables*:{_TABLES}}}",
    ),
    operation(
        f"{_REGEX}/apply_messages",
        prompts.apply_messages,
        "Run regular expression rules over messages.",
        f"{{regex_rules*:arr/obj, {_VIEW}, messages*:[obj], variables:obj}}",
        "{message*:[obj]}",
    ),
    operation(
        f"{_REGEX}/apply_text",
        prompts.apply_text,
        "Run regular expression rules over one text.",
        f"{{regex_rules*:arr/obj, {_VIEW}, text*:str, variables:obj}}",
        "{text*:str}",
    ),
)

MACROS: Final = (
    operation(
        f"{_MACRO}/process",
        prompts.process,
        "Expand the macros of messages, one after the other over one table of variables.",
        f"{{messages*:[obj], variables:obj, policy:{_POLICY}}}",
        f"{{messages*:[obj], variables*:{_TABLES}}}",
    ),
    operation(
        f"{_MACRO}/process_text",
        prompts.process_text,
        "Expand the macros of one text.",
        f"{{text*:str, variables:obj, policy:{_POLICY}}}",
        f"{{text*:str, variables*:{_TABLES}}}",
    ),
    operation(
        f"{_MACRO}/process_text_batch",
        prompts.process_text_batch,
        "Expand the macros of texts, each over its own copy of the variables.",
        f"{{texts*:[str], variables:obj, policy:{_POLICY}}}",
        f"{{texts*:[str], variables_list*:[{_TABLES}]}}",
    ),
    operation(
        f"{_MACRO}/register",
        custom_macros.register,
        "Bind macro names to operations of this service that change nothing.",
        "{macros*:[{name*:str, handler_api*:str}]}",
        "{success*:bool, count*:int}",
        "state",
    ),
    operation(
        f"{_MACRO}/list",
        custom_macros.listed,
        "The registered macros and what they stand for.",
        "{}",
        "{success*:bool, items*:obj}",
        "state",
    ),
    operation(
        f"{_MACRO}/clear", custom_macros.clear, "Forget the registered macros.", "{}", "{success*:bool}", "state"
    ),
    operation(
        "modules/smarttavern/python_sandbox/eval",
        prompts.evaluate,
        "Evaluate an expression, or statements that set result, over variables. It reaches nothing else.",
        f"{{code*:str, variables:obj, policy:{_POLICY}}}",
        f"{{success*:bool, result*:str, error*:str/null, variables*:{_TABLES}}}",
    ),
)

ASSETS: Final = (
    operation(
        f"{_NORMALIZER}/normalize",
        assets.normalize,
        "Merge world books and regular expression rules of a preset, books and a character.",
        "{preset*:obj, world_books*:arr/obj, character*:obj, regex_files*:arr/obj}",
        "{preset*:obj, world_book*:arr, character*:obj, merged_regex*:obj, meta:obj}",
    ),
    operation(
        f"{_NORMALIZER}/extract_preset_regex",
        assets.extract_preset_regex,
        "The regular expression rules in a preset.",
        "{preset*:obj}",
        "{regex_rules*:arr, meta:obj}",
    ),
    operation(
        f"{_NORMALIZER}/extract_character_world_book",
        assets.extract_character_world_book,
        "The world-book entries in a character.",
        "{character*:obj}",
        "{entries*:arr, meta:obj}",
    ),
    operation(
        f"{_NORMALIZER}/extract_character_regex",
        assets.extract_character_regex,
        "The regular expression rules in a character.",
        "{character*:obj}",
        "{regex_rules*:arr, meta:obj}",
    ),
    operation(
        f"{_NORMALIZER}/merge_world_books",
        assets.merge_world_books,
        "World books and a character's in one list, none twice.",
        "{world_books*:arr/obj, character_world_book:arr/obj}",
        "{world_book*:arr, meta:obj}",
    ),
    operation(
        f"{_NORMALIZER}/merge_regex",
        assets.merge_regex,
        "Regular expression rules of several origins in one list, none twice.",
        "{independent_regex*:arr/obj, preset_regex:arr/obj, character_regex:arr/obj}",
        "{merged_regex*:obj, meta:obj}",
    ),
    operation(
        "workflow/smarttavern/variables_update/apply",
        branches.update_variables,
        "Change a conversation's variables file.",
        "{file*:str, overrides*:obj, operation:str, options:obj}",
        "{variables*:obj, variables_file:str/null}",
        "writes",
    ),
)


def _look(name: str, description: str, gives: str) -> Operation:
    return operation(f"{_BRANCHES}/{name}", branches.Look(name), description, "{doc:obj, file:str}", gives, "reads")


def _change(name: str, description: str, takes: str, gives: str = "obj") -> Operation:
    shape = f"{{{takes}, doc:obj, file:str}}"
    return operation(f"{_BRANCHES}/{name}", branches.Change(name), description, shape, gives, "writes")


_NODE: Final = "role*:enum(system user assistant), content*:str"
_MODES: Final = "return_mode:enum(doc node path none)"
_SETTINGS: Final = (
    "{type:enum(threaded sandbox), preset:str, character:str, persona:str, regex_rules:[str], world_books:[str], "
    "llm_config:str}"
)

BRANCHES: Final = (
    _look("openai_messages", "The messages of the active path.", "{messages*:[obj], path:[str]}"),
    _look("branch_table", "Which branch of how many is active, level by level.", "{latest*:obj, levels*:[obj]}"),
    _look(
        "get_latest_message",
        "The last message of the active path.",
        "{node_id*:str, role*:str, content*:str, depth*:int}",
    ),
    _change(
        "update_message", "Give a message another text.", "node_id*:str, content*:str, return_mode:enum(doc node none)"
    ),
    _change("truncate_after", "Remove a message and what follows.", "node_id*:str"),
    _change("append_message", "Add a message below another.", f"node_id*:str, pid*:str, {_NODE}, {_MODES}"),
    _change("delete_branch", "Remove a branch.", "node_id*:str, return_mode:enum(doc path none)"),
    _change(
        "retry_branch",
        "Add a sibling beside a message and make it active.",
        f"new_node_id*:str, retry_node_id*:str, {_NODE}, return_mode:enum(doc path none)",
    ),
    _change(
        "retry_user_message",
        "Whether the answer to a user's message is to be retried or made.",
        "user_node_id*:str",
        "{action*:str, assistant_node_id:str, user_node_id*:str, pid:str}",
    ),
    _change("switch_branch", "Make another branch active at the last level.", f"target_j*:int, {_MODES}"),
    operation(
        f"{_BRANCHES}/variables",
        branches.variables,
        "A conversation's variables: read, set, merge, reset.",
        "{action*:enum(get set merge reset), data:obj, file:str, slug:str}",
        "{variables_file*:str, variables*:obj, slug*:str}",
        "writes",
    ),
    operation(
        f"{_BRANCHES}/settings",
        branches.settings,
        "A conversation's settings: read, update.",
        f"{{action*:enum(get update), patch:{_SETTINGS}, file:str, slug:str}}",
        "{settings_file*:str, settings*:obj, slug*:str}",
        "writes",
    ),
)


def _detail(kind: str, folder: str, words: str) -> Operation:
    run = catalog.Detail(folder)
    return operation(f"{_CATALOG}/get_{kind}_detail", run, f"One {words}, read.", "{file*:str}", _DETAIL, "reads")


def _listing(kinds: str, folder: str, words: str) -> Operation:
    run = catalog.Listing(folder)
    return operation(f"{_CATALOG}/list_{kinds}", run, f"The {words} of the data folder.", "{}", _LIST, "reads")


CATALOG: Final = (
    _listing("presets", "presets", "presets"),
    _listing("world_books", "world_books", "world books"),
    _listing("characters", "characters", "characters"),
    _listing("personas", "personas", "personas"),
    _listing("regex_rules", "regex_rules", "regular expression rules"),
    _listing("conversations", "conversations", "conversations"),
    _listing("llm_configs", "llm_configs", "model configurations"),
    _detail("preset", "presets", "preset"),
    _detail("world_book", "world_books", "world book"),
    _detail("character", "characters", "character"),
    _detail("persona", "personas", "persona"),
    _detail("regex_rule", "regex_rules", "file of regular expression rules"),
    _detail("conversation", "conversations", "conversation"),
    _detail("llm_config", "llm_configs", "model configuration, without its keys"),
    operation(
        f"{_CATALOG}/get_data_asset",
        catalog.asset,
        "A file below the data folder, in base64; model configurations are not given.",
        "{file*:str}",
        _ASSET,
        "reads",
    ),
    operation(
        "modules/smarttavern/data_import/get_supported_types",
        catalog.supported_types,
        "The kinds of assets and where they live.",
        "{}",
        "{success*:bool, types*:[{type*:str, dir*:str, main_file*:str}], formats*:[str]}",
    ),
)

GATEWAY: Final = (
    operation(
        "modules/api_gateway/list_apis",
        system.list_apis,
        "All operations with their schemas.",
        "{}",
        "{apis*:[{name*:str, description*:str, path*:str, namespace*:str, input_schema:obj, output_schema:obj}], total:int}",
    ),
    operation(
        "modules/api_gateway/info",
        system.gateway_info,
        "How many operations there are, and what the service allows.",
        "{config_file:str}",
        "{endpoints*:int, middlewares*:int, websocket_connections*:int, config:obj}",
        "state",
    ),
)

OPERATIONS: Final = Operations(*PROMPTS, *MACROS, *ASSETS, *BRANCHES, *CATALOG, *GATEWAY)
"""Everything the gateway answers."""
