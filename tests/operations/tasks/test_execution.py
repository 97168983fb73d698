"""One way for every text task: planned anew for each deployment, refusals surfaced, outputs judged, everything recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from sqlalchemy import select

from innkeeper.inference.errors import BudgetError, DecodeError, HttpError
from innkeeper.inference.fake import Answer, EchoServer, FakeReply, Fault
from innkeeper.inference.routing.deployment import EMBEDDED
from innkeeper.inference.routing.models import ModelNotFoundError
from innkeeper.inference.routing.policy import RoutePolicy
from innkeeper.inference.routing.price import Price
from innkeeper.inference.routing.router import NoRouteError
from innkeeper.library.db.tables.logs import audit_events, enhancement_logs
from innkeeper.library.errors import TemplateNotFoundError, TierBlockedError
from innkeeper.library.library import Library
from innkeeper.library.prepare.request import PrepareRequest
from innkeeper.operations.tasks.execution import MAX_TASK_TEXT, TextTask, TextTasks
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import LimitError, StrictModeError
from innkeeper.prompt.message import Message
from tests.operations.tasks.house import deployment, library_at, run

NOBODY = "http://127.0.0.1:1/v1"
CHAT = PrepareRequest(use_case="chat", job_type="chat", text="Where is the inn?")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """One library for all."""
    with library_at(tmp_path_factory.mktemp("tasks") / "library.db") as library:
        yield library


def rows(library: Library, table: Any = enhancement_logs) -> list[Any]:
    """What a table holds."""
    assert library.flush()
    with library.db.reading() as connection:
        return list(connection.execute(select(table).order_by(table.c.id)))


def asked(library: Library, task: TextTask, *deployments: Any, **policies: Any) -> Any:
    """The answer of a task."""
    return run(library, lambda tasks: tasks.run(task), *deployments, **policies)


def test_an_answer_tells_where_it_came_from(library: Library) -> None:
    """The messages are the template's and the text; the answer says what ran, in how many tokens, for how much."""
    with EchoServer("Over the bridge.") as server:
        answer = asked(library, TextTask(prompt=CHAT, task="roleplay"), deployment(server))
        sent = server.requests[0].body
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert sent["messages"][1]["content"] == CHAT.text
    assert sent["model"] == "big"
    assert sent["max_tokens"] == 400
    assert {"temperature", "top_p"}.isdisjoint(sent), "samplers that nobody asked for are absent"
    assert (answer.text, answer.finish_reason, answer.execution) == ("Over the bridge.", "stop", "model")
    assert answer.reasons == ("database_empty", "builtin")
    assert answer.degraded
    facts = answer.to_dict()
    assert facts["route_trace"]["steps"][0]["deployment"] == "there/big"
    assert facts["route_trace"]["ended"] == "answered"
    assert facts["resolution"]["level"] == "builtin"
    assert facts["tier"]["effective"] == "sfw"
    usage = answer.usage
    assert answer.cost_usd == pytest.approx(Price(1.0, 2.0).of(usage.input_tokens, usage.output_tokens))
    row = rows(library)[-1]
    assert row.request_id == answer.request_id
    assert row.status == "degraded"
    assert row.attempts[0]["outcome"] == "answered"
    assert row.usage["output_tokens"] == usage.output_tokens


