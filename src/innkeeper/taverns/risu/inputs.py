"""RisuInputs: what the steps of a build work with, read from the request once.

The request's assets become the objects RisuAI would keep of them. ``settings.risu`` may bring RisuAI's own objects besides,
field by field over these: ``database`` (its settings), ``character``, ``chat``, and for groups ``members`` and ``speaker``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from innkeeper.budget.settings import CounterChoice
from innkeeper.content.entry import LorePosition, Spelling
from innkeeper.content.lorebook import Lorebook
from innkeeper.macros.cbs import CbsScope, default_variables
from innkeeper.macros.engine.errors import MacroLimitError
from innkeeper.prompt import Note, NoteKind, State
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import thaw
from innkeeper.prompt.errors import Where
from innkeeper.prompt.payload.dialect import reply_limit
from innkeeper.taverns.assets import Assets, assets_of, raw_of
from innkeeper.taverns.inputs import note_unread
from innkeeper.taverns.risu.imports import (
    file_kind,
    imported_preset,
    is_risu_preset,
    lore_settings,
    whole_preset,
)
from innkeeper.taverns.risu.line import RisuMessage, read_messages
from innkeeper.taverns.risu.lore.entry import LoreEntry, book_entries, stored_entries
from innkeeper.taverns.risu.people import people_of
from innkeeper.taverns.risu.request_flags import model_of, name_in_risu
from innkeeper.taverns.risu.scripts import CbsExpander, RewrittenText, ScriptRunner, read_scripts
from innkeeper.taverns.risu.stored import (
    Card,
    PromptSettings,
    RisuCompat,
    RisuSettings,
    StoredCharacter,
    StoredChat,
    compat_of,
    module_list,
    read_stored,
    stored_names,
    stored_object,
)
from innkeeper.taverns.risu.triggers.state import Trigger, read_triggers

_LARGEST: Final = {"gpt35": 4_000, "gpt35_16k": 16_000, "gpt4": 8_000, "deepai": 3_000}
"""Windows of old models, in tokens, whatever the settings say."""

_USUAL_WINDOW: Final = 4000
"""The window that macros read where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RisuInputs(CounterChoice):
    """The inputs of the steps.

    ``character`` is who answers, ``group`` the group it is of. ``messages`` are shown ones: cut off where the chat is.
    ``greeting`` is the one that the chat brings, None where the card's is to be used. ``notes`` are those of the scripts, and
    ``rewrites`` the texts that these want messages to have, by the messages' ids.
    ``limits_reply`` says that somebody has said how long a reply may be.
    """

    db: RisuSettings
    prompts: PromptSettings
    template: tuple[Card, ...]
    character: StoredCharacter
    group: StoredCharacter | None
    chat: StoredChat
    compat: RisuCompat
    expand: CbsExpander
    entries: tuple[LoreEntry, ...]
    modules: Sequence[Mapping[str, Any]]
    all_messages: Sequence[RisuMessage]
    messages: Sequence[RisuMessage]
    is_cut: bool
    greeting: str | None
    speaker_names: Mapping[str, str]
    variables: MutableMapping[str, Any]
    generation: str
    limits_reply: bool
    scripts: ScriptRunner
    triggers: tuple[Trigger, ...]
    notes: list[Note]
    rewrites: dict[str, str]

    @property
    def name(self) -> str:
        """The name of who answers."""
        return self.character.nickname or self.character.name

    def edit(self, text: str, index: int, role: str, mode: str = "editprocess") -> RewrittenText:
        """What the scripts of a mode make of a text: a message of this index, or the greeting (-1)."""
        if not self.has_scripts(mode):
            return RewrittenText(text)
        scope = msgspec.structs.replace(
            self.expand.scope, chat_index=index, role=role, chat_role=role, is_first_message=index < 0
        )
        try:
            return self.scripts.run(text, mode, scope)
        except MacroLimitError as error:
            self.notes.append(Note(NoteKind.LIMIT, error.message))
            return RewrittenText(text)

    def has_scripts(self, mode: str) -> bool:
        """Whether scripts of a mode are run."""
        return any(script.mode == mode for script in self.scripts.scripts)

    @property
    def model(self) -> str:
        """The model, by RisuAI's name."""
        return self.db.ai_model


