"""The documentation page of each problem type, at the address that the problem's ``type`` names."""

from __future__ import annotations

import base64
import hashlib
import html
from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from markdown_it import MarkdownIt

from api import openapi, problems
from core.errors import NotFound

PAGES = Path(__file__).resolve().parents[2] / "docs" / "problems"

STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.6 system-ui,sans-serif;margin:0}"
    "main{max-width:44rem;margin:0 auto;padding:1.5rem 1rem}"
    "table{border-collapse:collapse}td{padding:.25rem 1rem .25rem 0;vertical-align:top}"
    "thead{display:none}code{font-family:ui-monospace,monospace;overflow-wrap:anywhere}"
    "h1{font-size:1.6rem;line-height:1.25}h2{font-size:1.1rem;margin-top:1.5rem}"
)

# The page may use this one style and nothing else.
_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; frame-ancestors 'none'"

router = APIRouter(tags=["service"])


@router.get(
    "/problems",
    response_class=HTMLResponse,
    summary="Every kind of problem",
    responses={200: {"content": {"text/html": {}}}},
)
def index() -> HTMLResponse:
    """A list of all problem types."""
    rows = sorted(problems.rows().values(), key=lambda row: row.slug)
    items = "".join(f'<li><a href="{row.type}">{row.slug}</a>: {html.escape(row.title)}</li>' for row in rows)
    return _answer(_frame("Problems", f"<h1>Problems</h1><ul>{items}</ul>"))


@router.get(
    "/problems/{slug}",
    response_class=HTMLResponse,
    summary="What a kind of problem means and how to mend it",
    responses={200: {"content": {"text/html": {}}}, **openapi.refusals(NotFound)},
)
def page(slug: str) -> HTMLResponse:
    """The page of one problem type."""
    row = problems.rows().get(slug)
    if row is None:
        raise NotFound("there is no problem type of that name")
    return _answer(_page(slug, row.title))


def _answer(page: str) -> HTMLResponse:
    return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})


@lru_cache(maxsize=64)
def _page(slug: str, title: str) -> str:
    source = (PAGES / f"{slug}.md").read_text(encoding="utf-8")
    return _frame(title, MarkdownIt("commonmark").enable("table").render(source))


def _frame(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)} - Graphveil</title><style>{STYLE}</style></head>"
        f"<body><main>{body}</main></body></html>"
    )
