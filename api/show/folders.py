"""Folders of files that a browser loads. They are the parts of the interactive reference, and the built
handbook."""

from __future__ import annotations

import os
from pathlib import Path

import fastapi_offline
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from api.http.open import count

HANDBOOK = Path(__file__).resolve().parents[2] / "build" / "handbook"
"""What ``make docs`` builds."""

REFERENCE = Path(fastapi_offline.__file__).with_name("static")
"""Swagger UI's script and style, as a wheel brings them."""

POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Everything from this address, no inline scripts. Swagger UI and the handbook set styles on elements."""

HOUR = 3600


class Folder(StaticFiles):
    """Files to be kept for an hour and asked for again after it, under :data:`POLICY`."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """One of its address's requests, as every page for everybody is. Raises RateLimited."""
        count(Request(scope))
        return await super().get_response(path, scope)

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Answer with the file, or that it has not changed."""
        answer = super().file_response(full_path, stat_result, scope, status_code)
        answer.headers["Content-Security-Policy"] = POLICY
        answer.headers["Cache-Control"] = f"public, max-age={HOUR}"
        return answer


def mount(app: FastAPI, handbook: Path = HANDBOOK) -> None:
    """Serve the reference's parts, and the handbook where it was built."""
    app.mount("/docs/assets", Folder(directory=REFERENCE), name="reference")
    if handbook.is_dir():
        app.mount("/handbook", Folder(directory=handbook, html=True), name="handbook")
