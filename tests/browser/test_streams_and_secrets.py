"""A stream is opened and closed, and a webhook's secret is made anew, with a browser alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from deploy.local.stack import Stack
from tests.browser.conftest import TIMED, Caller

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])


@SCRIPTS
def test_a_stream_is_opened_watched_and_closed(
    browsing: Callable[..., Any], call: Caller, scripts: bool
) -> None:
    name = f"weeks {'with' if scripts else 'without'} scripts"
    call.ready(name, "source,target,time\n", unit="w-event", window=4, epsilon="2", graph_schema=TIMED)
    key = call.key(f"streamer-{scripts}", "curator")
    with browsing(key["token"], java_script_enabled=scripts) as page:
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto("/console/datasets?sort=name")
        page.get_by_role("link", name=name).click()
        page.get_by_role("link", name="Open a stream").click()
        page.get_by_label("Epsilon of every window").fill("0.6")
        if scripts:  # the answer is drawn anew as the field is left
            page.keyboard.press("Tab")
        else:
            page.get_by_role("button", name="Show what it buys").click()
        page.get_by_role("heading", name="What it costs: ε 0.6 in any window").wait_for()
        page.get_by_label("Label").fill("by week")
        page.get_by_role("button", name="Open it at ε 0.6 a window").click()
        page.get_by_text("The stream is open.").wait_for()
        stream = page.url.partition("?")[0].rpartition("/")[2]
        rows = "".join(f"{i},{(5 * i + 1) % 60}\n" for i in range(60))
        call("POST", f"/streams/{stream}/snapshots?step=0", content=f"source,target\n{rows}")
        assert call.until(f"/streams/{stream}/snapshots/0", "published", "failed")["state"] == "published"
        page.get_by_role("link", name="Streams").first.click()
        page.get_by_role("link", name="by week").first.click()
        page.get_by_role("rowheader", name="0", exact=True).first.wait_for()
        page.get_by_text("snapshots?step=1").wait_for()
        page.get_by_role("button", name="Close the stream").click()
        page.get_by_text("The stream is closed.").wait_for()
    assert call("GET", f"/streams/{stream}")["state"] == "closed"


@SCRIPTS
def test_a_new_secret_is_shown_once(
    browsing: Callable[..., Any], stack: Stack, call: Caller, scripts: bool
) -> None:
    url = f"https://hooks.example.org/{'with' if scripts else 'without'}"
    with browsing(stack.token, java_script_enabled=scripts) as page:
        page.on("dialog", lambda dialog: dialog.accept())
        page.get_by_role("link", name="Webhooks").click()
        page.get_by_label("Address").fill(url)
        page.get_by_label("job.published").check()
        page.get_by_role("button", name="Add it").click()
        first = page.locator("code.token").inner_text()
        page.get_by_role("link", name=url, exact=True).click()
        page.get_by_role("button", name="Make a new secret").wait_for()  # not the page that showed it
        assert page.locator("code.token").count() == 0
        page.get_by_role("button", name="Make a new secret").click()
        page.get_by_role("heading", name="The webhook has a new secret").wait_for()
        assert page.locator("code.token").inner_text() != first
        page.get_by_role("link", name="Webhooks").first.click()
        page.get_by_role("link", name=url, exact=True).click()
        page.get_by_role("button", name="Make a new secret").wait_for()
        assert page.locator("code.token").count() == 0
