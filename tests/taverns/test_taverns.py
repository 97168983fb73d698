"""The registry of taverns, and building by name."""

import gc
import subprocess
import sys

import pytest

from innkeeper import taverns
from innkeeper.prompt import (
    BuildRequest,
    NoConfig,
    Pipeline,
    Plan,
    ReplayBundle,
    ReplayError,
    State,
    Step,
    UnknownNameError,
)
from innkeeper.taverns import TAVERNS, Taverns, vibe
from innkeeper.taverns.tavern import Tavern


def _nothing(state: State, config: NoConfig) -> None:
    state.result.plan = Plan()


MINE = Tavern(name="mine", pipeline=Pipeline(Step("nothing", _nothing, NoConfig)))


def test_builds_by_name() -> None:
    """The request says which tavern builds it."""
    plan = taverns.build(BuildRequest(message="a", now="2026-01-01T00:00:00Z"))
    assert (plan.tavern, plan.messages[0].content) == ("vibe", "a")
    assert TAVERNS["vibe"] is vibe.TAVERN


def test_unknown_taverns() -> None:
    """A name that nobody has is refused with the near ones."""
    with pytest.raises(UnknownNameError) as caught:
        taverns.build(BuildRequest(tavern="vibes"))
    assert caught.value.hint == "did you mean 'vibe'?"
    assert "vibes" not in TAVERNS


def test_taverns_of_your_own() -> None:
    """A registry with further taverns leaves the default one as it is."""
    registry = TAVERNS.with_(MINE)
    assert taverns.build(BuildRequest(tavern="mine"), taverns=registry).blocks == ()
    assert "mine" in registry
    assert "mine" not in TAVERNS
    assert list(registry) == [*TAVERNS, "mine"]
    assert len(Taverns({})) == 0


def test_replay() -> None:
    """A bundle's request is built again, and gives the plan that was recorded, or says that it does not."""
    plan = vibe.build(message="a", meta={"system_template": "{{ 'now' | date: '%F %T' }} {{ 'a,b' | pick }}"})
    bundle = ReplayBundle.from_json(plan.replay().to_json())
    assert taverns.replay(bundle).blocks == plan.blocks
    wrong = ReplayBundle(bundle.request.with_(message="b"), bundle.fingerprint, bundle.dialect, bundle.version)
    with pytest.raises(ReplayError):
        taverns.replay(wrong)


@pytest.mark.parametrize("name", TAVERNS)
def test_a_build_goes_when_it_is_over(name: str) -> None:
    """Its state waits for no garbage collection, which would hold up all calls of a service."""
    book = {"entries": [{"keys": ["tide"], "content": "It turns at six."}]}
    request = BuildRequest.of({"tavern": name, "character": {"name": "Mira"}, "message": "The tide?"})
    request = request if name == "smart" else request.with_(lorebooks=(book,))
    taverns.build(request)
    gc.collect()
    gc.disable()
    try:
        before = _states()
        assert taverns.build(request).messages
        assert _states() == before
    finally:
        gc.enable()


def _states() -> int:
    return sum(type(one) is State for one in gc.get_objects())


def test_importing_the_registry_imports_no_tavern() -> None:
    """Taverns are imported when they are asked for, and the vibe tavern needs no Liquid without a template."""
    code = (
        "import sys; from innkeeper import taverns; "
        "assert not any(name.startswith('innkeeper.taverns.') for name in sys.modules); "
        "taverns.TAVERNS['vibe'].build(message='a', user='Bob', context={'language_policy': {'enabled': False}}); "
        "assert not {'liquid', 'langcodes', 'tiktoken'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
