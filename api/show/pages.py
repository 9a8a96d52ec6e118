"""The documentation as the api serves it. It has Markdown pages whose links lead to each other."""

from __future__ import annotations

import base64
import hashlib
import html
import os
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

from fastapi.responses import HTMLResponse
from markdown_it import MarkdownIt
from markdown_it.token import Token

DOCS = Path(__file__).resolve().parents[2] / "docs"
PROBLEMS = DOCS / "problems"

STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.6 system-ui,sans-serif;margin:0}"
    "main{max-width:44rem;margin:0 auto;padding:1.5rem 1rem}"
    "table{border-collapse:collapse;display:block;overflow-x:auto}"
    "td,th{padding:.25rem 1rem .25rem 0;vertical-align:top;text-align:left}"
    "thead:not(:has(th:not(:empty))){display:none}pre{overflow-x:auto}"
    "code{font-family:ui-monospace,monospace;overflow-wrap:anywhere}pre code{overflow-wrap:normal}"
    "h1{font-size:1.6rem;line-height:1.25}h2{font-size:1.1rem;margin-top:1.5rem}"
)

# The page may use this one style and nothing else.
_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; frame-ancestors 'none'"
HEADERS = {"Content-Security-Policy": POLICY}


@cache
def addresses() -> dict[Path, str]:
    """List the address of every page that is served. It goes by its file."""
    guides = (*DOCS.glob("*.md"), *DOCS.glob("generators/*.md"))
    found = {file: f"/docs/{file.relative_to(DOCS).with_suffix('')}" for file in sorted(guides)}
    return found | {file: f"/problems/{file.stem}" for file in sorted(PROBLEMS.glob("*.md"))}


def page(file: Path) -> HTMLResponse:
    """Make the page of a Markdown file that :func:`addresses` names."""
    return HTMLResponse(_rendered(file), headers=HEADERS)


def framed(title: str, body: str) -> HTMLResponse:
    """Frame a page with that body, which is HTML."""
    return HTMLResponse(_frame(title, body), headers=HEADERS)


def title_of(file: Path) -> str:
    """Read the first heading of a page, without its marks."""
    return file.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ").replace("`", "")


@cache
def _rendered(file: Path) -> str:
    markdown = MarkdownIt("commonmark").enable("table")
    tokens = markdown.parse(file.read_text(encoding="utf-8"))
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            heading.attrSet("id", _anchor(inline.content))
    for token in tokens:
        if token.children:
            token.children = _led(token.children, file)
    return _frame(title_of(file), markdown.renderer.render(tokens, markdown.options, {}))


def _led(inline: list[Token], file: Path) -> list[Token]:
    """The text with each link leading to a page that is served; of the others, and of pictures, the words."""
    kept: list[Token] = []
    open_links: list[bool] = []
    for token in inline:
        if token.type == "link_open":
            target = _target(str(token.attrGet("href")), file)
            open_links.append(target is not None)
            if target is None:
                continue
            token.attrSet("href", target)
        elif token.type == "link_close" and not open_links.pop():
            continue
        elif token.type == "image":
            kept += token.children or []
            continue
        kept.append(token)
    return kept


def _target(href: str, file: Path) -> str | None:
    """Where a link of the file leads to here; None where what it names is not served."""
    if href.startswith(("https://", "#")):
        return href
    path, mark, fragment = href.partition("#")
    named = Path(os.path.normpath(file.parent / path))
    address = "/problems" if named == PROBLEMS else addresses().get(named)
    return None if address is None else f"{address}{mark}{fragment}"


def _anchor(heading: str) -> str:
    """The name under which links know a heading: as the forges that show the same files make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _frame(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)} - Graphveil</title><style>{STYLE}</style></head>"
        f"<body><main>{body}</main></body></html>"
    )
