"""Every page at two widths, in light and dark: nothing for axe to find, nothing cut off."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deploy.local.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

PAGES = {
    "overview": "/console",
    "datasets": "/console/datasets",
    "dataset": "/console/datasets/{dataset}",
    "register": "/console/register",
    "upload": "/console/datasets/{rejected}/upload",
    "schema": "/console/datasets/{proposed}/schema",
    "release": "/console/datasets/{dataset}/release?epsilon=2.5&edges=400",
    "refused": "/console/datasets/{dataset}/release?epsilon=99",
    "verified": "/console/datasets/{dataset}/verify",
    "jobs": "/console/jobs",
    "job": "/console/jobs/{published}",
    "waiting": "/console/jobs/{waiting}",
    "approvals": "/console/approvals",
    "streams": "/console/streams",
    "stream": "/console/streams/{stream}",
    "stream-new": "/console/datasets/{timed}/stream?epsilon=0.5&first_step=20",
    "stream-refused": "/console/datasets/{dataset}/stream",
    "ledger": "/console/ledger",
    "audits": "/console/audits",
    "audit": "/console/audits/{audit}",
    "webhooks": "/console/webhooks",
    "webhook": "/console/webhooks/{webhook}",
    "keys": "/console/keys",
}
SHOTS = os.environ.get("GRAPHVEIL_TEST_SHOTS")
"""A folder for a picture of every page; without it none are kept."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_is_for_everybody(
    browsing: Callable[..., Any], stack: Stack, populated: dict[str, str], width: int, scheme: str
):
    from axe_playwright_python.sync_playwright import Axe

    axe, found = Axe(), []
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    with browsing(**options) as page:
        page.goto("/console/sign-in")
        found += [("sign-in", each) for each in _violations(axe, page)]
        _keep(page, f"sign-in-{width}-{scheme}")
    with browsing(stack.token, **options) as page:
        for name, path in PAGES.items():
            answer = page.goto(path.format(**populated))
            assert answer is not None
            assert answer.status == 200, name
            page.wait_for_function("window.htmx !== undefined")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            found += [(name, each) for each in _violations(axe, page)]
            _keep(page, f"{name}-{width}-{scheme}")
    assert not found, "\n".join(f"{name}: {each}" for name, each in found)


def _violations(axe: Any, page: Any) -> list[str]:
    """What axe finds, each with the elements that it is about."""
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:160] for node in each['nodes'][:3]]}"
        for each in axe.run(page).response["violations"]
    ]


def _keep(page: Any, name: str) -> None:
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)


def test_an_unknown_address_is_a_page_that_leads_on(browsing: Callable[..., Any], stack: Stack):
    with browsing(stack.token, quiet=False) as page:  # the browser itself complains of a 404
        answer = page.goto("/console/no-such-page")
        assert answer is not None
        assert answer.status == 404
        page.get_by_role("link", name="To the overview").click()
        page.wait_for_url("**/console")


def test_a_keyboard_alone_signs_in_and_reaches_the_page(browsing: Callable[..., Any], stack: Stack):
    with browsing() as page:
        page.goto("/console/sign-in")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the page"
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "f-key"
        page.keyboard.type(stack.token)
        page.keyboard.press("Enter")
        page.wait_for_url("**/console")
        assert page.get_by_role("heading", level=1).inner_text() == "Overview"


def test_a_job_prints_without_its_controls(
    browsing: Callable[..., Any], stack: Stack, populated: dict[str, str]
):
    with browsing(stack.token) as page:
        page.goto(f"/console/jobs/{populated['published']}")
        page.emulate_media(media="print")
        assert not page.get_by_role("button", name="Sign out").is_visible()
        assert page.get_by_role("heading", level=1).is_visible()
