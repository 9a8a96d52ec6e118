"""The pages that the api serves to a browser: every link of each leads to something."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from api.http import problems
from api.http.limits import Limits
from api.show import folders
from core.settings import Settings

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def links_of(page: str) -> list[str]:
    """Where the links of a page lead to."""
    return re.findall(r'<a href="([^"]+)"', page)


def resolves(http: TestClient, page: str, link: str) -> bool:
    """Whether a link of the page at that address leads to a page, and to the place of it that it names."""
    address, fragment = urldefrag(urljoin(page, link))
    answer = http.get(address, headers=BROWSER)
    return answer.status_code == 200 and (not fragment or f'id="{fragment}"' in answer.text)


def broken(http: TestClient, page: str) -> list[str]:
    text = http.get(page, headers=BROWSER).text
    return [
        link for link in links_of(text) if not link.startswith("https://") and not resolves(http, page, link)
    ]


def test_every_link_of_every_problem_page_leads_somewhere(http: TestClient) -> None:
    seen = [link for row in problems.rows().values() for link in links_of(http.get(row.type).text)]
    assert len(seen) >= 10
    for row in problems.rows().values():
        assert broken(http, row.type) == [], row.slug


def test_every_page_that_can_be_reached_from_the_first_has_links_that_lead_somewhere(
    http: TestClient,
) -> None:
    reached, left = {"/"}, ["/"]
    while left:
        page = left.pop()
        for link in links_of(http.get(page, headers=BROWSER).text):
            address = urldefrag(urljoin(page, link)).url
            # The handbook, where somebody has built it, checks its own links.
            if address.startswith("/") and not address.startswith("/handbook") and address not in reached:
                reached.add(address)
                left.append(address)
    assert {"/docs/api", "/docs/generators/keyframe", "/problems/budget-exceeded"} <= reached
    assert {page: lost for page in sorted(reached) if (lost := broken(http, page))} == {}


def test_the_first_page_says_what_this_is_to_a_browser_and_where_to_go_to_a_program(
    http: TestClient,
) -> None:
    page = http.get("/", headers=BROWSER)
    assert page.status_code == 200
    assert page.headers["Content-Type"].startswith("text/html")
    assert page.headers["Vary"] == "Accept"
    assert "<h1>Graphveil" in page.text
    assert "style-src 'sha256-" in page.headers["Content-Security-Policy"]
    for accept in ("application/json", "*/*"):
        told = http.get("/", headers={"Accept": accept})
        assert told.headers["Content-Type"] == "application/json"
        for address in ("documentation", "reference", "problems", "openapi", "health"):
            assert http.get(told.json()[address]).status_code == 200


@pytest.mark.parametrize(
    "path", ["/docs/none", "/docs/../SECURITY", "/docs/%2e%2e%2fSECURITY", "/docs/generators/none"]
)
def test_no_other_file_is_a_page(http: TestClient, path: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found")


def test_the_reference_loads_its_parts_from_here_and_nothing_else(http: TestClient) -> None:
    page = http.get("/docs", headers=BROWSER)
    policy = page.headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "default-src 'none'" in policy
    parts = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert "/docs/start.js" in parts
    assert [part for part in parts if not part.startswith(("/", "data:"))] == []
    assert [part for part in parts if part.startswith("/") and http.get(part).status_code != 200] == []
    assert "<script>" not in page.text
    assert http.get("/docs/start.js").headers["Content-Type"].startswith("text/javascript")


def test_a_handbook_that_was_built_is_served_and_no_file_beside_it(tmp_path: Path) -> None:
    site = tmp_path / "handbook"
    (site / "docs").mkdir(parents=True)
    (site / "index.html").write_text("<h1>first</h1>")
    (site / "docs" / "api.html").write_text("<h1>the tour</h1>")
    (tmp_path / "secret.txt").write_text("no")
    app = FastAPI()
    app.state.limits = Limits(Settings())
    folders.mount(app, site)
    browser = TestClient(app)
    first = browser.get("/handbook/")
    assert first.text == "<h1>first</h1>"
    assert first.headers["Content-Security-Policy"] == folders.POLICY
    assert first.headers["Cache-Control"] == "public, max-age=3600"
    assert browser.get("/handbook/docs/api.html").text == "<h1>the tour</h1>"
    assert browser.get("/handbook/", headers={"If-None-Match": first.headers["ETag"]}).status_code == 304
    for path in ("/handbook/../secret.txt", "/handbook/%2e%2e/secret.txt", "/handbook/none.html"):
        assert browser.get(path).status_code == 404


def test_without_a_built_handbook_the_documentation_is_a_list_of_its_pages(http: TestClient) -> None:
    answer = http.get("/handbook", headers=BROWSER, follow_redirects=False)
    if folders.HANDBOOK.is_dir():  # this working copy has one
        assert (answer.status_code, answer.headers["Location"]) == (307, "/handbook/")
    else:
        assert 'href="/docs/api"' in answer.text
