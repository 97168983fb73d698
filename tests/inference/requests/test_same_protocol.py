"""Same protocol in and out is lossless: what a request says is what a provider of its own protocol is sent."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.dialects import DIALECTS
from innkeeper.dialects.providers.anthropic import MAX_CACHE_MARKS
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.requests.chat import read_chat
from innkeeper.inference.requests.messages import read_messages
from innkeeper.inference.requests.request import GenerationRequest, UnknownReferenceError, provider_request
from innkeeper.inference.requests.responses import read_responses
from innkeeper.inference.routing.route import Route
from innkeeper.prompt.message import messages_of

PIXEL = "iVBORw0KGgo="
Body = dict[str, Any]


def sent(
    read: Callable[[Mapping[str, Any]], GenerationRequest], body: Body, dialect: str | None = None
) -> tuple[Body, list[str]]:
    """What a request becomes at a provider of its own protocol, or of a dialect, and the notes."""
    asked = read(body)
    adapter = ADAPTERS[asked.surface if dialect is None else _ADAPTER[dialect]]
    made = provider_request(
        asked, Route(name="r", model=body["model"], adapter=adapter.name, dialect=dialect or ""), adapter
    )
    return made.body, [note.message for note in made.notes]


_ADAPTER = {
    "openai": "openai-chat",
    "responses": "openai-responses",
    "anthropic": "anthropic-messages",
    "gemini": "gemini-generateContent",
}

words = st.text("abc xyz", min_size=1, max_size=8).map(lambda text: f"w{text}w")
marks = st.sampled_from(
    [{}, {}, {}, {"cache_control": {"type": "ephemeral"}}, {"cache_control": {"type": "ephemeral", "ttl": "1h"}}]
)


def joined(*mappings: st.SearchStrategy[Body]) -> st.SearchStrategy[Body]:
    """One mapping of several."""
    return st.tuples(*mappings).map(lambda each: {name: value for it in each for name, value in it.items()})


def fixed(**fields: Any) -> st.SearchStrategy[Body]:
    """A mapping of values and strategies."""
    return st.fixed_dictionaries(
        {name: it if isinstance(it, st.SearchStrategy) else st.just(it) for name, it in fields.items()}
    )


# --------------------------------------------------------------------------------------------------------------- Anthropic

image = fixed(
    type="image",
    source=st.sampled_from(
        [
            {"type": "base64", "media_type": "image/png", "data": PIXEL},
            {"type": "url", "url": "https://x/y.png"},
            {"type": "file", "file_id": "file_1"},
        ]
    ),
)
document = joined(
    fixed(
        type="document",
        source=st.sampled_from(
            [
                {"type": "text", "media_type": "text/plain", "data": "words"},
                {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"},
                {"type": "content", "content": [{"type": "text", "text": "inside"}]},
            ]
        ),
    ),
    st.sampled_from(
        [{}, {"citations": {"enabled": True}}, {"title": "T", "context": "C", "citations": {"enabled": True}}]
    ),
)
text_block = fixed(type="text", text=words)
user_block = joined(
    st.one_of(
        text_block,
        image,
        document,
        fixed(type="search_result", source="s", title="t", content=st.just([{"type": "text", "text": "x"}])),
    ),
    marks,
)
thought = st.one_of(
    fixed(type="thinking", thinking=st.sampled_from(["", "hm", "so"]), signature=words),
    fixed(type="redacted_thinking", data=words),
)
spoken = st.one_of(
    thought,
    joined(text_block, marks),
    joined(text_block, fixed(citations=st.just([{"type": "char_location", "cited_text": "x"}]))),
    fixed(type="server_tool_use", id="srvtoolu_1", name="web_search", input=st.just({"query": "x"})),
)
result_content = st.one_of(words, st.lists(joined(st.one_of(text_block, image), marks), min_size=1, max_size=3))
anthropic_tool = st.one_of(
    joined(
        fixed(
            name="look",
            description="See",
            input_schema=st.just({"type": "object", "properties": {"a": {"type": "string"}}}),
        ),
        marks,
        st.sampled_from(
            [
                {},
                {"strict": True},
                {"defer_loading": True},
                {"input_examples": [{"a": "b"}]},
                {"eager_input_streaming": True},
            ]
        ),
    ),
    joined(fixed(type="web_search_20250305", name="web_search"), marks),
)
anthropic_top = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.just(0),
        "top_k": st.just(3),
        "stop_sequences": st.just(["END"]),
        "metadata": st.just({"user_id": "u"}),
        "thinking": st.just({"type": "enabled", "budget_tokens": 1024}),
        "service_tier": st.just("auto"),
        "container": st.just("c1"),
        "context_management": st.just({"edits": []}),
        "mcp_servers": st.just([{"type": "url", "url": "https://m", "name": "m"}]),
        "output_config": st.just({"effort": "high", "format": {"type": "json_schema", "schema": {}}, "task_budget": 7}),
        "system": st.one_of(words, st.lists(joined(text_block, marks), min_size=1, max_size=3)),
    },
)


@st.composite
def anthropic_bodies(draw: st.DrawFn) -> Body:
    """Requests of Anthropic's messages, as their API takes them."""
    messages: list[Body] = []
    for turn in range(draw(st.integers(1, 3))):
        said = draw(st.one_of(words, st.lists(user_block, min_size=1, max_size=4)))
        opened = [{"role": "user", "content": said}]
        if messages and messages[-1]["content"][-1].get("type") == "tool_use":
            calls = [block for block in messages[-1]["content"] if block["type"] == "tool_use"]
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": call["id"],
                    "content": draw(result_content),
                    **draw(st.sampled_from([{}, {"is_error": True}])),
                    **draw(marks),
                }
                for call in calls
            ]
            opened = [{"role": "user", "content": results + ([] if isinstance(said, str) else said)}]
        blocks = draw(st.lists(spoken, max_size=3))
        blocks += [
            {"type": "tool_use", "id": f"toolu_{turn}{at}", "name": "look", "input": {"a": "b"}, **draw(marks)}
            for at in range(draw(st.integers(0, 2)))
        ]
        messages += [*opened, {"role": "assistant", "content": blocks or [{"type": "text", "text": "w"}]}]
    end = messages[-1]["content"]
    messages += [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": block["id"], "content": "r"}
                for block in end
                if block["type"] == "tool_use"
            ]
            or "go on",
        }
    ]
    tools = draw(st.lists(anthropic_tool, max_size=3, unique_by=lambda tool: tool["name"]))
    more = (
        {
            "tools": tools,
            "tool_choice": draw(
                st.sampled_from([{"type": "auto"}, {"type": "any", "disable_parallel_tool_use": True}])
            ),
        }
        if tools
        else {}
    )
    return {"model": "m", "max_tokens": 9, "messages": messages, **more, **draw(anthropic_top)}


