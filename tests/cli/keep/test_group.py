"""``innkeeper library``: its commands in one group, also under the names that they had."""

from tests.cli.running import Run


def test_both_names(run: Run) -> None:
    """A command of the library answers in its group, and by its former name, with a hint."""
    now, before = run("library", "vault", "status"), run("vault", "status")
    assert now.out == before.out
    assert (now.err, before.err) == ("", "innkeeper: vault is called library vault now\n")


def test_help(run: Run) -> None:
    """The help has the commands in sections, and examples."""
    out = run("library", "--help").out
    places = [
        out.index(part) for part in ("Contents:", "  template", "Administration:", "innkeeper library db upgrade")
    ]
    assert places == sorted(places)


def test_models_are_told_apart(run: Run) -> None:
    """`models` are those on this machine; the catalogue's `model` is in the library alone."""
    out = run("--help").out
    assert "  models " in out
    assert "  model " not in out
    assert "  model " in run("library", "--help").out