def read_inputs(state: State) -> RisuInputs:
    """The inputs of a build. Raises the errors of the readers of its assets."""
    request, assets = state.request, assets_of(state)
    compat = compat_of(request.profile)
    own = request.settings.get("risu")
    own = thaw(own) if isinstance(own, Mapping) else {}
    for part, unread_names in _WITHOUT_EFFECT.items():
        if unread := [f"risu.{part}.{name}" for name in unread_names if stored_object(own, part).get(name)]:
            note_unread(state, "settings", unread, "the risu tavern has nothing that does it")
    fields = _database(state, assets, own)
    db = read_stored(RisuSettings, fields)
    if db.max_context > (largest := _LARGEST.get(db.ai_model, db.max_context)):
        db = msgspec.structs.replace(db, max_context=largest)
    group, character, names = people_of(state, assets, own)
    chat = read_stored(StoredChat, _chat(state, assets, own))
    stored_messages = chat.message if "message" in stored_object(own, "chat") else None
    messages, greeting = read_messages(state, stored_messages, names)
    stored = {name.removeprefix("$"): value for name, value in chat.scriptstate.items()}
    variables = {**stored, **state.variables.to_dict().get("local", {})}
    modules = module_list(db, chat.modules, character.modules)
    entries = _entries(state, assets, own, group or character, chat, modules)
    cuts = [isinstance(each, Mapping) and each.get("disabled") == "allBefore" for each in chat.message]
    cut = max((index for index, is_cut in enumerate(cuts) if is_cut), default=-1)
    scope = _scope(state, db, character, chat)
    scope = msgspec.structs.replace(
        scope,
        greeting=character.greeting(chat.fm_index) if greeting is None else greeting,
        lorebook=lambda: [each.stored for each in entries],
        messages=[message.stored for message in messages],
        modules={
            str(module["namespace"]): names_of(module.get("assets")) for module in modules if module.get("namespace")
        },
        compat=compat.macros,
    )
    lists = [db.preset_regex, (group or character).customscript, *(module.get("regex") for module in modules)]
    scripts = read_scripts(*([item for item in each or () if isinstance(item, Mapping)] for each in lists))
    notes: list[Note] = []
    known, asked = model_of(db.ai_model), request.model or ""
    return RisuInputs(
        model_hint=known.internal if known and not asked.startswith(f"{db.ai_model}:") else None,
        db=db,
        prompts=_prompt_settings(db),
        template=_template(db, character),
        character=character,
        group=group,
        chat=chat,
        compat=compat,
        expand=CbsExpander(scope, variables, lambda note: state.warn(note, kind=NoteKind.MACRO)),
        entries=entries,
        modules=modules,
        all_messages=messages,
        messages=messages[cut + 1 :],
        is_cut=cut >= 0,
        greeting=greeting,
        speaker_names=names,
        variables=variables,
        generation=request.generation,
        limits_reply="maxResponse" in fields,
        scripts=ScriptRunner(scripts, notes.append),
        triggers=(
            *read_triggers(character.triggerscript, low_level=character.low_level_access),
            *(
                trigger
                for module in modules
                for trigger in read_triggers(module.get("trigger") or (), low_level=bool(module.get("lowLevelAccess")))
            ),
        ),
        notes=notes,
        rewrites={},
    )


_WITHOUT_EFFECT: Final[Mapping[str, tuple[str, ...]]] = {
    "database": ("presetChain",),
    "chat": ("hypaV2Data", "hypaV3Data"),
}
"""Parts of RisuAI's own objects that a prompt of its would depend on, and none here does."""


