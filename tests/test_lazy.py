"""Lazy names: imported when asked for, remembered, listed, and refused by their own name."""

import subprocess
import sys

import pytest

import innkeeper
import innkeeper.content
import innkeeper.inference
from innkeeper.lazy import missing_library, pip_install, require
from innkeeper.prompt import UnavailableError


@pytest.mark.parametrize("package", [innkeeper, innkeeper.content, innkeeper.inference])
def test_every_name_is_there(package: object) -> None:
    """What a package lists can be imported, and what it has not is refused by name."""
    names = dir(package)
    assert names == sorted(set(names))
    assert all(getattr(package, name) is not None for name in names)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing  # type: ignore[attr-defined]


def test_homes_are_imported_when_asked() -> None:
    """A home is loaded with the first name asked of it, and the name is kept."""
    script = (
        "import sys, innkeeper.inference as package; home = 'innkeeper.inference.output_tags'; before = home in sys.modules; "
        "package.transform_tags; print(before, home in sys.modules, 'transform_tags' in vars(package))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True", "True"]


def test_what_an_extra_brings_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a library of an extra is missing, the error names both, for whoever asked for a name and for who requires it."""
    monkeypatch.setattr("innkeeper.lazy.find_spec", lambda _name: None)
    monkeypatch.delitem(sys.modules, "sqlalchemy", raising=False)
    with pytest.raises(UnavailableError, match="needs the library sqlalchemy") as caught:
        require("sqlalchemy")
    assert caught.value.hint == pip_install("'innkeeper[library]'")
    script = (
        "import sys; sys.modules['sqlalchemy'] = None; import innkeeper.library\n"
        "try: innkeeper.library.TemplateStore\n"
        "except innkeeper.prompt.UnavailableError as error: print(error.hint)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout == pip_install("'innkeeper[library]'") + "\n"


def test_a_library_of_no_extra() -> None:
    """What no extra brings is named by itself."""
    assert missing_library("nothing.here") == (
        "this needs the library nothing, which is not installed",
        "pip install 'nothing'",
    )


def test_an_extra_comes_from_where_we_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was installed from a folder is not looked for on an index, where it may not be; other packages are."""
    monkeypatch.setattr("innkeeper.lazy._from_index", lambda: False)
    assert pip_install("'innkeeper[local]'") == "pip install '.[local]', in the folder of Innkeeper's source"
    assert pip_install("ftfy") == "pip install ftfy"
    monkeypatch.setattr("innkeeper.lazy._from_index", lambda: True)
    assert pip_install("'innkeeper[local]'") == "pip install 'innkeeper[local]'"
