"""Settings: what goes together, and what a service does not start with."""

from pathlib import Path

import pytest

from innkeeper.prompt.allowance import BuildLimits
from innkeeper.prompt.errors import ConfigError, UsageError
from innkeeper.service import Keys, Settings
from innkeeper.service.guard.grants import read_keys
from innkeeper.service.settings import is_loopback


@pytest.mark.parametrize(
    ("host", "inside"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("localhost", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.0", False),  # noqa: S104 - named to be refused
        ("::", False),
        ("192.168.1.2", False),
        ("", False),
        ("localhost.example.org", False),
    ],
)
def test_loopback(host: str, inside: bool) -> None:
    """Only this machine's addresses count as inside, and only outside ones need a key."""
    assert is_loopback(host) is inside
    assert Settings(host=host, keys=Keys("k")).checked().host == host
    if inside:
        assert Settings(host=host).checked().host == host
    else:
        with pytest.raises(ConfigError, match="no key is set"):
            Settings(host=host).checked()


@pytest.mark.parametrize(
    "settings",
    [
        Settings(port=70_000),
        Settings(profile="other"),
        Settings(max_body=0),
        Settings(time_budget=-1.0),
        Settings(data=Path("/no/such/folder")),
        Settings(cors_origins=("example.org",)),
        Settings(cors_origins=("https://example.org/",)),
    ],
    ids=["port", "profile", "body", "time", "data", "no scheme", "a path"],
)
def test_refused(settings: Settings) -> None:
    """Settings that make no sense are refused with a hint."""
    with pytest.raises(ConfigError) as caught:
        settings.checked()
    assert caught.value.hint


def test_keys(tmp_path: Path) -> None:
    """Keys come from a file and the environment; comments and blank lines are none; nothing shows them."""
    path = tmp_path / "keys"
    path.write_text("# mine\n\n one \ntwo\n")
    keys = read_keys(path, {"INNKEEPER_SERVICE_KEY": " three "})
    assert [keys.name(key) is not None for key in (b"one", b"two", b"three", b"# mine", b"", b"on")] == [True] * 3 + [
        False
    ] * 3
    assert repr(keys) == "Keys(3 set)"
    assert "three" not in repr(Settings(keys=keys))
    assert not read_keys(None, {"INNKEEPER_SERVICE_KEY": "  "})


@pytest.mark.parametrize(
    "content", [None, b"", b"# only\n", b"\xff\xfe"], ids=["absent", "empty", "comments", "binary"]
)
def test_no_keys(tmp_path: Path, content: bytes | None) -> None:
    """A key file without a key is refused: it would leave the door open."""
    path = tmp_path / "keys"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError):
        read_keys(path, {})


def test_limits_behind_a_key(tmp_path: Path) -> None:
    """What its calls may take stands behind a key; a key with blanks in it stays one."""
    file = tmp_path / "keys"
    file.write_text("# keys\nfirst seconds=0.5 steps=1000\nsecond\nthird with blanks\n", encoding="utf-8")
    keys = read_keys(file, {})
    names = [keys.name(key) for key in (b"first", b"second", b"third with blanks")]
    assert [keys.grant(name or "").limits for name in names] == [
        BuildLimits(seconds=0.5, steps=1000),
        BuildLimits(),
        BuildLimits(),
    ]
    file.write_text("first seconds=none\n", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_keys(file, {})
    assert "first" not in caught.value.render()