def _database(state: State, assets: Assets, own: Mapping[str, Any]) -> dict[str, Any]:
    request = state.request
    raw = raw_of(request.preset)
    fields: dict[str, Any] = {}
    if is_risu_preset(raw):
        fields = whole_preset(raw)
        if "maxContext" not in raw:
            del fields["maxContext"]  # the window is the model's own, as in the other taverns
        if unread := sorted(fields.keys() - stored_names(RisuSettings) - {"name"}):
            note_unread(state, "preset", unread, "no prompt of the risu tavern depends on it")
    elif assets.preset is not None:
        fields = imported_preset(assets.preset)
        if file_kind(raw) in ("STINST", "STCONTEXT"):
            message = "the preset has no prompts: RisuAI makes a template for text completion of such a file"
            state.warn(message, where=Where(asset="preset"))
        if assets.preset.assistant_prefill and not (request.model or "").startswith("claude"):
            note_unread(state, "preset", ["assistant_prefill"], "RisuAI begins replies for models of Claude alone")
    if assets.user is not None:
        fields |= {"username": assets.persona.name, "personaPrompt": assets.persona.persona_text}
    fields |= {"aiModel": name_in_risu(request.model)} if request.model else {}
    fields |= {"maxContext": request.context_window} if request.context_window is not None else {}
    asked = max(request.reserved_tokens or 0, reply_limit(request.options))
    fields |= {"maxResponse": asked} if asked or request.reserved_tokens is not None else {}
    fields |= stored_object(own, "database")
    bound = stored_object(own, "chat").get("bindedPersona")
    for persona in fields.get("personas") or () if bound else ():
        if isinstance(persona, Mapping) and persona.get("id") == bound:
            fields |= {"username": persona.get("name"), "personaPrompt": persona.get("personaPrompt")}
    shared = {**stored_object(fields, "globalChatVariables"), **state.variables.to_dict().get("global", {})}
    return {**fields, "globalChatVariables": shared}


def _chat(state: State, assets: Assets, own: Mapping[str, Any]) -> dict[str, Any]:
    number, greetings = state.request.greeting, () if assets.character is None else assets.character.greetings()
    if number is not None and not 0 <= number < max(len(greetings), 1):
        state.warn(f"there is no greeting {number}; the card has {len(greetings)}")
        number = 0
    note = assets.note_fields
    if isinstance(note, Mapping) and (unread := sorted(note.keys() - {"text"})):
        note_unread(state, "authors_note", unread, "the note stands where the template or the order has it")
    if state.request.authors_note is not None and not assets.note.text:
        message = "authors_note has no effect: it has no text"
        state.note(NoteKind.IGNORED, message, data={"input": "authors_note"})
    fields: dict[str, Any] = {"note": assets.note.text, "fmIndex": -1 if number is None else number - 1}
    return fields | stored_object(own, "chat")


def _note_entries(state: State, asset: str, path: str, book: Lorebook, *, settings: bool) -> None:
    """Note fields of entries that count in some values alone, and the settings of a book that do not hold."""
    names = ("scan_depth", "token_budget", "recursive_scanning")
    if not settings and (unread := [f"{path}{name}" for name in names if getattr(book, name) is not None]):
        note_unread(state, asset, unread, "settings of lore are those of a card's book that has all three")
    for field, why in _unread_fields(book):
        note_unread(state, asset, [f"{path}entries.{field}"], why)


def _unread_fields(book: Lorebook) -> tuple[tuple[str, str], ...]:
    """The fields of its entries that count in some values alone, where one has another, and why; looked for once a book."""
    known = _UNREAD.get(id(book))
    if known is not None:
        return known
    entries = [entry for entry in book.entries if entry.spelling is not Spelling.RISU]
    unread = []
    if any(
        entry.position is not LorePosition.AT_DEPTH and ("position" in entry.raw or "position" in entry.extensions)
        for entry in entries
    ):
        unread.append(("position", "an entry without a depth stands where the lorebook does"))
    if any(entry.use_regex and not (entry.keys and entry.keys[0].startswith("/")) for entry in entries):
        unread.append(("use_regex", "RisuAI takes /…/ alone for a regular expression"))
    return _UNREAD.put(id(book), tuple(unread), 0, alive=book)


