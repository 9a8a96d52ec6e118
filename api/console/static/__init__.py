"""The console's style sheet and scripts. They are files of this service, each under an address of its
content."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from graphveil.pages.render import TEMPLATES

FOLDER = Path(__file__).parent
HTMX = "htmx-4.0.1.min.js"
CSS, JS = "text/css; charset=utf-8", "text/javascript; charset=utf-8"


@dataclass(frozen=True)
class Asset:
    """A file as it is sent."""

    body: bytes
    media_type: str
    digest: str


@cache
def assets() -> dict[str, Asset]:
    """Load every file by its name. The style sheet is the report's, and what only the console needs."""
    sheets = (TEMPLATES / "report.css", TEMPLATES / "lines.css", FOLDER / "console.css")
    found = {"console.css": (b"\n".join(sheet.read_bytes() for sheet in sheets), CSS)}
    found |= {name: ((FOLDER / name).read_bytes(), JS) for name in (HTMX, "console.js")}
    return {
        name: Asset(body, kind, hashlib.sha256(body).hexdigest()[:16]) for name, (body, kind) in found.items()
    }


@cache
def address(name: str) -> str:
    """Return where the file is served. It is another address once its content is another."""
    return f"/console/static/{assets()[name].digest}/{name}"
