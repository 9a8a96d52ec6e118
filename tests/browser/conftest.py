"""A real Chromium before a real service: api, worker, PostgreSQL and Redis, with one of everything in it.

Run by ``make test-browser``. Needs Chromium, where ``GRAPHVEIL_TEST_CHROMIUM`` says or at
``/usr/bin/chromium``; nothing is downloaded.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from deploy.local.stack import Stack
from tests.support.faults import until
from tests.support.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = os.environ.get("GRAPHVEIL_TEST_CHROMIUM", "/usr/bin/chromium")
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
EDGES = "source,target\n" + "".join(f"{i},{(7 * i + k) % 90}\n" for i in range(90) for k in (1, 2, 3, 5))
STATIC = {
    "node_types": [{"name": "person", "count": 90}],
    "edge_types": [{"name": "mail", "source": "person", "target": "person"}],
}
TIMED = {
    "node_types": [{"name": "person", "count": 60}],
    "edge_types": [{"name": "contact", "source": "person", "target": "person", "temporal": True}],
    "time": {"start": 0, "width": 7, "count": 52},
}


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """The service, on a folder of its own that the database's user can walk to."""
    with tempfile.TemporaryDirectory(prefix="gv-browser-", dir="/tmp") as path:
        Path(path).chmod(0o755)
        with Stack(Path(path) / "data") as running:
            yield running


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Chromium, as the machine has it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@dataclass
class Watch:
    """What a browser did that no page should make it do."""

    url: str
    complaints: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def over(self, context: BrowserContext) -> None:
        context.on("request", self._request)
        context.on("console", lambda message: self._said(message.type, message.text))
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.elsewhere.append(request.url)

    def _said(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)


@pytest.fixture
def browsing(stack: Stack, chromium: Browser) -> Callable[..., Any]:
    """Opens browsers of their own: ``with browsing(token) as page``. None may complain or ask elsewhere."""

    @contextmanager
    def opened(token: str | None = None, *, quiet: bool = True, **options: Any) -> Iterator[Page]:
        watch = Watch(stack.url)
        context = chromium.new_context(base_url=stack.url, accept_downloads=True, **options)
        watch.over(context)
        page = context.new_page()
        page.set_default_timeout(1_000 * PATIENCE_SECONDS)
        if token is not None:
            sign_in(page, token)
        yield page
        context.close()
        assert watch.elsewhere == []
        assert not quiet or watch.complaints == []

    return opened


def sign_in(page: Page, token: str) -> None:
    """A key is typed in, and sent."""
    page.goto("/console/sign-in")
    page.get_by_label("API key").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/console")


class Caller:
    """The same service through its API: for what a test needs to be there, and is not about."""

    def __init__(self, url: str, token: str) -> None:
        self._client = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE_SECONDS
        )

    def __call__(self, method: str, path: str, **options: Any) -> Any:
        headers = {"Idempotency-Key": secrets.token_hex(8)} if method == "POST" else {}
        answer = self._client.request(method, path, headers=headers, **options)
        assert answer.status_code < 300, (method, path, answer.text)
        return answer.json() if answer.content else None

    def key(self, person: str, *roles: str) -> dict[str, Any]:
        """A key of that person."""
        return self("POST", "/keys", json={"name": person, "person": person, "roles": list(roles)})

    def ready(self, name: str, content: str = EDGES, **declared: Any) -> str:
        """A dataset that the worker has validated."""
        body = {"name": name, "unit": "edge", "epsilon": "6", "graph_schema": STATIC, **declared}
        dataset_id = self("POST", "/datasets", json=body)["id"]
        self("PUT", f"/datasets/{dataset_id}/content?part=edges&format=csv", content=content)
        return self.until(f"/datasets/{dataset_id}", "ready")["id"]

    def until(self, path: str, *states: str, seconds: float = 300) -> Any:
        """The object, once it is in one of the states."""
        found: dict[str, Any] = {}

        def there() -> bool:
            found.update(self("GET", path))
            return found["state"] in states

        until(there, seconds=seconds, what=f"{path} in {states}")
        return found


@pytest.fixture(scope="session")
def call(stack: Stack) -> Caller:
    return Caller(stack.url, stack.token)


@pytest.fixture(scope="session")
def populated(call: Caller) -> dict[str, str]:
    """One of everything, by name: its id."""
    dataset = call.ready("mail", policy={"approval_above_epsilon": "2"})
    elsewhere = EDGES.replace("\n1,", "\n2,")
    strict = {"approval_above_epsilon": "1"}
    other = call.ready("mail of another year", elsewhere, protection_domain="other", policy=strict)
    published = call("POST", "/jobs", json={"dataset_id": dataset, "epsilon": "1", "label": "spring term"})
    call.until(f"/jobs/{published['id']}", "published")
    waiting = call("POST", "/jobs", json={"dataset_id": dataset, "epsilon": "2.5", "label": "autumn term"})
    call("POST", f"/datasets/{dataset}/budget/grants", json={"epsilon": "1", "reason": "second year"})
    policy = {"policy": {"approval_above_epsilon": "5"}, "reason": "fewer questions"}
    answer = call._client.put(f"/datasets/{other}/policy", json=policy, headers={"If-Match": "*"})
    assert answer.status_code < 300, answer.text
    rejected = call(
        "POST", "/datasets", json={"name": "broken", "unit": "edge", "epsilon": "1", "graph_schema": STATIC}
    )["id"]
    call("PUT", f"/datasets/{rejected}/content?part=edges&format=csv", content="source,target\n1,2\n3,9999\n")
    call.until(f"/datasets/{rejected}", "rejected")
    proposed = call("POST", "/datasets", json={"name": "to be confirmed", "unit": "edge", "epsilon": "1"})[
        "id"
    ]
    call("PUT", f"/datasets/{proposed}/content?part=edges&format=csv", content=EDGES)
    call.until(f"/datasets/{proposed}", "proposed")
    timed = call.ready(
        "contacts", content="source,target,time\n", unit="w-event", window=4, epsilon="2", graph_schema=TIMED
    )
    stream = call("POST", "/streams", json={"dataset_id": timed, "epsilon": "1", "label": "contacts by week"})
    for step in range(3):
        rows = "".join(f"{i},{(5 * i + step + 1) % 60}\n" for i in range(60))
        path = f"/streams/{stream['id']}/snapshots?step={step}"
        call("POST", path, content=f"source,target\n{rows}")
    snapshot = call.until(f"/streams/{stream['id']}/snapshots/2", "published", "failed")
    assert snapshot["state"] == "published"
    audit = call("POST", "/audits", json={"method": "laplace", "unit": "edge", "epsilon": "1", "runs": 1000})
    call.until(f"/audits/{audit['id']}", "done")
    webhook = call(
        "POST", "/webhooks", json={"url": "https://hooks.example.org/told", "events": ["job.published"]}
    )
    return {
        "dataset": dataset,
        "rejected": rejected,
        "proposed": proposed,
        "published": published["id"],
        "waiting": waiting["id"],
        "stream": stream["id"],
        "timed": timed,
        "audit": audit["id"],
        "webhook": webhook["id"],
    }
