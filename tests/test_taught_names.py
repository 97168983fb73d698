"""Names that the documentation taught to import: those whose module has not moved can be imported from it."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import innkeeper

TAUGHT = {
    "innkeeper.dialects.conversation": ("Rules",),
    "innkeeper.dialects.options": ("as_is", "put", "stops"),
    "innkeeper.inference.errors": ("StreamCutError",),
    "innkeeper.inference.fake": ("EchoServer", "FakeClient", "FakeReply", "Fault"),
    "innkeeper.inference.output_tags": ("OutputTagsConfig", "transform_tags"),
    "innkeeper.library.catalogue": ("Catalogue",),
    "innkeeper.library.library": ("Library",),
    "innkeeper.gate.tier": ("Ceilings", "Tier", "effective_tier"),
    "innkeeper.library.vault": ("Vault",),
    "innkeeper.macros.liquid": ("render",),
    "innkeeper.macros.silly": ("substitute",),
    "innkeeper.macros.smart.sandbox": ("SANDBOX_LIMITS", "evaluate"),
    "innkeeper.prompt.message": ("messages_of",),
    "innkeeper.taverns.smart": ("construct",),
    "innkeeper.taverns.tavern": ("Tavern",),
}


@pytest.mark.parametrize(("module", "names"), TAUGHT.items(), ids=TAUGHT)
def test_taught_names_are_importable(module: str, names: tuple[str, ...]) -> None:
    """Each name can be had from the module that the documentation named."""
    assert all(getattr(import_module(module), name) is not None for name in names)


def test_costs_nothing() -> None:
    """`import innkeeper` imports two small modules of ours, and no large one of Python's."""
    script = "import sys, innkeeper; print(*sorted(name for name in sys.modules if name.startswith('innkeeper.')))"
    script += "; print('importlib.resources' in sys.modules)"
    env = {"PYTHONPATH": str(Path(innkeeper.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-S", "-c", script], check=True, capture_output=True, text=True, env=env)
    assert done.stdout.splitlines() == ["innkeeper.lazy innkeeper.version", "False"]


def test_a_name_that_was_taught() -> None:
    """An error that has been merged with its kin is still caught under the name that documentation taught."""
    from innkeeper.content import AssetError, CardError

    assert CardError is AssetError
