"""Stored keys: kept in the keyring or sealed, sent to their own address alone, shown by nothing."""

import json
import os
import stat
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE
from types import SimpleNamespace
from typing import Any

import pytest

from innkeeper.cli.settings.keys import KeyStore, key_for, key_names
from innkeeper.cli.settings.settings import UserSettings
from innkeeper.library.errors import TamperedSecretError, VaultError
from innkeeper.prompt.errors import FormatError, InnkeeperError, UnavailableError, UnknownNameError, UsageError
from innkeeper.prompt.machine import Secret

KEY = "sk-lantern-0123456789"


class FakeKeyring:
    """The library ``keyring`` with one backend; ``broken`` lets it raise, with what it was given in the text."""

    def __init__(self, priority: float = 5, *, broken: bool = False) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.priority, self.broken = priority, broken

    def get_keyring(self) -> Any:
        return SimpleNamespace(priority=self.priority)

    def set_password(self, service: str, account: str, text: str) -> None:
        if self.broken:
            raise RuntimeError(f"cannot keep {text}")
        self.kept[service, account] = text

    def get_password(self, service: str, account: str) -> str | None:
        if self.broken:
            raise RuntimeError("locked")
        return self.kept.get((service, account))

    def delete_password(self, service: str, account: str) -> None:
        if self.broken:
            raise RuntimeError("locked")
        del self.kept[service, account]


def store(path: Path, keyring: FakeKeyring | None = None) -> KeyStore:
    """Stored keys in a folder of the test's own; without a keyring they are sealed."""
    return KeyStore(environ={"INNKEEPER_HOME": str(path)}, keyring=keyring or FakeKeyring(priority=0))


def read(keys: KeyStore, name: str = "openrouter") -> str:
    """What a key is."""
    secret = keys.get(name)
    assert secret is not None
    return secret.reveal()


def test_sealed(tmp_path: Path) -> None:
    """Without a keyring a key lies sealed in a file for its owner alone, beside the vault's key, and is read back."""
    kept = store(tmp_path).set("openrouter", Secret(f"{KEY}\n"))
    assert kept == ("openrouter", str(tmp_path / "keys.json"))
    assert read(store(tmp_path)) == KEY
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert KEY not in path.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keys.json", "vault.key"]


def test_in_the_keyring(tmp_path: Path) -> None:
    """With a keyring it has the key, and the file only the name."""
    keyring = FakeKeyring()
    kept = store(tmp_path, keyring).set("openrouter", Secret(KEY))
    assert kept.place == "the keyring of the system"
    assert keyring.kept == {("innkeeper", "key:openrouter"): KEY}
    assert json.loads((tmp_path / "keys.json").read_text())["keys"] == {"openrouter": {}}
    assert read(store(tmp_path, keyring)) == KEY
    store(tmp_path, keyring).remove("openrouter")
    assert keyring.kept == {}


def test_a_keyring_that_refuses(tmp_path: Path) -> None:
    """A keyring that takes nothing is passed over; one that gives nothing back is an error without what it said."""
    assert store(tmp_path, FakeKeyring(broken=True)).set("openrouter", Secret(KEY)).place.endswith("keys.json")
    keyring = FakeKeyring()
    store(tmp_path, keyring).set("openrouter", Secret(KEY))
    keyring.broken = True
    with pytest.raises(UnavailableError, match="refuses: RuntimeError"):
        store(tmp_path, keyring).get("openrouter")
    with pytest.raises(UnavailableError, match="refuses: RuntimeError"):
        store(tmp_path, keyring).remove("openrouter")
    with pytest.raises(UnavailableError, match="no more in the keyring"):
        store(tmp_path, FakeKeyring()).get("openrouter")


def test_names(tmp_path: Path) -> None:
    """Keys are listed by name, replaced and forgotten; an unknown one is met with the nearest."""
    keys = store(tmp_path)
    assert keys.list() == ()
    assert keys.get("openrouter") is None
    for name in ("openrouter", "llm.example.org:8080", "openrouter"):
        keys.set(name, Secret(f"{KEY}-{name[0]}"))
    assert [key.name for key in keys.list()] == ["llm.example.org:8080", "openrouter"]
    with pytest.raises(UnknownNameError, match="unknown key") as caught:
        keys.remove("opnrouter")
    assert caught.value.hint == "did you mean 'openrouter'?"
    keys.remove("openrouter")
    assert [key.name for key in keys.list()] == ["llm.example.org:8080"]


@pytest.mark.parametrize("value", ["", "  \n", "two words", "schlüssel", "a\x00b", "x" * 5_000])
def test_no_key(tmp_path: Path, value: str) -> None:
    """What can be no key is refused without being quoted."""
    with pytest.raises(UsageError, match="no key") as caught:
        store(tmp_path).set("openrouter", Secret(value))
    assert not value.strip() or value not in caught.value.render()
    assert not (tmp_path / "keys.json").exists()


def test_no_name(tmp_path: Path) -> None:
    """A name with other characters than those of providers and hosts is refused."""
    with pytest.raises(UsageError, match="named by a provider"):
        store(tmp_path).set("../x", Secret(KEY))


