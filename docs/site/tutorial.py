"""``python docs/site/tutorial.py`` beside a stack (see ``deploy.local.beside``): pictures of the tutorial.

Does what ``docs/tutorial.md`` tells to do, on a fresh stack and with the shipped example, and photographs
the console on the way. Needs what ``make test-browser`` needs.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from graphveil.sdk.client import Graphveil

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
EXAMPLE = ROOT / "examples" / "us-flights"
CHROMIUM = "/usr/bin/chromium"
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


def main() -> None:
    """The pictures of the tutorial are those of this run."""
    url, token = os.environ["GRAPHVEIL_URL"], os.environ["GRAPHVEIL_TOKEN"]
    with Graphveil(url, token) as service, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        page = browser.new_page(base_url=url, viewport={"width": 1280, "height": 800})
        page.goto("/console/sign-in")
        page.get_by_label("API key").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/console")
        walk(service, page)
        browser.close()


def walk(service: Graphveil, page: Page) -> None:
    """Register, look, ask and read, and photograph each page."""
    schema: dict[str, Any] = json.loads((EXAMPLE / "schema.json").read_text(encoding="utf-8"))
    dataset = service.register_dataset("us-flights", unit="event", epsilon="4", graph_schema=schema)
    service.upload(dataset.id, EXAMPLE / "nodes.csv", part="nodes")
    service.upload(dataset.id, EXAMPLE / "edges.csv", part="edges")
    if service.wait_ready(dataset.id, timeout_seconds=120).state != "ready":
        sys.exit("the example was not accepted")
    page.goto(f"/console/datasets/{dataset.id}")
    taken(page, "dataset")
    page.goto(f"/console/datasets/{dataset.id}/release?epsilon=1")
    taken(page, "release")
    page.get_by_role("button", name="Spend ε 1 on this release").click()
    page.locator("#live, #files").first.wait_for()
    job = page.url.partition("?")[0]
    page.locator("#files").wait_for(timeout=300_000)
    service.wait_report(job.rpartition("/")[2], timeout_seconds=120)
    page.goto(job)
    page.locator("#files").wait_for()
    taken(page, "report")
    page.goto("/console")
    taken(page, "overview")


def taken(page: Page, name: str) -> None:
    """A picture of what a window of the page's size shows."""
    page.screenshot(path=PICTURES / f"tutorial-{name}.png")


if __name__ == "__main__":
    main()