def blocks_of(content: Any) -> Any:
    """Content as blocks, those of results too."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [
        {**block, "content": blocks_of(block["content"])} if block["type"] == "tool_result" else block
        for block in content
    ]


def anthropic_form(body: Body) -> Body:
    """The one form of bodies that say the same."""
    messages = [{**message, "content": blocks_of(message["content"])} for message in body["messages"]]
    return {**body, "messages": messages, **({"system": blocks_of(body["system"])} if "system" in body else {})}


@given(anthropic_bodies())
def test_messages_in_are_messages_out(body: Body) -> None:
    """Anthropic's requests: order, marks, citations, thoughts, ids, tools and all fields; surplus cache marks are notes."""
    made, notes = sent(read_messages, body)
    if json.dumps(body).count('"cache_control"') <= MAX_CACHE_MARKS:
        assert anthropic_form(made) == anthropic_form(body)
    else:
        assert any("cache mark" in note for note in notes)


# ------------------------------------------------------------------------------------------------------------------- OpenAI

picture = fixed(
    type="image_url",
    image_url=st.sampled_from([{"url": "https://x/y.png", "detail": "low"}, {"url": f"data:image/png;base64,{PIXEL}"}]),
)
chat_part = st.one_of(
    text_block,
    picture,
    fixed(type="file", file=st.just({"file_id": "file_1"})),
    fixed(type="input_audio", input_audio=st.just({"data": "UklGRg==", "format": "wav"})),
)
chat_tool = st.one_of(
    fixed(
        type="function",
        function=st.sampled_from(
            [
                {
                    "name": "look",
                    "description": "See",
                    "parameters": {"type": "object", "properties": {"a": {}}},
                    "strict": True,
                },
                {"name": "look", "parameters": {"type": "object", "properties": {"a": {}}}},
            ]
        ),
    ),
    fixed(type="custom", custom=st.just({"name": "raw"})),
)
chat_top = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.just(0),
        "seed": st.just(1),
        "stop": st.just(["END"]),
        "metadata": st.just({"a": "b"}),
        "store": st.just(True),
        "user": st.just("u"),
        "service_tier": st.just("flex"),
        "verbosity": st.just("low"),
        "reasoning_effort": st.just("low"),
        "logit_bias": st.just({"5": 1}),
        "prediction": st.just({"type": "content", "content": "x"}),
        "prompt_cache_key": st.just("k"),
        "response_format": st.just({"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": True}}),
        "modalities": st.just(["text"]),
        "web_search_options": st.just({}),
        "a_new_field": st.just({"x": [1]}),
        "stream_options": st.just({"include_obfuscation": False}),
    },
)


