"""The inspector as it is started, asked by strangers in bytes of their own: no browser is needed, nothing is tidied up."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.inspector.chromium import inspecting

SECRET = "the words of another file"


class Door(NamedTuple):
    """Where the inspector is, its token, and the cookie that it gave."""

    host: str
    port: int
    token: str
    cookie: str

    @property
    def name(self) -> str:
        """How the service is called."""
        return f"{self.host}:{self.port}"

    def own(self, **headers: str) -> dict[str, str]:
        """The headers of a page of ours, some of them others."""
        ours = {"Host": self.name, "Origin": f"http://{self.name}", "Cookie": self.cookie}
        return {name: value for name, value in {**ours, **headers}.items() if value}


def ask(host: str, port: int, line: str, headers: dict[str, str]) -> tuple[int, str]:
    """Send a request line as it stands; the status and all that comes back."""
    with socket.create_connection((host, port), timeout=60) as connection:
        lines = [f"{line} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "Connection: close"]
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    text = answer.decode(errors="replace")
    return int(text.split(" ", 2)[1]), text


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """An inspector at a folder with links out of it, opened by its owner."""
    root = tmp_path_factory.mktemp("strangers")
    (outside := root / "outside").mkdir()
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "A", "description": SECRET}}
    (outside / "secret.json").write_text(json.dumps(card))
    (folder := root / "opened").mkdir()
    (folder / "card.json").write_text(json.dumps(card).replace(SECRET, "hers"))
    (folder / "link.json").symlink_to(outside / "secret.json")
    (folder / "linked").symlink_to(outside, target_is_directory=True)
    (folder / ".hidden.json").write_text(json.dumps(card))
    (folder / "profile.toml").write_text('character = "../outside/secret.json"\nlorebooks = ["linked/secret.json"]\n')
    with inspecting(folder) as address:
        found = re.fullmatch(r"http://([\d.]+):(\d+)/inspector/\?token=(\w+)", address)
        assert found is not None
        host, port, token = found[1], int(found[2]), found[3]
        status, text = ask(host, port, f"GET /inspector/?token={token}", {"Host": f"{host}:{port}"})
        assert status == 303
        cookie = re.search(r"set-cookie: ([^;]+);", text, re.IGNORECASE)
        assert cookie is not None
        yield Door(host, port, token, cookie[1])


def test_its_owner_comes_in(door: Door) -> None:
    """What is refused below is not refused for another reason."""
    status, text = ask(door.host, door.port, "GET /v1/inspector/workspace", door.own())
    assert status == 200
    assert "card.json" in text


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": ""},
        {"Cookie": "innkeeper-inspector=1"},
        {"Host": "evil.example"},
        {"Host": "evil.example", "Origin": "http://evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "127.0.0.1@evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
@pytest.mark.parametrize("line", ["GET /v1/inspector/workspace", "GET /inspector/", "POST /v1/inspector/files?name=a"])
def test_strangers_do_not(door: Door, line: str, headers: dict[str, str]) -> None:
    """Without the cookie, under another name, from another page: nothing is shown and nothing is changed."""
    status, text = ask(door.host, door.port, line, door.own(**headers))
    assert status in {400, 401, 403}
    assert "card.json" not in text


@pytest.mark.parametrize("token", ["", "0", "' or 1=1", "%00", "0" * 64, "é"])
def test_a_token_is_used_once(door: Door, token: str) -> None:
    """Neither the one that was used nor a guess gives another cookie."""
    for one in (door.token, token):
        line = f"GET /inspector/?token={one.replace(' ', '+')}"
        status, text = ask(door.host, door.port, line, {"Host": door.name})
        assert status in {400, 403}
        assert "set-cookie" not in text.lower()


OUT = (
    "../secret.json", "..%2f..%2foutside%2fsecret.json", "%2e%2e/%2e%2e/outside/secret.json", "..%5c..%5coutside%5csecret.json",
    "%252e%252e%252foutside%252fsecret.json", "..%c0%af..%c0%afoutside", "%00", "link.json", "linked%2fsecret.json",
    ".hidden.json", "%2fetc%2fpasswd", "//etc/passwd", "....//....//outside/secret.json", "f0%00.json",
    "file:%2f%2f%2fetc%2fpasswd",
)  # fmt: skip


@pytest.mark.parametrize("way", OUT)
@pytest.mark.parametrize("base", ["/inspector/", "/inspector/assets/", "/v1/inspector/files/", "/"])
def test_no_way_leads_out(door: Door, base: str, way: str) -> None:
    """Dots, slashes and their encoded forms, names of links, names of files elsewhere."""
    status, text = ask(door.host, door.port, f"GET {base}{way}", door.own())
    assert status in {307, 308, 400, 404}
    assert SECRET not in text
    assert "root:" not in text


def test_links_out_of_the_folder_are_not_opened(door: Door) -> None:
    """Neither as files nor through a profile that names them; hidden files are not opened either."""
    _, text = ask(door.host, door.port, "GET /v1/inspector/workspace", door.own())
    _, prompt = ask(door.host, door.port, "GET /v1/inspector/inspection", door.own())
    assert '"link.json"' not in text
    assert "linked/" not in re.sub(r'"findings":\[.*?\]', "", text)
    assert "hidden" not in text
    assert SECRET not in text + prompt
