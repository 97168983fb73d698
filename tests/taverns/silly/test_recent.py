"""Recent: results are found by the very value, within bounds."""

from innkeeper.taverns.silly.recent import Recent


def test_the_same_value_finds_its_result() -> None:
    """Equal values that are not the same find nothing."""
    memory: Recent[str] = Recent()
    value = (1, "a")
    assert memory.get(value) is None
    assert memory.put(value, "made", "x") == "made"
    assert memory.get(value, "x") == "made"
    assert memory.get(value, "y") is None
    assert memory.get((len("x"), "a"), "x") is None


def test_bounds() -> None:
    """It never holds more than it may; what is asked for stays."""
    memory: Recent[int] = Recent(10)
    values = [(place,) for place in range(100)]
    for place, value in enumerate(values):
        memory.put(value, place)
        memory.get(values[0])
        assert len(memory) <= 10
    assert memory.get(values[0]) == 0
    assert memory.get(values[99]) == 99