@st.composite
def chat_bodies(draw: st.DrawFn) -> Body:
    """Chat completions, as OpenAI's API takes them."""
    system = draw(st.one_of(words, st.lists(text_block, min_size=1, max_size=3)))
    messages: list[Body] = [{"role": "system", "content": system}]
    for turn in range(draw(st.integers(1, 3))):
        named = draw(st.sampled_from([{}, {"name": "Ann"}]))
        messages.append(
            {"role": "user", "content": draw(st.one_of(words, st.lists(chat_part, min_size=1, max_size=4))), **named}
        )
        calls = [
            {"id": f"call_{turn}{at}", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}
            for at in range(draw(st.integers(0, 2)))
        ]
        answer = draw(st.one_of(words, st.lists(text_block, min_size=1, max_size=3)))
        messages.append(
            {
                "role": "assistant",
                "content": answer,
                **({"tool_calls": calls} if calls else {}),
                **draw(st.sampled_from([{}, {"refusal": "no"}])),
            }
        )
        messages += [
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": draw(st.one_of(words, st.lists(text_block, min_size=1, max_size=2))),
            }
            for call in calls
        ]
    messages.append({"role": "user", "content": "go on"})
    tools = draw(st.lists(chat_tool, max_size=2, unique_by=lambda tool: tool["type"]))
    chosen = draw(
        st.sampled_from(["auto", "required", {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}])
    )
    more = {"tools": tools, "tool_choice": chosen, "parallel_tool_calls": False} if tools else {}
    return {"model": "m", "messages": messages, **more, **draw(chat_top)}


def openai_form(body: Body) -> Body:
    """The one form of chats that say the same: a text is a list of one."""
    return {**body, "messages": [{**message, "content": blocks_of(message["content"])} for message in body["messages"]]}


@given(chat_bodies())
def test_chats_in_are_chats_out(body: Body) -> None:
    """OpenAI's chats: the order of parts, names, calls, tools, and all fields."""
    made, notes = sent(read_chat, body)
    assert (openai_form(made), notes) == (openai_form(body), [])


response_part = st.one_of(
    fixed(type="input_text", text=words),
    fixed(type="input_image", image_url="https://x/y.png", detail="low"),
    fixed(type="input_file", file_id="file_1"),
    fixed(type="input_file", filename="a.pdf", file_data="data:application/pdf;base64,JVBERi0x"),
)
output_text = joined(
    fixed(type="output_text", text=words),
    st.sampled_from([{"annotations": []}, {"annotations": [{"type": "url_citation", "url": "https://x"}]}]),
)
responses_tool = st.one_of(
    joined(
        fixed(type="function", name="look", parameters=st.just({"type": "object", "properties": {"a": {}}})),
        st.sampled_from([{"strict": True}, {"strict": False, "defer_loading": True}]),
    ),
    fixed(type="web_search", filters=st.just({"allowed_domains": ["x"]})),
)
responses_top = st.fixed_dictionaries(
    {},
    optional={
        "instructions": words,
        "temperature": st.just(0),
        "max_output_tokens": st.just(9),
        "user": st.just("u"),
        "store": st.booleans(),
        "reasoning": st.just({"effort": "low", "summary": "auto", "generate_summary": "x"}),
        "include": st.just(["reasoning.encrypted_content"]),
        "text": st.just({"verbosity": "low", "format": {"type": "text"}, "more": 1}),
        "metadata": st.just({"a": "b"}),
        "truncation": st.just("auto"),
        "prompt": st.just({"id": "pmpt_1"}),
        "conversation": st.just("conv_1"),
        "service_tier": st.just("flex"),
        "prompt_cache_key": st.just("k"),
        "max_tool_calls": st.just(2),
        "stream_options": st.just({"include_obfuscation": False}),
    },
)


@st.composite
def responses_bodies(draw: st.DrawFn) -> Body:
    """Requests of Responses, as OpenAI's API takes them."""
    items: list[Body] = draw(st.sampled_from([[], [{"role": "system", "content": "Be brief."}]]))
    items = [*items]
    for turn in range(draw(st.integers(1, 3))):
        items.append(
            {"role": "user", "content": draw(st.one_of(words, st.lists(response_part, min_size=1, max_size=4)))}
        )
        if draw(st.booleans()):
            items.append(
                {
                    "type": "reasoning",
                    "id": f"rs_{turn}",
                    "summary": [{"type": "summary_text", "text": "s"}],
                    **draw(st.sampled_from([{}, {"encrypted_content": "e"}])),
                }
            )
        if draw(st.booleans()):
            items.append(
                {
                    "type": "web_search_call",
                    "id": f"ws_{turn}",
                    "status": "completed",
                    "action": {"type": "search", "query": "x"},
                }
            )
        items.append(
            {
                "type": "message",
                "id": f"msg_{turn}",
                "status": "completed",
                "role": "assistant",
                "content": draw(st.lists(output_text, min_size=1, max_size=2)),
            }
        )
        for at in range(draw(st.integers(0, 2))):
            items.append(
                {
                    "type": "function_call",
                    "id": f"fc_{turn}{at}",
                    "status": "completed",
                    "call_id": f"call_{turn}{at}",
                    "name": "look",
                    "arguments": "{}",
                }
            )
        items += [
            {
                "type": "function_call_output",
                "call_id": item["call_id"],
                "output": draw(st.one_of(words, st.lists(response_part, min_size=2, max_size=3))),
            }
            for item in items
            if item.get("type") == "function_call" and item["id"].startswith(f"fc_{turn}")
        ]
    tools = draw(st.lists(responses_tool, max_size=2, unique_by=lambda tool: tool["type"]))
    more = (
        {
            "tools": tools,
            "tool_choice": draw(st.sampled_from(["auto", {"type": "web_search"}])),
            "parallel_tool_calls": False,
        }
        if tools
        else {}
    )
    return {"model": "m", "input": [*items, {"role": "user", "content": "go on"}], **more, **draw(responses_top)}