def test_every_attempt_is_planned_anew(library: Library) -> None:
    """The next deployment gets its own model, dialect and window: the newest messages that fit it, the current one once."""
    history = tuple(Message("user" if n % 2 == 0 else "assistant", f"Message {n} " + "word " * 60) for n in range(40))
    prompt = PrepareRequest(use_case="chat", job_type="chat", text="And now?", history=history)
    with EchoServer(Answer(status=503)) as first, EchoServer("Now.") as second:
        answer = asked(
            library,
            TextTask(prompt=prompt, task="roleplay"),
            deployment(first, "there/wide", context_window=32_000, priority=0, price=Price()),
            deployment(second, "there/narrow", context_window=1_500, priority=1, price=Price(call=1.0)),
        )
        wide, narrow = first.requests[0].body["messages"], second.requests[0].body["messages"]
    assert len(wide) == 42
    assert len(narrow) < 20
    assert narrow[-1]["content"] == "And now?"
    assert narrow[-2]["content"] == history[-1].content
    assert [step["outcome"] for step in answer.route_trace["steps"]] == ["unavailable", "answered"]
    assert "fallback" in answer.reasons
    assert answer.model


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (FakeReply(content="I will not.", finish_reason="content_filter"), "content_filter"),
        (
            Answer(
                b'{"choices":[{"index":0,"message":{"role":"assistant","refusal":"I will not."},"finish_reason":"stop"}]}'
            ),
            "refusal",
        ),
    ],
    ids=["the provider's", "the model's"],
)
def test_a_refusal_reaches_the_caller_and_nobody_else_is_asked(library: Library, reply: Any, reason: str) -> None:
    """Word for word, and no fallback is tried."""
    with EchoServer(reply) as server, EchoServer("Yes!") as other:
        answer = asked(
            library,
            TextTask(prompt=CHAT),
            deployment(server, "there/first", price=Price()),
            deployment(other, "there/second"),
        )
        assert not other.requests
    assert answer.refused
    assert answer.finish_reason == reason
    assert answer.text == "I will not."


def test_what_a_model_wrote_passes_the_gate_or_is_for_nobody(library: Library) -> None:
    """A blocked output is an error with the trace of what was spent; an audit event and a row without text say so."""
    before = len(rows(library, audit_events))
    with EchoServer("a sexual story about a child") as server, pytest.raises(TierBlockedError) as blocked:
        asked(library, TextTask(prompt=CHAT), deployment(server))
    assert blocked.value.details["route_trace"]["spent"] > 0
    assert len(rows(library, audit_events)) == before + 1
    row = rows(library)[-1]
    assert (row.status, row.error_code, row.output_sha256 is None) == ("blocked", "tier_blocked", False)


def test_a_blocked_request_asks_nobody(library: Library) -> None:
    """No model is called, and the audit says so."""
    before = len(rows(library, audit_events))
    prompt = PrepareRequest(use_case="chat", job_type="chat", text="a sexual story about a child")
    with EchoServer("No.") as server:
        with pytest.raises(TierBlockedError):
            asked(library, TextTask(prompt=prompt), deployment(server))
        assert not server.requests
    assert len(rows(library, audit_events)) == before + 1


@pytest.mark.parametrize("said", ["", "  \n "])
def test_an_empty_answer_is_an_error(library: Library, said: str) -> None:
    """Nothing is never shown as something."""
    with EchoServer(said) as server, pytest.raises(DecodeError) as empty:
        asked(library, TextTask(prompt=CHAT), deployment(server))
    assert empty.value.details["route_trace"]["steps"]
    assert rows(library)[-1].status == "error"


@pytest.mark.parametrize(
    "bad", [Answer(b"<html>Sorry</html>"), Answer(b'{"choices": []}'), Answer(b'{"cho', ending="cut")]
)
def test_what_is_no_answer_is_a_typed_error(library: Library, bad: Answer) -> None:
    """A page, an answer without a choice, half a body: a provider's error that tells where the request went."""
    from innkeeper.prompt.errors import ProviderError

    with EchoServer(bad) as server, pytest.raises(ProviderError) as caught:
        asked(library, TextTask(prompt=CHAT), deployment(server))
    assert caught.value.details["route_trace"]["steps"]


def test_a_wrong_request_goes_nowhere_else(library: Library) -> None:
    """What one provider finds wrong, another is not asked."""
    with EchoServer(Answer(status=400)) as first, EchoServer("Yes.") as second:
        with pytest.raises(HttpError):
            asked(
                library,
                TextTask(prompt=CHAT),
                deployment(first, "there/first", price=Price()),
                deployment(second, "there/second"),
            )
        assert not second.requests


