"""The calls about sensitive links, as a part of the SDK's connection."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from api.client import files
from api.client.errors import WaitTimeout
from api.client.transport import Transport
from core.datasets.views import SensitiveLinks

POLL_SECONDS = 1.0
_UNDER_WAY = frozenset({"queued", "checking"})


class SensitiveLinkCalls:
    """Name, count and withdraw the sensitive links of a dataset. For its curators."""

    _calls: Transport

    def put_sensitive_links(
        self,
        dataset_id: str,
        path: Path | str,
        *,
        format: str | None = None,
        options: Mapping[str, str | list[str]] | None = None,
    ) -> SensitiveLinks:
        """The list waits to be checked. ``format`` is taken from the name when it is left out."""
        source = Path(path)
        total = source.stat().st_size
        answer = self._calls.request(
            "PUT",
            f"/datasets/{dataset_id}/sensitive-links",
            params={**(options or {}), "format": format or files.format_of(source)},
            body=lambda: files.chunks(source, total, None),
            headers={"Content-Length": str(total), "Content-Type": "application/octet-stream"},
        )
        return SensitiveLinks.model_validate(answer.json())

    def sensitive_links(self, dataset_id: str) -> SensitiveLinks:
        """How many there are, and what became of the newest upload."""
        answer = self._calls.request("GET", f"/datasets/{dataset_id}/sensitive-links")
        return SensitiveLinks.model_validate(answer.json())

    def wait_sensitive_links(
        self, dataset_id: str, *, timeout_seconds: float | None = None
    ) -> SensitiveLinks:
        """The same, once the newest upload is in use or rejected. WaitTimeout when it takes too long."""
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while True:
            answer = self._calls.request("GET", f"/datasets/{dataset_id}/sensitive-links")
            found = SensitiveLinks.model_validate(answer.json())
            if found.upload is None or found.upload.state not in _UNDER_WAY:
                return found
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitTimeout(f"the list was not checked within {timeout_seconds} seconds")
            self._calls.pause(answer, POLL_SECONDS)

    def delete_sensitive_links(self, dataset_id: str) -> None:
        """No list is kept; nothing of what was uploaded can be read."""
        self._calls.request("DELETE", f"/datasets/{dataset_id}/sensitive-links")
