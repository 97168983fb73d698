"""Lazy names: imported when asked for, remembered, listed, and refused by their own name."""

import subprocess
import sys

import pytest

import innkeeper
import innkeeper.content
import innkeeper.inference


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
