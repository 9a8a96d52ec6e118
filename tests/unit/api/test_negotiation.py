"""Which form a caller is given, by its Accept header."""

from __future__ import annotations

import pytest

from api.http.negotiation import preferred

OFFERED = ("application/json", "text/html", "text/markdown")
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        (BROWSER, "text/html"),
        ("text/markdown", "text/markdown"),
        ("TEXT/HTML", "text/html"),
        ("text/*", "text/html"),
        ("text/*, text/html;q=0.1", "text/markdown"),
        ("text/html;q=0.2, application/json;q=0.9", "application/json"),
        ("application/json;q=0, */*", "text/html"),
        ("text/html;q=oops", "application/json"),
        ("text/html;q=7", "application/json"),
        ("image/png", "application/json"),
        (";;,,=", "application/json"),
    ],
)
def test_the_form_is_the_one_that_is_liked_best(accept: str, chosen: str):
    assert preferred(accept, OFFERED) == chosen
