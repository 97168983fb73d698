"""Lazy names: imported when asked for, remembered, listed, and refused by their own name."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import innkeeper
import innkeeper.content
import innkeeper.inference
from innkeeper.lazy import install_line, missing_library, require
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
    assert caught.value.hint == install_line("'innkeeper[library]'")
    script = (
        "import sys; sys.modules['sqlalchemy'] = None; import innkeeper.library\n"
        "try: innkeeper.library.TemplateStore\n"
        "except innkeeper.prompt.UnavailableError as error: print(error.hint)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout == install_line("'innkeeper[library]'") + "\n"


def test_a_library_of_no_extra() -> None:
    """What no extra brings is named by itself."""
    assert missing_library("nothing.here") == (
        "this needs the library nothing, which is not installed",
        "pip install 'nothing'",
    )


@pytest.mark.parametrize(
    ("mark", "from_index", "extra", "package"),
    [
        ("", True, "pip install 'innkeeper[local]'", "pip install ftfy"),
        ("", False, "pip install '.[local]', in the folder of Innkeeper's source", "pip install ftfy"),
        (
            "pipx_metadata.json",
            True,
            "pipx install --force 'innkeeper[local]'",
            "pipx runpip innkeeper install ftfy",
        ),
        (
            "uv-receipt.toml",
            True,
            "uv tool install --force 'innkeeper[local]'",
            "uv tool install innkeeper --with ftfy",
        ),
    ],
    ids=["an index", "a folder", "pipx", "uv"],
)
def test_an_extra_comes_from_where_we_came_from(
    mark: str, from_index: bool, extra: str, package: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What was installed from a folder is not looked for on an index, where it may not be; who installed us does it again."""
    monkeypatch.setattr("innkeeper.lazy._from_index", lambda: from_index)
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    if mark:
        (tmp_path / mark).touch()
    assert (install_line("'innkeeper[local]'"), install_line("ftfy")) == (extra, package)


IMPORTS = """
import importlib, os, random, sys, threading, traceback

barrier, failed = threading.Barrier(8), []

def run(name):
    barrier.wait()
    try:
        importlib.import_module(name)
    except BaseException:
        failed.append(name + ": " + traceback.format_exc())

threads = [threading.Thread(target=run, args=(name,)) for name in random.Random(int(sys.argv[1])).sample(sys.argv[2].split(), 8)]
sys.setswitchinterval(1e-6)
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.stderr.write("".join(failed))
sys.stderr.flush()
os._exit(bool(failed))
"""
"""Imports of packages by eight threads at once, with Python passing from one to the next as often as it can."""


@pytest.mark.parametrize("starts", [6, pytest.param(3_000, marks=pytest.mark.endurance)])
def test_packages_are_imported_by_threads_at_once(starts: int) -> None:
    """Whichever packages threads import first, and in whatever order, none of them finds another half made."""
    root = Path(innkeeper.__file__).parent
    packages = " ".join(
        ".".join(("innkeeper", *path.parent.relative_to(root).parts)) for path in sorted(root.rglob("*/__init__.py"))
    )

    def start(number: int) -> str:
        words = [sys.executable, "-c", IMPORTS, str(number), packages]
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=600)
        return done.stderr if done.returncode else ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [told for told in pool.map(start, range(starts)) if told]
    assert not failed, f"{len(failed)} of {starts} failed; the first: {failed[0]}"