def test_what_costs_too_much_is_refused_before_anybody_is_asked(library: Library) -> None:
    """With the figure of the cheapest, and what is left."""
    with EchoServer("Yes.") as server:
        with pytest.raises(BudgetError) as dear:
            asked(library, TextTask(prompt=CHAT, money=0.0001), deployment(server, price=Price(output=100.0)))
        assert not server.requests
    assert dear.value.http_status == 402
    assert dear.value.details["estimate"] > dear.value.details["left"] == 0.0001


@dataclass
class Failing:
    """A dear provider that fails first: what the trace calls it, and whether its estimate counts."""

    id: str
    answer: Any
    outcome: str
    estimated: bool = False


FAILING = [
    Failing("nobody listens", None, "connection"),
    Failing("error", Answer(status=500), "unavailable"),
    Failing("overloaded", Answer(status=503), "unavailable"),
    Failing("behind a gateway", Answer(status=502), "unavailable"),
    Failing("gateway gives up", Answer(status=504), "unavailable"),
    Failing("rate limit", Answer(status=429), "rate_limited"),
    Failing("breaks off", Fault.cut(20), "cut_stream", estimated=True),
    Failing("silent", Fault.stall(0), "timeout", estimated=True),
    Failing("no protocol", Fault.html(), "bad_answer", estimated=True),
]


@pytest.mark.parametrize("case", FAILING, ids=lambda case: case.id)
def test_what_a_provider_did_not_do_costs_nothing(library: Library, case: Failing) -> None:
    """The answer costs what the second took; the first's estimate is added, and said, only where it may have worked."""
    policy = RoutePolicy(criteria=("priority",), first_seconds=0.3 if case.outcome == "timeout" else 9)
    with EchoServer(case.answer or "No.") as first, EchoServer("Over the bridge.") as second:
        dear = deployment(first, "there/dear", price=Price(output=500.0))
        if case.answer is None:
            dear = msgspec.structs.replace(dear, route=msgspec.structs.replace(dear.route, base_url=NOBODY))
        both = dear, deployment(second, "there/near", priority=1)
        answer = asked(library, TextTask(prompt=CHAT, task="roleplay"), *both, policies=[policy])
    tried, answered = answer.traces[0].steps
    assert (tried.outcome, answered.outcome) == (case.outcome, "answered")
    assert tried.estimate == pytest.approx(0.2)
    mine = Price(1.0, 2.0).of(answer.usage.input_tokens, answer.usage.output_tokens)
    assert answer.cost_usd == pytest.approx(mine + (tried.estimate if case.estimated else 0.0))
    assert answer.traces[0].spent == pytest.approx(answer.cost_usd)
    assert (tried.cost_source == "estimate") is (answer.cost_source == "estimate") is case.estimated
    row = rows(library)[-1]
    assert float(row.cost_usd) == pytest.approx(answer.cost_usd, abs=1e-6)
    assert row.cost_source == answer.cost_source
    assert row.attempts[0]["cost_source"] == tried.cost_source


@pytest.mark.parametrize("answer", [None, Answer(status=500)], ids=["nobody listens", "error"])
def test_a_dead_server_leaves_the_money_for_the_next(library: Library, answer: Any) -> None:
    """The bound of a request is what it may pay, and nothing was paid for what failed."""
    with EchoServer(answer or "No.") as first, EchoServer("Over the bridge.") as second:
        dear = deployment(first, "there/dear", price=Price(output=500.0))
        if answer is None:
            dear = msgspec.structs.replace(dear, route=msgspec.structs.replace(dear.route, base_url=NOBODY))
        both = dear, deployment(second, "there/near", priority=1)
        policy = RoutePolicy(criteria=("priority",))
        task = TextTask(prompt=CHAT, task="roleplay", money=0.2005)
        assert asked(library, task, *both, policies=[policy]).text == "Over the bridge."


