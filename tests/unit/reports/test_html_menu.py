"""The page of a menu: predictions against epsilon, no runs and no spreads, every text escaped."""

from __future__ import annotations

from html.parser import HTMLParser

from graphveil.pages.against import Panel, Planned, Spread, menu_page

HOSTILE = "<script>alert(1)</script>"


def planned(title: str = "edges_within_95, mail") -> Planned:
    spreads = {"dgg": [Spread(60, None, 0), Spread(30, None, 0)], "dcsbm": [Spread(300, None, 0), None]}
    panel = Panel(title, "The noise.", "", None, spreads)
    return Planned("ds_1", [("Unit", "edge")], ["1", "2"], ["dgg", "dcsbm"], [panel], [HOSTILE])


def test_a_chart_shows_predictions_and_no_spread() -> None:
    html = menu_page(planned())
    assert html == menu_page(planned())
    assert "edges_within_95, mail against epsilon for dgg, dcsbm: predicted." in html
    assert "± sd" not in html
    assert "whiskers" not in html
    for value in ("60", "30", "300"):
        assert value in html
    assert "<svg" in html


def test_every_text_is_escaped() -> None:
    html = menu_page(planned(HOSTILE))
    scripts = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            scripts.extend([tag] if tag == "script" else [])

    Reader().feed(html)
    assert scripts == []
    assert "&lt;script&gt;" in html
