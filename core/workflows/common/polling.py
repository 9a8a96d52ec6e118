"""How long a caller may wait before it looks again. It is told as ``Retry-After``."""

from __future__ import annotations

from datetime import datetime

from core import clock
from core.settings import Settings

SHARE, MOST_SECONDS = 6, 30


def pause_seconds(settings: Settings, since: datetime) -> int:
    """Say how long to wait. It grows with the time since ``since``, of which it is a sixth.

    So a caller learns of the end late by a sixth at most, and of a long job by half a minute. What it asks
    about was made then, as it knows: nothing else decides.
    """
    waited = (clock.now() - since).total_seconds()
    return max(settings.poll_after_seconds, min(MOST_SECONDS, int(waited / SHARE)))