_UNREAD: Final[BoundedCache[int, tuple[tuple[str, str], ...]]] = BoundedCache(items=64)


def _entries(
    state: State,
    assets: Assets,
    own: Mapping[str, Any],
    owner: StoredCharacter,
    chat: StoredChat,
    modules: Sequence[Mapping[str, Any]],
) -> tuple[LoreEntry, ...]:
    """The entries: the character's (or group's), the chat's, those of modules, those of other books of the request."""
    lists: list[Iterable[LoreEntry]] = [stored_entries(owner.global_lore, owner.name)]
    card = assets.character
    if card is not None and card.book is not None and "globalLore" not in stored_object(own, "character"):
        lists.append(book_entries(card.book, card.book.name or f"{card.name}'s Lorebook"))
        _note_entries(state, "character", "book.", card.book, settings=bool(lore_settings(card.book)))
    lists.append(stored_entries(chat.local_lore, "chat"))
    lists += (stored_entries(module.get("lorebook"), str(module.get("name") or "module")) for module in modules)
    for book in assets.books:
        lists.append(book_entries(book.lorebook, book.name))
        _note_entries(state, "lorebooks", "", book.lorebook, settings=False)
    full = [entries for each in lists if (entries := tuple(each))]
    return full[0] if len(full) == 1 else tuple(entry for entries in full for entry in entries)


_UTILITY: Final = tuple(
    Card(type=kind.partition(" ")[0], type2=kind.partition(" ")[2])
    for kind in ("plain main", "description", "lorebook", "chat", "plain globalNote")
)


def _template(db: RisuSettings, character: StoredCharacter) -> tuple[Card, ...]:
    """The cards, with one for what stands behind all else; none where the order of sections counts."""
    cards = [read_stored(Card, item) for item in db.prompt_template or () if isinstance(item, Mapping)]
    if character.utility_bot and not _prompt_settings(db).util_override:
        cards = [*_UTILITY]
    elif db.prompt_template is None:
        return ()
    if not any(card.type == "postEverything" for card in cards):
        cards.append(Card(type="postEverything"))
    return tuple(cards)


def _prompt_settings(db: RisuSettings) -> PromptSettings:
    """The settings of the template; without one, most of them do not hold."""
    settings = read_stored(PromptSettings, db.prompt_settings)
    if db.prompt_template is not None:
        return settings
    depth, trims = settings.max_thought_tag_depth, settings.trim_start_new_chat
    return PromptSettings(max_thought_tag_depth=depth, trim_start_new_chat=trims)


def _scope(state: State, db: RisuSettings, character: StoredCharacter, chat: StoredChat) -> CbsScope:
    """The scope of macros as far as the stored objects decide it."""
    return CbsScope(
        char=character.nickname or character.name,
        user=db.username,
        description=character.desc,
        personality=character.personality,
        scenario=character.scenario,
        example_messages=character.example_message,
        persona=db.persona_prompt,
        main_prompt=db.main_prompt,
        jailbreak=db.jailbreak,
        global_note=db.global_note,
        greeting_index=chat.fm_index,
        character_id=character.cha_id,
        chat_id=chat.id,
        defaults=default_variables(character.default_variables, db.template_default_variables),
        global_variables=db.global_chat_variables,
        model=db.ai_model,
        metadata={} if (known := model_of(db.ai_model)) is None else {"modelinternalid": known.internal},
        sub_model=db.sub_model,
        jailbreak_on=db.jailbreak_toggle,
        max_context=db.max_context or _USUAL_WINDOW,
        emotions=names_of(character.emotion_images),
        assets=names_of(character.additional_assets),
        display_assets=character.display_assets,
        clock=state.inputs.clock,
        random=state.inputs.random.stream("risu"),
    )


def names_of(assets: Any) -> list[str]:
    """The names of a list of assets, each with its name first."""
    return [str(item[0]) for item in assets or () if isinstance(item, list) and item]
