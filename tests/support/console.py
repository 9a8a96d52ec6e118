"""Somebody at the console: a browser's cookies, pages and forms, without the browser."""

from __future__ import annotations

import re
from typing import Any

from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from api.console.routes import ROUTERS

TOKEN = re.compile(r'name="csrf" value="([0-9a-f]{64})"')


def csrf_in(page: str) -> str:
    """The token that the page's forms carry."""
    found = TOKEN.search(page)
    assert found is not None, page[:2000]
    return found[1]


def routes() -> list[tuple[str, str]]:
    """Every page and form of the console: method and path."""
    return [
        (method, route.path)
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in sorted(route.methods)
    ]


class Steward:
    """One browser that is signed in with one key."""

    def __init__(self, app: Any, token: str | None = None) -> None:
        self.client = TestClient(app, raise_server_exceptions=False, follow_redirects=False)
        if token is not None:
            self.sign_in(token)

    def sign_in(self, token: str, **fields: str) -> Any:
        page = self.client.get("/console/sign-in")
        sent = {"csrf": csrf_in(page.text), "key": token, **fields}
        return self.client.post("/console/sign-in", data=sent)

    def get(self, path: str, **options: Any) -> Any:
        return self.client.get(path, **options)

    def post(self, path: str, **fields: Any) -> Any:
        """A form of this session is sent."""
        token = csrf_in(self.get("/console").text)
        return self.client.post(path, data={"csrf": token, **fields})

    def plant(self, cookie: str | None) -> None:
        """The browser has this cookie of a session, wherever it comes from."""
        self.client.cookies.set("graphveil-session", str(cookie), domain="testserver.local", path="/")

    @property
    def cookie(self) -> str | None:
        return self.client.cookies.get("graphveil-session")
