"""Reads the parts of stored reports. They stand as they were stored, by this version or an older one.

Up to report 2.0 the public part had scores of its own, which told how well what was paid for was known and
ranked releases backwards; and the curators' utility had no zero. Neither is shown any more: what those
versions measured stays, and nothing takes the scores' place, because it was not computed then.
"""

from __future__ import annotations

import json

from core.reports.evidence import CuratorPart
from core.reports.model import PublicPart


def public_of(content: bytes) -> PublicPart:
    """Read the public part of any version. Raises ValidationError for anything else."""
    part = json.loads(content)
    if isinstance(part, dict) and "precision" not in part:
        part.pop("scores", None)  # and nothing else: an unknown field is refused as ever
    return PublicPart.model_validate(part)


def curator_of(content: bytes) -> CuratorPart:
    """Read the curators' part of any version. An older one has no utility score. Raises ValidationError."""
    part = json.loads(content)
    # Without anchors the score had no zero: it cannot be compared with today's.
    if isinstance(part, dict) and "anchors" not in part.get("comparison", {}):
        part["scores"] = {**part.get("scores", {}), "utility": None}
    return CuratorPart.model_validate(part)
