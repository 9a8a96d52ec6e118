"""Whoever has a file with headers that say nothing gets to its right schema, without a word of JSON."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Caller

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

WORKER_MILLISECONDS = 300_000


def four_columns(seed: int) -> str:
    """Calls: a note, who rang, whom, and how long; the headers say none of it."""
    made = random.Random(seed)
    rows = [
        f"{made.choice('abc')}{made.randrange(40)},{made.randrange(60)},{made.randrange(60)},{seconds}"
        for seconds in (made.randrange(5, 900) for _ in range(400))
    ]
    return "\n".join(["blip,crux,dorn,fend", *rows]) + "\n"


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_a_file_of_unknown_headers_comes_to_its_schema(
    browsing: Callable[..., Any], call: Caller, tmp_path: Path, scripts: bool
):
    file = tmp_path / "calls.csv"
    file.write_text(four_columns(7 + scripts))
    key = call.key(f"reader-{scripts}", "curator", "requester")
    dataset_id = call("POST", "/datasets", json={"name": f"calls {scripts}", "unit": "edge", "epsilon": "2"})[
        "id"
    ]
    with browsing(key["token"], java_script_enabled=scripts) as page:
        page.goto(f"/console/datasets/{dataset_id}/upload")
        page.get_by_label("File", exact=True).set_input_files(file)
        page.get_by_role("button", name="Send the file").click()
        until(page, "A schema was read off the upload")
        page.get_by_role("link", name="Look at the schema").click()
        page.get_by_role("heading", name="How the edges were read").wait_for()
        show(page, f"read-{scripts}")
        for question in page.locator("fieldset.question").all():
            table = question.get_by_label("As the table below says")
            (table if table.count() else question.locator("input")).first.check()
        for name, role in (
            ("blip", "leave alone"),
            ("crux", "source"),
            ("dorn", "target"),
            ("fend", "value"),
        ):
            page.get_by_label(f"What {name} is", exact=True).select_option(role)
        page.get_by_role("button", name="Read the file so").click()
        until(page, "A schema was read off the upload")
        page.get_by_role("link", name="Look at the schema").click()
        page.get_by_role("button", name="Confirm the schema").wait_for()
        show(page, f"corrected-{scripts}")
        assert page.locator("fieldset.question").count() == 0
        for box in page.locator('input[name="read_off"], input[name="noted"]').all():
            box.check()
        page.get_by_role("button", name="Confirm the schema").click()
        until(page, "The dataset is ready")
    schema = call("GET", f"/datasets/{dataset_id}")["graph_schema"]
    (relation,) = schema["edge_types"]
    assert [each["name"] for each in relation["attributes"]] == ["fend"]
    nodes = {row.split(",")[place] for row in four_columns(7 + scripts).splitlines()[1:] for place in (1, 2)}
    report = call("GET", f"/datasets/{dataset_id}")["version"]["ingest_report"]
    assert report["nodes"] == {"node": len(nodes)}


def until(page: Any, heading: str) -> None:
    """Wait for the worker."""
    ended = page.get_by_role("heading", name=re.compile(f"{heading}|What is to be mended"))
    ended.wait_for(timeout=WORKER_MILLISECONDS)
    assert heading in ended.inner_text(), page.locator("main").inner_text()


def show(page: Any, name: str) -> None:
    """Keep a picture of the whole page, where somebody wants to look at it."""
    if folder := os.environ.get("GRAPHVEIL_TEST_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)
