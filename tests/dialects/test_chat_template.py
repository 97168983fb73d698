"""Chat templates: the conversation as a model's own Jinja has it, and nothing a template does takes the process down."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.dialects import chat_template, convert
from innkeeper.dialects.chat_template import MAX_TEMPLATE_CHARS
from innkeeper.prompt import LimitError, Message, Tool, UnavailableError
from innkeeper.prompt.errors import FormatError
from tests.dialects.talks import ALL, call, message

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TALK = [message("system", "S"), message("user", "Hi"), message("assistant", "Yes"), message("user", "Go")]


def prompt(template: str, talk: list[Message] | None = None, **options: Any) -> str:
    """The prompt of a template, rendered in this process unless told otherwise."""
    options = {"trusted_template": True, **options}
    made: str = convert(TALK if talk is None else talk, "text", chat_template=template, **options)["prompt"]
    return made


@pytest.mark.parametrize("trusted", [True, False], ids=["here", "apart"])
def test_a_template_and_our_format_agree(trusted: bool) -> None:
    """ChatML as a template, in this process or apart, gives what our ChatML gives."""
    assert prompt(CHATML, trusted_template=trusted) == convert(TALK, "text", instruct="chatml")["prompt"]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ bos_token }}{{ messages[0].content }}{{ eos_token }}", "<s>S</s>"),
        ("{% for m in messages[1:] %}{{ loop.index0 }}{{ m.content | trim }}{% endfor %}", "0Hi1Yes2Go"),
        ("{% for m in messages[::-1] %}{{ m.role[0] }}{% endfor %}", "uaus"),
        ("{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}", "4"),
        ("{{ messages | selectattr('role', 'equalto', 'user') | list | length }}", "2"),
        ("{{ messages[0]['content'].lower() + 'x'.strip() }}", "sx"),
        ("{{ {'a': '<é>'} | tojson }}", '{"a": "<é>"}'),
        ("{{ {'a': 1} | tojson(indent=999) }}", json.dumps({"a": 1}, indent=8)),
        ("{{ strftime_now('%d %B %Y') }}", "15 January 2026"),
        ("{{ more.deep }}{{ tools is defined }}", "TrueFalse"),
        ("  {% if true %}\n  x\n  {% endif %}\n", "  x\n"),
    ],
    ids=[
        "tokens",
        "slice",
        "backwards",
        "namespace",
        "select",
        "methods",
        "tojson",
        "indent",
        "date",
        "variables",
        "space",
    ],
)
def test_what_templates_use(template: str, expected: str) -> None:
    """The parts of Jinja that published chat templates use work as they expect."""
    found = prompt(
        template, bos_token="<s>", eos_token="</s>", now="2026-01-15T12:00:00Z", template_vars={"more": {"deep": True}}
    )
    assert found == expected


def test_no_clock_of_its_own() -> None:
    """Without a moment given, a template has no clock."""
    assert prompt("{{ strftime_now is defined }}") == "False"


def test_what_a_template_is_given() -> None:
    """Names, calls with arguments as objects, results with the tool's name, thoughts, and the tools."""
    talk = [
        message("user", "Hi", name="Bob"),
        message("assistant", "", tool_calls=[call(), call("call_2", "look", "nonsense")], reasoning="hm"),
        message("tool", "1", tool_call_id="call_1"),
    ]
    options = {"chat_template": "{{ messages | tojson }}{{ tools | tojson }}", "trusted_template": True}
    from innkeeper.dialects import DIALECTS

    body = DIALECTS["text"].request(talk, model=None, options=options, tools=[Tool("add")]).body
    messages, end = json.JSONDecoder().raw_decode(body["prompt"])
    assert messages == [
        {"role": "user", "content": "Hi", "name": "Bob"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}},
                {"id": "call_2", "type": "function", "function": {"name": "look", "arguments": "nonsense"}},
            ],
            "reasoning_content": "hm",
        },
        {"role": "tool", "content": "1", "tool_call_id": "call_1", "name": "add"},
    ]
    assert json.loads(body["prompt"][end:])[0]["function"]["name"] == "add"


def test_an_answer_is_continued() -> None:
    """A last answer is left open: what the template writes after it is cut."""
    assert prompt(CHATML, [*TALK, message("assistant", "Well, ")]).endswith("<|im_start|>assistant\nWell,")
    assert prompt(CHATML, [*TALK, message("assistant", "")]).endswith("<|im_start|>assistant\n<|im_end|>\n")


def test_a_user_speaks_next() -> None:
    """With another speaker than the assistant, the template is not asked to open an answer."""
    assert prompt(CHATML, reply="user").endswith("Go<|im_end|>\n")


