"""One key, one job. A repeated request gets the job that the first one made, for good."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from core.db.session import Database
from core.errors import GraphveilError, IdempotencyKeyMissing, IdempotencyKeyReused, InvalidInput
from core.jobs import repository
from core.jobs.models import Job
from core.jobs.repository import Standing

MAX_KEY_CHARACTERS = 255
_VISIBLE = re.compile(r"[!-~]+")


def checked_key(key: str | None) -> str:
    """Return the key, if it is one. It is with 1 to 255 visible ASCII characters."""
    if not key:
        raise IdempotencyKeyMissing("Send an Idempotency-Key header: any unique text, such as a UUID.")
    if len(key) > MAX_KEY_CHARACTERS or not _VISIBLE.fullmatch(key):
        raise InvalidInput(
            f"The Idempotency-Key must be 1 to {MAX_KEY_CHARACTERS} visible ASCII characters.",
            field="Idempotency-Key",
        )
    return key


def payload_hash(payload: dict[str, Any]) -> str:
    """Hash the payload as canonical JSON. It is SHA-256 (hex): keys are sorted, no spaces."""
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def once(
    db: Database,
    *,
    tenant: str,
    key: str,
    key_id: str,
    digest: str,
    make: Callable[[Session, Standing], Job],
) -> tuple[Job, bool]:
    """Return the job that this key made earlier, or make it. With the first comes True; with the one that
    ``make`` adds, False. ``make`` is told how the caller's key, ``key_id``, stands.

    A repeat is answered whatever has become of the dataset since. Raises IdempotencyKeyReused, and what
    ``make`` does.
    """
    try:
        with db.transaction() as session:
            found, standing = _earlier(session, tenant=tenant, key=key, key_id=key_id, digest=digest)
            return (make(session, standing), False) if found is None else (found, True)
    # Of two calls at a time the unique key of the jobs lets one through. The other is refused there, or
    # before, where budget or content are the first one's by then: it looks again, and finds its job.
    except (GraphveilError, IntegrityError):
        with db.transaction() as session:
            found, _ = _earlier(session, tenant=tenant, key=key, key_id=key_id, digest=digest)
        if found is None:
            raise
        return found, True


def _earlier(
    session: Session, *, tenant: str, key: str, key_id: str, digest: str
) -> tuple[Job | None, Standing]:
    """Find the job that this key made earlier. None without one; IdempotencyKeyReused if made from other
    content. With it comes how the caller stands."""
    job, standing = repository.by_key(session, tenant=tenant, key=key, key_id=key_id)
    if job is not None and job.payload_hash != digest:
        raise IdempotencyKeyReused(
            "This Idempotency-Key was used for another request; use a new key.",
            field="Idempotency-Key",
            job_id=job.id,
        )
    return job, standing