def test_another_vault_key(tmp_path: Path) -> None:
    """A key that was sealed by another key of the vault is said to be so."""
    store(tmp_path).set("openrouter", Secret(KEY))
    (tmp_path / "vault.key").unlink()
    store(tmp_path).set("other", Secret(KEY))
    with pytest.raises(VaultError, match="sealed by another key"):
        store(tmp_path).get("openrouter")


def test_swapped_entries(tmp_path: Path) -> None:
    """A sealed key under another name is not opened: it would go to another provider."""
    store(tmp_path).set("openrouter", Secret(KEY))
    path = tmp_path / "keys.json"
    path.write_text(path.read_text().replace("openrouter", "evil.example"))
    with pytest.raises(TamperedSecretError):
        store(tmp_path).get("evil.example")


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"keys": {"openrouter": {"sealed": 5}}}', '{"keys": 1}', "x" * 1_000_001]
)
def test_damaged_files(tmp_path: Path, text: str) -> None:
    """A file that holds no keys is refused by its name, and not overwritten."""
    path = tmp_path / "keys.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"keys\.json"):
        store(tmp_path).set("openrouter", Secret(KEY))
    assert path.read_text() == text


def test_not_base64(tmp_path: Path) -> None:
    """A sealed text that is none is refused."""
    store(tmp_path).set("openrouter", Secret(KEY))
    path = tmp_path / "keys.json"
    document = json.loads(path.read_text())
    document["keys"]["openrouter"]["sealed"] = "§"
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match="form"):
        store(tmp_path).get("openrouter")


def settings(path: Path, **environ: str) -> UserSettings:
    """Settings with a provider of the user's own, and keys in a folder of the test's own."""
    document = {"providers": {"mine": "https://llm.example.org/api"}}
    return UserSettings(document, path / "config.toml", {"INNKEEPER_HOME": str(path), **environ})


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("https://openrouter.ai/api", ["openrouter", "openrouter.ai:443", "openrouter.ai"]),
        ("https://OPENROUTER.ai", ["openrouter", "openrouter.ai:443", "openrouter.ai"]),
        ("https://openrouter.ai.evil.example", ["openrouter.ai.evil.example:443", "openrouter.ai.evil.example"]),
        ("http://openrouter.ai", ["openrouter.ai:80"]),
        ("https://openrouter.ai:8443", ["openrouter.ai:8443"]),
        ("https://llm.example.org", ["mine", "llm.example.org:443", "llm.example.org"]),
        ("http://localhost:11434", ["ollama", "localhost:11434"]),
        ("nowhere", []),
        ("http://[", []),
    ],
)
def test_names_of_an_address(tmp_path: Path, address: str, names: list[str]) -> None:
    """A key belongs to scheme, host and port; a host that only looks like it gets none."""
    assert key_names(address, settings(tmp_path)) == names


def test_key_for_an_address(tmp_path: Path) -> None:
    """The key of the address's provider is found; the environment's wins; other addresses get none."""
    keys = store(tmp_path)
    assert key_for("https://openrouter.ai/api", settings(tmp_path), keys) is None
    keys.set("openrouter", Secret(KEY))
    known = key_for("https://openrouter.ai/api", settings(tmp_path), keys)
    assert known is not None
    assert known.reveal() == KEY
    assert key_for("https://api.openai.com", settings(tmp_path), keys) is None
    assert key_for("https://openrouter.ai/api", settings(tmp_path, INNKEEPER_API_KEY="other"), keys) is None


def test_unreadable(tmp_path: Path) -> None:
    """A file that cannot be read or written is an error with its name."""
    (tmp_path / "keys.json").mkdir()
    with pytest.raises(UnavailableError, match=r"keys\.json"):
        store(tmp_path).list()
    (tmp_path / "file").write_text("")
    with pytest.raises(InnkeeperError):
        KeyStore(tmp_path / "file" / "keys.json", {"INNKEEPER_HOME": str(tmp_path)}, FakeKeyring(0)).set(
            "a", Secret(KEY)
        )


_SET = """
import sys
from innkeeper.cli.settings.keys import KeyStore
from innkeeper.library.vault import keys, sealing
from innkeeper.prompt.machine import Secret
print("ready", flush=True)
sys.stdin.readline()
KeyStore().set(sys.argv[1], Secret("sk-" + sys.argv[1]))
"""


def test_first_keys_at_the_same_time(tmp_path: Path) -> None:
    """Several processes set the first keys at once: each is there, and opens."""
    names = [f"host-{number}.example" for number in range(4)]
    environ = {
        **os.environ,
        "INNKEEPER_HOME": str(tmp_path / "home"),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen([sys.executable, "-c", _SET, name], stdin=PIPE, stdout=PIPE, text=True, env=environ)
            )
            for name in names
        ]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("now\n")
            process.stdin.flush()
        assert [process.wait(60) for process in processes] == [0] * len(names)
    kept = store(tmp_path / "home")
    assert [read(kept, name) for name in names] == [f"sk-{name}" for name in names]