def test_only_what_the_caller_may_use_is_asked(library: Library) -> None:
    """Patterns of names bound the router, and a model that is named must be known."""
    with EchoServer("Yes.") as server:
        with pytest.raises(NoRouteError) as nowhere:
            asked(library, TextTask(prompt=CHAT, routes=("local",)), deployment(server))
        assert nowhere.value.details["skipped"] == {"not_allowed": 1}
        with pytest.raises(ModelNotFoundError):
            asked(library, TextTask(prompt=CHAT, model="other"), deployment(server))
        answer = asked(library, TextTask(prompt=CHAT, routes=("there/*",), model="big"), deployment(server))
    assert answer.text == "Yes."


def test_strict_makes_a_makeshift_an_error_before_it_is_asked(library: Library) -> None:
    """The packaged template, the embedded model and a second choice are makeshifts."""
    with EchoServer("Yes.") as server:
        with pytest.raises((StrictModeError, TemplateNotFoundError)):
            asked(library, TextTask(prompt=CHAT, strict=True), deployment(server))
        assert not server.requests


def test_without_a_template_no_model_is_asked(library: Library) -> None:
    """An enhancement that no template is for stays as it is, and says so."""
    prompt = PrepareRequest(use_case="enhancement", job_type="audio", target_model="bells", text="ring")
    with EchoServer("Yes.") as server:
        answer = asked(library, TextTask(prompt=prompt), deployment(server))
        assert not server.requests
    assert (answer.text, answer.execution) == ("ring", "none")
    assert "passthrough" in answer.reasons


def test_options_are_sent_and_long_texts_are_refused(library: Library) -> None:
    """Sampling settings go by their names; a text beyond the limit is no task."""
    with EchoServer("Yes.") as server:
        options = FrozenDict(temperature=0.0, seed=0)
        asked(library, TextTask(prompt=CHAT, options=options, max_output_tokens=7), deployment(server))
        sent = server.requests[0].body
        assert (sent["temperature"], sent["seed"], sent["max_tokens"]) == (0.0, 0, 7)
        long = PrepareRequest(use_case="chat", job_type="chat", text="a" * (MAX_TASK_TEXT + 1))
        with pytest.raises(LimitError):
            asked(library, TextTask(prompt=long), deployment(server))


def test_the_embedded_model_stands_in_where_nothing_else_is(library: Library) -> None:
    """It is among the deployments of an empty catalogue, for the general tier alone, and strict requests refuse it."""
    seen: list[Any] = []

    async def look(tasks: TextTasks) -> None:
        seen.extend(tasks.models.router.deployments)

    run(library, look)
    assert [one.name for one in seen] == ["local"]
    assert EMBEDDED.tier.value == "sfw"


def test_tokens_that_nobody_told_are_counted_here(library: Library) -> None:
    """The cost is an estimate then, and says so."""
    body = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Here."},"finish_reason":"stop"}]}'
    with EchoServer(Answer(body)) as server:
        answer = asked(library, TextTask(prompt=CHAT), deployment(server))
    assert answer.cost_source == "estimate"
    assert answer.usage.output_tokens > 0
    assert answer.cost_usd > 0


def test_what_the_provider_says_it_cost_counts(library: Library) -> None:
    """A price that stands in its answer goes before the catalogue's."""
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "cost": 0.25}
    with EchoServer(FakeReply(content="Here.", usage=usage)) as server:
        answer = asked(library, TextTask(prompt=CHAT), deployment(server, price=None))
    assert (answer.cost_usd, answer.cost_source) == (0.25, "provider")


def test_money_bounds_all_attempts(library: Library) -> None:
    """A policy's money counts as well as the caller's."""
    with EchoServer("Yes.") as server, pytest.raises(NoRouteError):
        asked(
            library,
            TextTask(prompt=CHAT),
            deployment(server, price=Price(call=1.0)),
            policies=(RoutePolicy(money=0.5),),
        )
