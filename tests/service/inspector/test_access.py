"""Who may look at a workspace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from innkeeper.service.guard.guard import POLICY
from tests.service.inspector.opened import BASE, Browser, browser_of, session_of

API = "/v1/inspector/workspace"
CHANGE = "/v1/inspector/files?name=a.json"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser at a workspace without files."""
    with browser_of(session_of({})) as browser:
        yield browser


def stranger(browser: Browser, base: str = BASE, **headers: str) -> TestClient:
    """Another client of the same inspector."""
    return TestClient(browser.inspector, base_url=base, headers=headers, follow_redirects=False)


def test_the_token_opens_once(browser: Browser) -> None:
    """It becomes a cookie that scripts do not see and other sites do not send, and is gone from the address."""
    token = browser.inspector.access.new_token()
    first = stranger(browser).get(f"/inspector/?token={token}")
    assert (first.status_code, first.headers["location"]) == (303, "/inspector/")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    second = stranger(browser).get(f"/inspector/?token={token}")
    assert second.status_code == 403
    assert "set-cookie" not in second.headers


def test_a_wrong_or_old_token_opens_nothing(browser: Browser) -> None:
    """Of two tokens only the newer counts."""
    old, new = browser.inspector.access.new_token(), browser.inspector.access.new_token()
    for token in ("", "0" * 64, old, new + "0"):
        assert stranger(browser).get("/inspector/", params={"token": token}).status_code == 403
    assert stranger(browser).get(f"/inspector/?token={new}").status_code == 303


@pytest.mark.parametrize("path", ["/inspector/", "/inspector/index.html", API, "/v1/inspector/wire"])
def test_nothing_is_shown_without_the_cookie(browser: Browser, path: str) -> None:
    """Neither the page nor its assets nor the API."""
    reply = stranger(browser, origin=BASE).get(path)
    assert reply.status_code == 401
    forged = stranger(browser, origin=BASE, cookie=f"{browser.inspector.access.cookie}=1; x").get(path)
    assert forged.status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"host": "evil.example", "origin": "http://evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example:8123"}, 403),
        ({"host": ""}, 403),
        ({"host": "localhost:8123", "origin": "http://localhost:8123"}, 200),
        ({"host": "[::1]:8123", "origin": "http://[::1]:8123"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
    ],
)
def test_pages_of_others_are_refused(browser: Browser, headers: dict[str, str], status: int) -> None:
    """A foreign origin, a name that was made to point here, a request that a browser says is foreign."""
    cookie = f"{browser.inspector.access.cookie}={browser.cookies[browser.inspector.access.cookie]}"
    assert browser.get(API, headers={"cookie": cookie, **headers}).status_code == status


def test_what_changes_something_says_where_it_comes_from(browser: Browser) -> None:
    """Without an origin of ours nothing is changed, and no socket opened."""
    with browser_of(session_of({})) as other:
        del other.headers["origin"]
        assert other.get(API).status_code == 200
        assert other.post(CHANGE, content=b"{}").status_code == 403
        with pytest.raises(WebSocketDisconnect), other.live():
            pass
    assert (
        browser.post("/v1/inspector/compare", content=b"{}", headers={"content-type": "text/plain"}).status_code == 422
    )


@pytest.mark.parametrize(
    "path", ["/inspector/", API, "/v1/inspector/nothing", "/inspector/../../etc/passwd", "/health"]
)
def test_every_reply_has_the_policy(browser: Browser, path: str) -> None:
    """Whatever it is, it loads nothing from elsewhere, is framed by nobody, and is kept by no cache."""
    for client in (browser, stranger(browser)):
        headers = client.get(path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path",
    ["../views.py", "..%2fviews.py", "%2e%2e/views.py", "..\\views.py", "/etc/passwd", "sources.json/../../views.py"],
)
def test_only_files_of_the_page_are_served(browser: Browser, path: str) -> None:
    """By their exact names: no way leads out."""
    assert browser.get(f"/inspector/{path}").status_code in {307, 404}