def responses_form(body: Body) -> Body:
    """The one form of requests that say the same."""

    def item_form(item: Body) -> Body:
        field = "output" if item.get("type") == "function_call_output" else "content"
        content = item.get(field)
        listed = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
        return {"type": "message", **item, **({field: listed} if content is not None else {})}

    return {**body, "input": [item_form(item) for item in body["input"]]}


@given(responses_bodies())
def test_responses_in_are_responses_out(body: Body) -> None:
    """Requests of Responses: items of all kinds with their ids, the order of parts, tools, and all fields."""
    made, notes = sent(read_responses, body)
    assert (responses_form(made), notes) == (responses_form(body), [])


# ------------------------------------------------------------------------------------------------------------- other protocols

FIELDS: dict[str, tuple[Any, Body, str]] = {
    "a-mark-on-a-block": (
        read_messages,
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
                        {"type": "text", "text": "b"},
                    ],
                }
            ]
        },
        "cache mark",
    ),
    "a-mark-on-a-tool": (
        read_messages,
        {"tools": [{"name": "t", "input_schema": {}, "cache_control": {"type": "ephemeral"}}]},
        "'cache_control' of the tool 't'",
    ),
    "citations": (
        read_messages,
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "document",
                            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"},
                            "citations": {"enabled": True},
                        }
                    ],
                }
            ]
        },
        "'citations' of an attachment",
    ),
    "a-native-block": (
        read_messages,
        {
            "messages": [
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "n", "input": {}}]},
            ]
        },
        "'server_tool_use'",
    ),
    "thoughts": (
        read_messages,
        {
            "messages": [
                {"role": "user", "content": "a"},
                {
                    "role": "assistant",
                    "content": [{"type": "redacted_thinking", "data": "xx"}, {"type": "text", "text": "b"}],
                },
            ]
        },
        "thoughts",
    ),
    "thinking": (read_messages, {"thinking": {"type": "enabled"}}, "'thinking'"),
    "an-item": (
        read_responses,
        {"input": [{"type": "computer_call"}, {"role": "user", "content": "Hi"}]},
        "'computer_call'",
    ),
    "the-id-of-an-item": (
        read_responses,
        {"input": [{"type": "message", "role": "user", "id": "msg_1", "content": "Hi"}]},
        "id of an item",
    ),
    "metadata": (read_chat, {"metadata": {"a": "b"}}, "'metadata'"),
    "a-field": (read_chat, {"prediction": {"type": "content"}}, "'prediction'"),
    "service-tier": (read_chat, {"service_tier": "flex"}, "'service_tier'"),
}


@pytest.mark.parametrize("name", FIELDS)
def test_what_another_protocol_lacks_is_a_note(name: str) -> None:
    """What is not carried to a provider of another protocol is named in a note."""
    read, fields, words_of_note = FIELDS[name]
    asked: Body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}], **fields}
    _, notes = sent(read, asked, "gemini")
    assert any(words_of_note in note for note in notes), notes


@pytest.mark.parametrize("field", ["conversation", "prompt"])
def test_what_only_another_provider_keeps_is_not_found(field: str) -> None:
    """A conversation or a prompt that the provider does not have is a 404, for without it there is nothing to answer."""
    with pytest.raises(UnknownReferenceError) as caught:
        sent(read_responses, {"model": "m", "input": "Hi", field: {"id": "x_1"}}, "anthropic")
    assert (caught.value.http_status, caught.value.where and caught.value.where.path) == (404, field)


@given(anthropic_bodies())
def test_anthropic_messages_are_read_back(body: Body) -> None:
    """A history that was written as Anthropic's messages is read as a history, and written the same."""
    dialect = DIALECTS["anthropic"]
    first = dialect.messages(messages_of({"messages": body["messages"]}), {}).body
    assert dialect.messages(messages_of(first), {}).body == first