@pytest.mark.parametrize("trusted", [True, False], ids=["here", "apart"])
@pytest.mark.parametrize(
    ("template", "line", "words"),
    [
        ("\n{% if %}", 2, "does not render: syntax error"),
        ("{{ messages[99].content.more }}", 1, "does not render: undefined value"),
        ("\n\n{{ nothing() }}", 3, "does not render: unknown function"),
        ("{{ raise_exception('roles must alternate') }}", None, "refuses the messages: roles must alternate"),
        ("{{ 1 // 0 }}", 1, "does not render"),
    ],
    ids=["syntax", "undefined", "unknown", "refused", "arithmetic"],
)
def test_failures_say_where(template: str, line: int | None, words: str, trusted: bool) -> None:
    """A template that fails is an error with the line; a refusal has the template's words and a way out."""
    with pytest.raises(FormatError) as caught:
        prompt(template, trusted_template=trusted)
    assert words in str(caught.value)
    assert caught.value.where is not None
    assert caught.value.where.line == line
    assert (caught.value.hint is not None) == ("refuses" in words)


STEPS, MEMORY, OUTPUT = "MAX_TEMPLATE_FUEL", "MAX_TEMPLATE_MEMORY_BYTES", "MAX_TEMPLATE_OUTPUT_CHARS"


@pytest.mark.parametrize(
    ("template", "limits"),
    [
        ("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", {STEPS}),
        (
            "{% set n = namespace(x='xxxxxxxx') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x }}",
            {STEPS, MEMORY},
        ),
        ("{{ '%0999999999d' | format(1) }}", {STEPS, MEMORY}),
        ("{% set x = 'x' * 90000 %}{% for i in range(900) %}{{ x }}{% endfor %}", {OUTPUT}),
        ("x" * (MAX_TEMPLATE_CHARS + 1), {"MAX_TEMPLATE_CHARS"}),
    ],
    ids=["steps", "doubling", "padding", "output", "length"],
)
def test_bombs_are_defused(template: str, limits: set[str]) -> None:
    """A template that wants too much is stopped by a named limit, and this process goes on.

    From minijinja 3.1 on, the characters that are made count as steps; before, the memory ran out.
    """
    with pytest.raises(LimitError) as caught:
        prompt(template, TALK * 100, trusted_template=False)
    assert caught.value.limit in limits


def test_a_template_that_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes few steps and much memory ends the process that renders it, not this one."""
    monkeypatch.setattr(chat_template, "MAX_TEMPLATE_MEMORY_BYTES", 128 * 1024 * 1024)
    with pytest.raises(LimitError) as caught:
        prompt("{{ ([1] * 9999999) | tojson }}", trusted_template=False)
    assert caught.value.limit == MEMORY


@pytest.mark.parametrize("pieces", [1, 20])
def test_long_messages_are_no_bomb(pieces: int) -> None:
    """A chat of a million characters, each passed through three filters."""
    words = "words, " * (150_000 // pieces)
    template = "{% for m in messages %}{{ (m.content | trim | upper | lower) + '.' }}{% endfor %}"
    assert prompt(template, [message("user", words)] * pieces) == (words.strip() + ".") * pieces


def test_a_template_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rendering that takes too long is stopped."""
    monkeypatch.setattr(chat_template, "MAX_TEMPLATE_SECONDS", 0.0)
    with pytest.raises(LimitError) as caught:
        prompt(CHATML, trusted_template=False)
    assert caught.value.limit == "MAX_TEMPLATE_SECONDS"


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the template engine is not installed, an error says how to get it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(UnavailableError) as caught:
        prompt(CHATML)
    assert "[templates]" in str(caught.value.hint)


OPENINGS = ["{{", "}}", "{%", "%}", "{#", "{% for m in messages %}", "{% endfor %}", "{% if", "{% endif %}", "{% set x"]
WORDS = [
    "messages",
    "m",
    "[0]",
    ".content",
    "namespace",
    "raise_exception",
    "tojson",
    "9",
    "'",
    "(",
    ")",
    "=",
    "|",
    "+",
    "*",
]
SNIPPETS = st.sampled_from([*OPENINGS, *WORDS, " ", "\n"])


@given(pieces=st.lists(SNIPPETS, max_size=14))
def test_any_template_ends_in_a_prompt_or_a_typed_error(pieces: list[str]) -> None:
    """Whatever a template says, the outcome is text or one of the two errors."""
    outcome: object = None
    try:
        outcome = prompt("".join(pieces))
    except (FormatError, LimitError) as error:
        outcome = error.where
    assert outcome is not None


def test_content_is_never_a_template() -> None:
    """Text of messages is not rendered, whatever it looks like, in any mode and dialect."""
    text = "{{ 7 * 7 }}{% raise %}{{name}}"
    for dialect in ALL:
        assert text in json.dumps(convert([message("user", text)], dialect))
    assert text in prompt(CHATML, [message("user", text)])
    assert text in convert([message("user", text, name="Bob")], "text", instruct="names")["prompt"]
