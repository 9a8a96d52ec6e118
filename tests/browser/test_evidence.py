"""An evidence pack, taken from the console and opened as whoever is handed it does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deploy.local.stack import Stack
from graphveil.evidence.verify import verify
from tests.browser.test_every_page import _keep, _violations

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

QUESTIONS = [
    "Who approved governance.json",
    "What was spent charge.json",
    "What was read transcript.json, plan.json",
    "What is promised promise.md, report.html",
]
"""Each with the files that answer it in full."""


@pytest.mark.parametrize("width", [390, 1280])
def test_a_pack_is_downloaded_and_its_first_page_read(
    browsing: Callable[..., Any], stack: Stack, populated: dict[str, str], tmp_path: Path, width: int
):
    from axe_playwright_python.sync_playwright import Axe

    with browsing(stack.token, viewport={"width": width, "height": 900}) as page:
        page.goto(f"/console/jobs/{populated['published']}")
        page.locator("#part-evidence > summary").click()
        with page.expect_download() as download:
            page.get_by_role("link", name="Evidence pack, to hand on").click()
        path = tmp_path / "pack.zip"
        download.value.save_as(path)
        found = verify(path.read_bytes())
        assert found.holds, found.refused
        page.goto("about:blank")
        page.set_content(found.files["index.html"].decode())
        answers = page.get_by_role("navigation", name="The four answers")
        assert answers.locator("dd").count() == len(QUESTIONS)
        box = answers.bounding_box()
        assert box is not None
        assert width < 1_000 or box["y"] + box["height"] <= 900  # on a desk nobody scrolls for them
        assert page.locator("h2").all_inner_texts()[: len(QUESTIONS)] == QUESTIONS
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert _violations(Axe(), page) == []
        _keep(page, f"evidence-{width}")
