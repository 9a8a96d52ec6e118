"""A stream's page: whole, closed in itself, and honest about its edition."""

from __future__ import annotations

import re
from typing import Any

import pytest

from api.show.stream_html import render
from api.show.stream_sections import OPEN_ROWS
from graphveil.models.streams import StreamReport

HOSTILE = "<script>alert(1)</script>"


def report(steps: int = 6, *, compared: bool = False, **changes: Any) -> StreamReport:
    def row(step: int) -> dict[str, Any]:
        return {
            "step": step,
            "starts_at": 7 * step,
            "ends_at": 7 * step + 7,
            "job_id": f"job_{step}",
            "state": "published",
            "reason": None,
            "epsilon": "0.2",
            "window_epsilon": "1",
            "statistics": {"edges": 100.0 + step, "transitivity": None if step == 1 else 0.25},
            "comparison": {"density_error": 0.7071} if compared else None,
            "evaluation": "done" if compared else None,
        }

    return StreamReport.model_validate(
        {
            "stream_id": "st_1",
            "dataset_id": "ds_1",
            "dataset_name": "Contacts",
            "method": "keyframe",
            "state": "open",
            "window": 5,
            "epsilon": "1",
            "step_epsilon": "0.2",
            "statement": "w-event privacy.",
            "not_covered": ["Who the nodes are."],
            "first_step": 0,
            "next_step": steps,
            "counts": {"published": steps} if steps else {},
            "worst_window": {"first_step": 0, "last_step": 4, "charged": "1", "reserved": "0"},
            "capacity": "4",
            "metrics": {
                "edges": "Edges of the release.",
                "density_error": "|original - release| / original.",
            },
            "rows": [row(step) for step in range(steps)],
            "next_cursor": None,
            **changes,
        }
    )


@pytest.mark.parametrize("steps", [0, 1, 6, 40])
@pytest.mark.parametrize("compared", [False, True])
def test_the_page_is_whole_and_loads_nothing(steps, compared):
    text = render(report(steps, compared=compared))
    assert text.count("<section") == text.count("</section>")
    assert text.count("<details") == text.count("</details>")
    assert not re.search(r"https?://|url\(|<script|<img| src=|@import", text)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)
    assert text == render(report(steps, compared=compared))


def test_the_verdict_comes_before_everything_else():
    text = render(report())
    assert "<h1>Contacts</h1>" in text
    order = [text.index(words) for words in ("ε = 1 in any 5 steps", "at most 73.2", "The guarantee</h2>")]
    assert order == sorted(order)
    assert 'class="big good"' in text
    assert 'class="big poor"' in render(report(epsilon="8"))


def test_the_public_edition_knows_nothing_of_the_originals():
    public, curators = render(report()), render(report(compared=True))
    for words in ("0.707", "not for publication", "Against the originals", "density error"):
        assert words not in public
        assert words in curators


def test_many_steps_fold():
    assert f"{OPEN_ROWS} steps</summary>" not in render(report(OPEN_ROWS))
    assert f"{OPEN_ROWS + 1} steps</summary>" in render(report(OPEN_ROWS + 1))


def test_hostile_names_stay_text():
    text = render(report(dataset_name=HOSTILE, method=HOSTILE, statement=HOSTILE, not_covered=[HOSTILE]))
    assert "<script" not in text
    assert text.count("&lt;script&gt;") >= 4


def test_a_narrow_page_does_not_break_a_jobs_name_into_letters():
    """The table scrolls; the name, which has no place to break, keeps its line."""
    assert '<code class="digest together">job_0</code>' in render(report())
