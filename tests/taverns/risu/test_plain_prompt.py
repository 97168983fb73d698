"""A prompt is what the plain reading of the rules makes of the same objects."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import Ports
from innkeeper.prompt.errors import MaxTokensExceededError
from innkeeper.taverns.risu import TAVERN
from scripts.parity.risu_prompts import CaseCounter
from tests.taverns.risu.plain_prompt import BASE, ORDER, PlainPrompt, TooLongError

TEXTS = st.sampled_from(["P {{char}}", "", " q ", "N {{user}}\n"])
FRAMES = st.sampled_from(["", "[{{slot}}]", "x {{char}} {{slot}} {{slot}}", "none"])
PLAIN = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["plain", "jailbreak"]),
        "type2": st.sampled_from(["main", "normal", "globalNote"]),
        "text": TEXTS,
        "role": st.sampled_from(["system", "user", "bot"]),
    }
)
FRAMED = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["persona", "description", "authornote"]),
        "innerFormat": FRAMES,
        "defaultText": st.sampled_from(["", "DEF"]),
    }
)
RANGES = st.fixed_dictionaries(
    {
        "type": st.just("chat"),
        "rangeStart": st.sampled_from([0, -1000, -2, -20, 1, 3]),
        "rangeEnd": st.sampled_from(["end", -1, -2, 2, 99]),
        "chatAsOriginalOnSystem": st.booleans(),
    }
)
OTHERS = st.sampled_from(
    [
        {"type": "lorebook"},
        {"type": "postEverything"},
        {"type": "cache", "depth": 2, "role": "all"},
        {"type": "cache", "depth": 1, "role": "user"},
    ]
)
SETTINGS = st.fixed_dictionaries(
    {
        "aiModel": st.sampled_from(["gpt4o", "claude-3-5-sonnet-20241022", "mistral-large-latest", "openrouter"]),
        "jailbreakToggle": st.booleans(),
        "automaticCachePoint": st.booleans(),
        "maxContext": st.sampled_from([8000, 450, 480, 520, 600]),
        "promptSettings": st.fixed_dictionaries({"sendName": st.booleans(), "sendChatAsSystem": st.booleans()}),
    },
    optional={
        "promptTemplate": st.lists(st.one_of(PLAIN, FRAMED, RANGES, RANGES, OTHERS), max_size=7),
        "formatingOrder": st.permutations(ORDER).flatmap(lambda order: st.integers(2, 9).map(lambda n: order[:n])),
    },
)
CHARACTERS = st.fixed_dictionaries(
    {
        "systemPrompt": st.sampled_from(["", "SP {{original}}"]),
        "replaceGlobalNote": st.sampled_from(["", "RG {{original}}", "RG"]),
        "personality": st.sampled_from(["", "calm"]),
    }
)
MESSAGES = st.lists(
    st.tuples(st.sampled_from(["hi {{char}}", "w " * 40, " ", "yo"]), st.sampled_from([None, None, True, "allBefore"])),
    max_size=7,
)
LORE = st.lists(
    st.tuples(
        st.sampled_from(["", "depth", "reverse_depth", "before_desc", "after_desc", "scenario"]),
        st.sampled_from([0, 1, 2, 40]),
        st.sampled_from(["system", "user", "assistant"]),
        st.sampled_from([5, 100]),
        st.sampled_from(["L1 {{char}}", "L2"]),
    ),
    max_size=4,
)
FACTS = ("role", "content", "memo", "cachePoint")


def stored(entry: tuple[str, int, str, int, str]) -> dict[str, Any]:
    """An entry that always fires."""
    position, depth, role, order, text = entry
    place = f"@@{position} {depth}\n" if position.endswith("depth") else f"@@position {position}\n" * bool(position)
    return {"key": "", "content": f"{place}@@role {role}\n{text}", "insertorder": order, "alwaysActive": True}


@given(db=SETTINGS, char=CHARACTERS, messages=MESSAGES, lore=LORE, note=st.sampled_from(["", "NOTE"]))
def test_a_prompt_is_as_a_plain_one(
    db: dict[str, Any], char: dict[str, Any], messages: list[tuple[str, Any]], lore: list[Any], note: str
) -> None:
    """Whatever the template, the settings, the chat and the lore are."""
    chat = {
        "note": note,
        "message": [
            {"role": ("user", "char")[at % 2], "data": text, "chatId": f"c{at}", "disabled": disabled}
            for at, (text, disabled) in enumerate(messages)
        ],
    }
    own = {"database": {**BASE["db"], **db}, "character": {**BASE["char"], **char}, "chat": {**BASE["chat"], **chat}}
    own["character"]["globalLore"] = [stored(entry) for entry in lore]
    try:
        plan = TAVERN.build(
            {"settings": {"risu": own}},
            Ports(token_counter=CaseCounter({})),
            pipeline=TAVERN.pipeline.without("request_flags"),
        )
    except MaxTokensExceededError:
        lines = None
    else:
        lines = [
            (block.role, block.content, block.metadata.get("memo"), bool(block.message_metadata.get("cache_control")))
            for block in plan.enabled_blocks
        ]
    try:
        expected = PlainPrompt(db, char, chat, lore).lines()
    except TooLongError:
        assert lines is None
    else:
        assert lines == [(*(each.get(fact) for fact in FACTS[:3]), each.get("cachePoint", False)) for each in expected]
