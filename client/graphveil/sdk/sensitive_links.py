"""The connection's calls about sensitive links. They are a part of the SDK's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import httpx

from graphveil.models.datasets import SensitiveLinks
from graphveil.sdk import files
from graphveil.sdk.transport import Transport

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
        """Upload the list, which then waits to be checked. ``format`` is taken from the name when it is left
        out.
        """
        source = Path(path)
        total = source.stat().st_size
        return self._calls.read(
            SensitiveLinks,
            "PUT",
            f"/datasets/{dataset_id}/sensitive-links",
            params={**(options or {}), "format": format or files.format_of(source)},
            body=lambda: files.chunks(source, total, None),
            headers={"Content-Length": str(total), "Content-Type": "application/octet-stream"},
        )

    def sensitive_links(self, dataset_id: str) -> SensitiveLinks:
        """Count the sensitive links, with the newest upload's state. This is what became of it."""
        return self._calls.read(SensitiveLinks, "GET", f"/datasets/{dataset_id}/sensitive-links")

    def wait_sensitive_links(
        self, dataset_id: str, *, timeout_seconds: float | None = None
    ) -> SensitiveLinks:
        """Wait until the newest upload is in use or rejected. WaitTimeout when it takes too long."""

        def settled(answer: httpx.Response) -> SensitiveLinks | None:
            links = SensitiveLinks.model_validate(answer.json())
            waits = links.upload is not None and links.upload.state in _UNDER_WAY
            return None if waits else links

        path = f"/datasets/{dataset_id}/sensitive-links"
        late = "the list was not checked"
        return self._calls.poll(path, settled, timeout_seconds, late=late, pause_seconds=POLL_SECONDS)

    def delete_sensitive_links(self, dataset_id: str) -> None:
        """Withdraw the list. Nothing of what was uploaded can be read any more."""
        self._calls.request("DELETE", f"/datasets/{dataset_id}/sensitive-links")
