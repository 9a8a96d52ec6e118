"""Direct upload of large files into the service's bucket. Several parts go at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

from graphveil.errors import ProblemError, TransportError
from graphveil.models.datasets import Received, UploadOffer
from graphveil.sdk.transport import RETRIES, Transport

SMALLEST_BYTES = 64 * 2**20
"""Smaller files go through the service: they are there before the addresses are."""

PARTS_AT_A_TIME = 4
UNAVAILABLE = "direct-upload-unavailable"


def upload_direct(
    calls: Transport,
    dataset_id: str,
    path: Path,
    request: Mapping[str, Any],
    on_progress: Callable[[int, int], None] | None = None,
) -> Received | None:
    """Upload the file directly into the service's bucket.

    None where the service's storage is no bucket. Each part is sent again a few times when the bucket does
    not take it. No API key goes to the bucket. ``on_progress(sent_bytes, total_bytes)``, one part at a time.
    Raises ProblemError and TransportError; the upload is then given up.
    """
    total = path.stat().st_size
    try:
        answer = calls.request(
            "POST", f"/datasets/{dataset_id}/uploads", json={**request, "size_bytes": total}
        )
    except ProblemError as problem:
        if problem.slug == UNAVAILABLE:
            return None
        raise
    offer = UploadOffer.model_validate(answer.json())
    try:
        etags = _put_all(calls, path, total, offer, on_progress)
        done = calls.request(
            "POST",
            f"/datasets/{dataset_id}/uploads/{offer.upload_id}/complete",
            json={"etags": etags},
            repeatable=True,
        )
    except BaseException:
        calls.request("DELETE", f"/datasets/{dataset_id}/uploads")
        raise
    return Received.model_validate(done.json())


def _put_all(
    calls: Transport,
    path: Path,
    total: int,
    offer: UploadOffer,
    on_progress: Callable[[int, int], None] | None,
) -> list[str]:
    with (
        httpx.Client(timeout=httpx.Timeout(300.0, connect=10.0)) as bucket,
        ThreadPoolExecutor(max_workers=PARTS_AT_A_TIME) as pool,
    ):

        def put(numbered: tuple[int, str]) -> str:
            number, url = numbered
            with path.open("rb") as file:
                file.seek(number * offer.part_bytes)
                return _put(bucket, url, file.read(offer.part_bytes), calls.sleep)

        etags = []
        for number, etag in enumerate(pool.map(put, enumerate(offer.urls))):
            etags.append(etag)
            if on_progress:
                on_progress(min(total, (number + 1) * offer.part_bytes), total)
    return etags


def _put(bucket: httpx.Client, url: str, piece: bytes, sleep: Callable[[float], None]) -> str:
    """Send one part, again a few times where the bucket fails, and return the bucket's ETag of it."""
    trouble = "no answer"
    for attempt in range(RETRIES + 1):
        if attempt:
            sleep(0.2 * 2**attempt)
        try:
            answer = bucket.put(url, content=piece)
        except httpx.TransportError as error:
            trouble = type(error).__name__
            continue
        if answer.is_success:
            return answer.headers["ETag"]
        trouble = f"status {answer.status_code}"
        if answer.status_code < 500:
            break
    raise TransportError(f"the bucket did not take a part of the file: {trouble}")
