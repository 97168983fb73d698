"""Make a release ready: check, build twice, compare, write checksums and a list of parts (SBOM). Nothing is published.

``python scripts/release.py`` writes the wheel, the sdist, ``SHA256SUMS`` and ``innkeeper-VERSION.spdx.json`` into ``dist``. Every
finding is printed; with one that only the owner can settle, as the project's address, nothing is written. ``--check`` builds
nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]

IN_SDIST: Final = (
    *(
        "pyproject.toml",
        "Makefile",
        "Containerfile",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "NOTICE",
    ),
    *(
        "conftest.py",
        "scripts/release.py",
        "scripts/metadata.py",
        "docs/index.md",
        "examples/wenna.png",
        "benchmarks/run.py",
    ),
    *("src/innkeeper/__init__.py", "src/innkeeper/py.typed", "tests/shared.py"),
)
"""What an sdist must hold: all that the README and the Makefile speak of."""

IN_WHEEL: Final = (
    "innkeeper/__init__.py",
    "innkeeper/py.typed",
    "innkeeper/examples/wenna.png",
    "innkeeper/examples/README.md",
    "innkeeper/service/inspector/page/index.html",
)
"""What a wheel must hold."""

_NOT_INSIDE: Final = re.compile(r"(^|/)(__pycache__|\.git|\.venv|\.env|_build|node_modules)(/|$)|\.pyc$")


def project() -> dict[str, Any]:
    """The table ``project`` of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def findings() -> Iterator[str]:
    """What has to be settled before a release."""
    about = project()
    if any("example.org" in url for url in about["urls"].values()):
        yield "project.urls in pyproject.toml is a placeholder: the owner says where the project lives"
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if f"## {about['version']}" not in changes:
        yield f"CHANGELOG.md has no heading for {about['version']}"
    version = re.search(
        r'"(.+?)"', (ROOT / "src/innkeeper/version.py").read_text(encoding="utf-8").rpartition("VERSION")[2]
    )
    if version is None or version[1] != about["version"]:
        yield "src/innkeeper/version.py has another version than pyproject.toml"
    page = ROOT / "src/innkeeper/service/inspector/page/sources.json"
    taken = json.loads((ROOT / "docs/pictures/inspector.json").read_text(encoding="utf-8"))
    if taken["page"] != json.loads(page.read_text(encoding="utf-8"))["sources"]:
        yield "docs/pictures has an older page of the inspector: python scripts/inspector_pictures.py takes it again"
    if _git("status", "--porcelain"):
        yield "the working tree has changes that are not committed"


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607
    return done.stdout.strip()


def build(folder: Path) -> list[Path]:
    """The wheel and the sdist, built into a folder; times in them are that of the last commit, on which alone bytes depend."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct") or "1580601600"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    return sorted(folder.iterdir())


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def names_in(archive: Path) -> set[str]:
    """The files in a wheel, or in an sdist below its one folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return set(wheel.namelist())
    with tarfile.open(archive) as sdist:
        return {name.partition("/")[2] for name in sdist.getnames()}


def missing(archive: Path) -> list[str]:
    """What a distribution should hold and does not, and what it should not and does."""
    names = names_in(archive)
    wanted = IN_WHEEL if archive.suffix == ".whl" else IN_SDIST
    return [f"without {name}" for name in wanted if name not in names] + [
        f"with {name}" for name in sorted(names) if _NOT_INSIDE.search(name)
    ]


def parts_list(files: list[Path]) -> dict[str, Any]:
    """The list of parts in SPDX 2.3: the distributions with their digests, and what is required, with the licence it declares."""
    about = project()
    when = int(os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct") or 0)
    ours = {"SPDXID": "SPDXRef-innkeeper", "name": "innkeeper", "versionInfo": about["version"]}
    packages = [
        {
            **ours,
            "downloadLocation": about["urls"]["Source"],
            "licenseDeclared": about["license"],
            "checksums": [{"algorithm": "SHA256", "checksumValue": digest(path)} for path in files],
        },
        *(_required(requirement) for requirement in about["dependencies"]),
    ]
    relations = [
        {"spdxElementId": ours["SPDXID"], "relationshipType": "DEPENDS_ON", "relatedSpdxElement": one["SPDXID"]}
        for one in packages[1:]
    ]
    described = {
        "spdxElementId": "SPDXRef-DOCUMENT",
        "relationshipType": "DESCRIBES",
        "relatedSpdxElement": ours["SPDXID"],
    }
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"innkeeper-{about['version']}",
        "documentNamespace": f"{about['urls']['Source']}/spdx/{about['version']}",
        "creationInfo": {
            "created": datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: scripts/release.py"],
        },
        "packages": packages,
        "relationships": [described, *relations],
    }


def _required(requirement: str) -> dict[str, Any]:
    name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
    try:
        metadata = importlib.metadata.metadata(name)
        version = metadata["Version"]
        licence = (metadata.get_all("License-Expression") or ["NOASSERTION"])[0]
    except importlib.metadata.PackageNotFoundError:
        version, licence = "NOASSERTION", "NOASSERTION"
    return {
        "SPDXID": f"SPDXRef-{re.sub(r'[^A-Za-z0-9.-]', '-', name)}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "licenseDeclared": licence,
        "comment": f"required: {requirement}",
    }


def built_twice(folder: Path) -> list[Path]:
    """The distributions, checked: two builds have the same bytes, and each holds what it should. Raises `SystemExit`."""
    with tempfile.TemporaryDirectory() as other:
        first, second = build(folder), build(Path(other))
        differ = [one.name for one, two in zip(first, second, strict=True) if digest(one) != digest(two)]
    wrong = [f"{name} has other bytes when it is built again" for name in differ]
    wrong += [f"{path.name}: {what}" for path in first for what in missing(path)]
    if wrong:
        raise SystemExit("\n".join(wrong))
    return first


def main() -> int:
    """Say what is to be settled; build where nothing is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say what is to be settled")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="where to write; the folder is emptied")
    given = parser.parse_args()
    open_points = list(findings())
    print(*(f"to be settled: {one}" for one in open_points), sep="\n", end="\n" if open_points else "")
    if open_points or given.check:
        return bool(open_points)
    shutil.rmtree(given.dist, ignore_errors=True)
    given.dist.mkdir(parents=True)
    files = built_twice(given.dist)
    parts = given.dist / f"innkeeper-{project()['version']}.spdx.json"
    parts.write_text(json.dumps(parts_list(files), indent=2) + "\n", encoding="utf-8")
    sums = "".join(f"{digest(path)}  {path.name}\n" for path in [*files, parts])
    (given.dist / "SHA256SUMS").write_text(sums, encoding="utf-8")
    print(sums, "Nothing was published. To publish: sign the tag, then upload what is in this folder.", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
