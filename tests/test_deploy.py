"""The files for operators: every command parses, every metric exists, and each file is one that its reader accepts."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from innkeeper.cli.app.root import root
from innkeeper.service.guard.work import Gate
from innkeeper.service.telemetry import ServiceMetrics

DEPLOY = Path(__file__).parent.parent / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
ALERTS = yaml.safe_load((DEPLOY / "alerts.yml").read_text())
DASHBOARD = json.loads((DEPLOY / "grafana.json").read_text())
PAGE = DEPLOY.parent / "docs" / "operating.md"


def parse(args: list[str]) -> None:
    """Parse the command line ``innkeeper ARGS`` without running it.

    Raises:
        click.UsageError: A command, an option or a value does not exist.
    """
    command: click.Command = root
    context = click.Context(root)
    while isinstance(command, click.Group):
        inner, (name, *args) = command.get_command(context, args[0]), args
        assert inner, name
        context = click.Context(inner, parent=context, info_name=name)
        command = inner
    command.parse_args(context, args)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_unit_runs_a_command(unit: Path) -> None:
    """What a unit starts is a command with options that exist."""
    (start,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    program, *args = shlex.split(start)
    assert program.endswith("/innkeeper")
    parse(args)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_unit_is_accepted(unit: Path, tmp_path: Path) -> None:
    """Systemd knows every line of a unit."""
    if not (analyze := shutil.which("systemd-analyze")):
        pytest.skip("systemd is not installed here")
    copy = tmp_path / unit.name
    copy.write_text(re.sub(r"/opt/innkeeper/bin/innkeeper", "/bin/true", unit.read_text()))
    done = subprocess.run([analyze, "verify", copy], capture_output=True, text=True, check=False)
    assert str(copy.name) not in done.stderr, done.stderr


@pytest.mark.parametrize(
    "name", [name for name, service in COMPOSE["services"].items() if service["image"] == "innkeeper"]
)
def test_container_runs_a_command(name: str) -> None:
    """What a container starts is a command with options that exist."""
    parse(COMPOSE["services"][name]["command"])


def health_checks() -> dict[str, list[str]]:
    """Return the command that asks each role whether it is well: the image's, and the compose file's own."""
    (words,) = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", (DEPLOY.parent / "Containerfile").read_text(), re.MULTILINE)
    own = {name: service.get("healthcheck", {}).get("test") for name, service in COMPOSE["services"].items()}
    ours = {name: service for name, service in COMPOSE["services"].items() if service["image"] == "innkeeper"}
    return {name: own[name][1:] if own[name] else json.loads(words) for name in ours}


def test_each_role_is_asked_as_what_it_is() -> None:
    """No container is asked at a port that it has not; each check is a command that exists."""
    checks = health_checks()
    assert {name: words[-1] for name, words in checks.items()} == {"serve": "serve", "jobs": "jobs"}
    for program, *args in checks.values():
        assert program == "innkeeper"
        parse(args)


def test_image_has_the_parts() -> None:
    """The image installs extras, among them the driver of the database that the compose file names."""
    import tomllib

    extras = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (parts,) = re.findall(r"'\.\[(.*)\]'", (DEPLOY.parent / "Containerfile").read_text())
    assert set(parts.split(",")) <= extras.keys()
    assert {"serve", "postgres"} <= set(parts.split(","))


def names_of_metrics() -> set[str]:
    """Return the names that the service shows at /metrics, series of histograms and closed deployments among them."""
    lines = ServiceMetrics(Gate(calls=1, volume=1)).text().decode().splitlines()
    named = {line.split()[2]: line.split()[3] for line in lines if line.startswith("# TYPE")}
    series = {
        f"{name}_{end}" for name, kind in named.items() if kind == "histogram" for end in ("bucket", "count", "sum")
    }
    return {*named, *series, "innkeeper_deployment_closed"}


def expressions() -> list[Any]:
    """Return every expression of the alert rules and the dashboard."""
    rules = [(rule["alert"], rule["expr"]) for group in ALERTS["groups"] for rule in group["rules"]]
    panels = [(panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return [pytest.param(expr, id=title) for title, expr in rules + panels]


@pytest.mark.parametrize("expression", expressions())
def test_metrics_exist(expression: str) -> None:
    """What is watched is what the service counts."""
    assert set(re.findall(r"\binnkeeper_\w+", expression)) <= names_of_metrics()


def test_page_links_every_file() -> None:
    """The operator's page names each file of the folder."""
    page = PAGE.read_text()
    assert not [file.name for file in DEPLOY.iterdir() if f"deploy/{file.name}" not in page]
