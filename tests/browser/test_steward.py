"""What a steward does with a browser alone: from a file to an approved release, and out with its key."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deploy.local.stack import Stack
from tests.browser.conftest import EDGES, Caller

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

JOB_MILLISECONDS = 300_000  # the first job of a fresh checkout compiles its kernels


class Hand:
    """A hand at one page: it clicks, types and chooses, and counts."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.clicks = self.fields = 0

    def click(self, name: str, role: str = "button", exact: bool = True) -> None:
        self.clicks += 1
        self.page.get_by_role(role, name=name, exact=exact).first.click()

    def fill(self, label: str, value: str) -> None:
        self.fields += 1
        self.page.get_by_label(label, exact=True).first.fill(value)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_from_a_file_to_an_approved_release(
    browsing: Callable[..., Any],
    call: Caller,
    tmp_path: Path,
    scripts: bool,
    capsys: pytest.CaptureFixture[str],
):
    name = "interviews with scripts" if scripts else "interviews without"
    file = tmp_path / "edges.csv"
    file.write_text(EDGES.replace("\n4,", "\n5,") if scripts else EDGES.replace("\n4,", "\n6,"))
    first = call.key(f"steward-{scripts}", "curator", "requester")
    second = call.key(f"second-{scripts}", "curator")
    options = {"java_script_enabled": scripts}
    began = time.monotonic()
    with browsing(first["token"], **options) as page:
        hand = Hand(page)
        hand.click("Register a dataset", "link")
        hand.fill("Name", name)
        hand.fill("A second person above epsilon", "1")
        hand.click("Declare, and go on to the upload")
        page.get_by_label("File", exact=True).set_input_files(file)
        hand.clicks += 1
        hand.click("Send the file")
        page.get_by_role("heading", name="A schema was read off the upload").wait_for()
        hand.click("Look at the schema", "link")
        for box in page.locator('input[name="read_off"], input[name="noted"]').all():
            box.check()
            hand.clicks += 1
        hand.click("Confirm the schema")
        page.get_by_role("heading", name="The dataset is ready").wait_for()
        hand.click("New release", "link")
        hand.fill("Epsilon", "1.5")
        if scripts:  # the answer is drawn anew as the field is left
            page.keyboard.press("Tab")
            page.get_by_role("button", name="Ask a second person for ε 1.5").wait_for()
        else:
            hand.click("Show what it buys")
        page.get_by_text("Above the policy's threshold").wait_for()
        hand.fill("Label", "first release")
        hand.click("Ask a second person for ε 1.5")
        page.get_by_role("heading", name="Waits for a second person").wait_for()
        job = page.url.partition("?")[0]
        with browsing(second["token"], **options) as theirs:
            other = Hand(theirs)
            other.click("Approvals", "link")
            card = theirs.locator(f"#{job.rpartition('/')[2]}")
            card.get_by_label("Reason").first.fill("agreed in the data board")
            card.get_by_role("button", name="Approve").click()
            theirs.get_by_text("Approved. It has taken effect.").wait_for()
            hand.clicks += other.clicks + 1
            hand.fields += 1
        page.goto(job)
        page.locator("#files").wait_for(timeout=JOB_MILLISECONDS)  # nobody reloads the page
        seconds = time.monotonic() - began
        page.get_by_text(f"Decided by second-{scripts}: agreed in the data board").wait_for()
        page.get_by_role("heading", name="The promise").wait_for()
        page.get_by_text("one by one").click()
        with page.expect_download() as coming:
            page.get_by_role("link", name="edges.parquet").first.click()
        got = coming.value.path()
        digest = page.locator("tr", has=page.get_by_role("link", name="edges.parquet")).locator("code").first
        assert hashlib.sha256(Path(got).read_bytes()).hexdigest() == digest.inner_text()
    with capsys.disabled():
        print(
            f"\n{name}: {seconds:.0f} s from sign-in to the report, {hand.clicks} clicks, "
            f"{hand.fields} fields filled in, two persons"
        )
    assert hand.clicks <= 15


def test_a_job_is_watched_as_it_runs(browsing: Callable[..., Any], stack: Stack, populated: dict[str, str]):
    with browsing(stack.token) as page:
        page.goto(f"/console/datasets/{populated['dataset']}/release?epsilon=0.3&method=dcsbm")
        page.get_by_role("button", name="Spend ε 0.3 on this release").click()
        page.locator("#live, #files").first.wait_for()
        page.locator("#files").wait_for(timeout=JOB_MILLISECONDS)  # by itself: nobody reloads


def test_the_slider_redraws_the_answer(browsing: Callable[..., Any], stack: Stack, populated: dict[str, str]):
    with browsing(stack.token) as page:
        page.goto(f"/console/datasets/{populated['dataset']}/release?epsilon=0.5")
        slider = page.get_by_label("Epsilon, as a slider")
        slider.focus()
        with page.expect_response(lambda answer: "/release" in answer.url):
            page.keyboard.press("ArrowRight")
        page.get_by_role("button", name="Spend ε 0.55 on this release").wait_for()
        assert page.get_by_label("Epsilon", exact=True).input_value() == "0.55"
        assert page.get_by_role("heading", level=1).count() == 1


def test_a_revoked_key_is_out_at_once(browsing: Callable[..., Any], stack: Stack, call: Caller):
    key = call.key("soon-gone", "curator")
    with browsing(key["token"]) as theirs:
        theirs.get_by_role("heading", name="Overview").wait_for()
        with browsing(stack.token) as page:
            page.on("dialog", lambda dialog: dialog.accept())
            page.get_by_role("link", name="Keys").click()
            row = page.locator("tr", has=page.get_by_role("rowheader", name=re.compile("soon-gone")))
            row.get_by_role("button", name=re.compile("Revoke")).click()
            page.get_by_text("The key opens nothing any more").wait_for()
        theirs.get_by_role("link", name="Datasets").click()
        theirs.get_by_role("heading", name="Sign in").wait_for()


def test_after_the_sign_out_going_back_shows_nothing(browsing: Callable[..., Any], stack: Stack):
    with browsing(stack.token) as page:
        page.get_by_role("link", name="Keys").click()
        page.get_by_role("heading", name="Keys and sessions").wait_for()
        page.get_by_role("button", name="Sign out").click()
        page.get_by_text("You are signed out").wait_for()
        page.go_back()
        page.get_by_role("heading", name="Sign in").wait_for()
        assert page.get_by_role("heading", name="Keys and sessions").count() == 0
