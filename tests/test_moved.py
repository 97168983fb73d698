"""Moved modules: what the documentation once taught to import can still be imported, and says where it is now."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import innkeeper
from innkeeper.moved import MOVED

TAUGHT = {
    "innkeeper.content.reader": ("Reader", "Source"),
    "innkeeper.dialects.conversation": ("Rules",),
    "innkeeper.dialects.options": ("as_is", "put", "stops"),
    "innkeeper.inference.directives.patch_ops": ("patch_ops",),
    "innkeeper.inference.directives_runner": ("DirectivesRunner", "StructuredOutput"),
    "innkeeper.inference.errors": ("StreamCutError",),
    "innkeeper.inference.fake": ("EchoServer", "FakeClient", "FakeReply", "Fault"),
    "innkeeper.inference.output_tags": ("OutputTagsConfig", "transform_tags"),
    "innkeeper.inference.tool_loop": ("ToolLoopRunner",),
    "innkeeper.library.asking": ("PrepareRequest",),
    "innkeeper.library.budgets": ("budget_of",),
    "innkeeper.library.catalogue": ("Catalogue",),
    "innkeeper.library.draft": ("TemplateDraft",),
    "innkeeper.library.engine": ("Database",),
    "innkeeper.library.key": ("TemplateKey",),
    "innkeeper.library.library": ("Library",),
    "innkeeper.library.partials": ("impact",),
    "innkeeper.library.publish": ("problems_of",),
    "innkeeper.library.query": ("query",),
    "innkeeper.library.render": ("render",),
    "innkeeper.library.resolver": ("ResolveRequest", "resolve"),
    "innkeeper.library.store": ("TemplateStore",),
    "innkeeper.library.template": ("Labelled", "TemplateVersion", "Variable", "sealed"),
    "innkeeper.library.tier": ("Ceilings", "Tier", "effective_tier"),
    "innkeeper.library.tier_gate": ("Entry", "TierGate"),
    "innkeeper.library.tier_policy": ("TierPolicy",),
    "innkeeper.library.tokenizer_spec": ("CLIP", "TokenizerSpec"),
    "innkeeper.library.values": ("fenced",),
    "innkeeper.library.vault": ("Vault",),
    "innkeeper.library.vault_keys": ("FileKeys",),
    "innkeeper.macros.engine.scanner": ("Grammar",),
    "innkeeper.macros.environment": ("CardFields", "MacroEnvironment"),
    "innkeeper.macros.evaluate": ("Evaluation", "Macro", "Pack"),
    "innkeeper.macros.liquid": ("render",),
    "innkeeper.macros.scanner": ("Grammar",),
    "innkeeper.macros.silly": ("substitute",),
    "innkeeper.macros.smart.sandbox": ("SANDBOX_LIMITS", "evaluate"),
    "innkeeper.prompt.message": ("messages_of",),
    "innkeeper.taverns.smart": ("construct",),
    "innkeeper.taverns.tavern": ("Tavern",),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("module", "names"), TAUGHT.items(), ids=TAUGHT)
def test_taught_names_are_importable(module: str, names: tuple[str, ...]) -> None:
    """Each name can be had from the module that the documentation named."""
    assert all(getattr(import_module(module), name) is not None for name in names)


def test_the_new_place_is_named() -> None:
    """An old path warns with the new one, and a name that never was there is refused."""
    with pytest.warns(DeprecationWarning, match=r"import Grammar from innkeeper\.macros\.engine\.syntax"):
        from innkeeper.macros.scanner import Grammar  # type: ignore[import-untyped]
    assert Grammar is import_module("innkeeper.macros.engine.syntax").Grammar
    with pytest.raises(ImportError), pytest.warns(DeprecationWarning, match="has moved"):
        from innkeeper.macros.scanner import Nothing  # noqa: F401


def test_present_names_are_not_hidden() -> None:
    """A package's name that is called as a module once was means the same after the old path was imported."""
    script = (
        "import warnings; warnings.simplefilter('ignore'); from innkeeper.library.render import render as old; "
        "from innkeeper.library import render; print(render is old)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "True"


def test_costs_nothing() -> None:
    """No moved module is imported, no new one, and no large one of Python's, until an old path is asked for."""
    script = "import sys, innkeeper; print(*sorted(name for name in sys.modules if name.startswith('innkeeper.')))"
    script += "; print('importlib.resources' in sys.modules)"
    env = {"PYTHONPATH": str(Path(innkeeper.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-S", "-c", script], check=True, capture_output=True, text=True, env=env)
    assert done.stdout.splitlines() == ["innkeeper.lazy innkeeper.moved innkeeper.version", "False"]
    assert not MOVED.keys() & set(MOVED.values())


def test_a_name_that_was_taught() -> None:
    """An error that has been merged with its kin is still caught under the name that documentation taught."""
    from innkeeper.content import AssetError, CardError

    assert CardError is AssetError
