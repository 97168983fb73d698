"""How fast tokens are counted: a whole chat cold and warm, by estimate, and hostile texts."""

import random
from collections.abc import Callable, Iterator

from benchmarks.case import Case
from innkeeper.tokens import OPENAI, BoundedCache, Counter, estimator

SEED = 7
TEXT = "the lamp ladder harbour fog slowly turned boats whale kettle bridge winter street laughed window old song rope"
WORDS = TEXT.split()
MODEL = "gpt-4o"


def cases() -> Iterator[Case]:
    """1,000 messages of a chat, counted with the exact tokenizer of gpt-4o."""
    texts = _chat(1000)
    messages = [{"role": "user", "content": text} for text in texts]
    size = f"1,000 messages, {sum(map(len, texts)) / 1000:.0f} KB"
    warm = Counter()
    warm.count_many(texts, MODEL)
    cold = "counted message by message, without a cache"
    yield Case(
        "count_many, cold",
        lambda: Counter(cache=BoundedCache()).count_many(texts, MODEL),
        lambda: _one_by_one(texts),
        cold,
        size,
    )
    yield Case("count_many, warm", lambda: warm.count_many(texts, MODEL), lambda: _one_by_one(texts), cold, size)
    yield Case(
        "count, warm", lambda: [warm.count(text, MODEL) for text in texts], lambda: _one_by_one(texts), cold, size
    )
    yield Case("a prompt with framing, warm", lambda: OPENAI.count_messages(messages, warm, MODEL), note=size)
    rough = estimator("o200k")
    yield Case("estimate", lambda: rough.count_many(texts), lambda: _one_by_one(texts), "exact, without a cache", size)
    for name, text in (("a", "a" * 50_000), ("space", " " * 50_000), ("ideograph", "船" * 50_000)):
        yield Case(f"50,000 x {name}", _fresh(text), note="exact, without a cache")


def _chat(size: int) -> list[str]:
    draw = random.Random(SEED)  # noqa: S311 - words of a benchmark
    return [f"{number}: " + " ".join(draw.choices(WORDS, k=draw.randint(20, 120))) + "." for number in range(size)]


def _one_by_one(texts: list[str]) -> list[int]:
    return [Counter(cache=BoundedCache(size=1)).count(text, MODEL) for text in texts]


def _fresh(text: str) -> Callable[[], int]:
    return lambda: Counter(cache=BoundedCache(size=1)).count(text, MODEL)
