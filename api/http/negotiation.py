"""Which offered media type a caller likes best. It is as in RFC 9110, 12.5.1."""

from __future__ import annotations

from collections.abc import Sequence


def preferred(accept: str, offered: Sequence[str]) -> str:
    """Choose the offered type with the highest weight. It is the first of equals, or where none is
    acceptable."""
    ranges = [_parsed(part) for part in accept.split(",") if part.strip()]
    if not ranges:
        return offered[0]
    return max(offered, key=lambda media_type: _weight(media_type, ranges))


def _parsed(part: str) -> tuple[str, float]:
    name, *parameters = (piece.strip().lower() for piece in part.split(";"))
    weights = [p.removeprefix("q=") for p in parameters if p.startswith("q=")]
    try:
        weight = float(weights[0]) if weights else 1.0
    except ValueError:
        weight = 0.0
    return name, weight if 0 <= weight <= 1 else 0.0


def _weight(media_type: str, ranges: Sequence[tuple[str, float]]) -> float:
    """Find the weight that the most specific of the matching ranges gives; 0 where none matches."""
    for pattern in (media_type, media_type.partition("/")[0] + "/*", "*/*"):
        weights = [weight for name, weight in ranges if name == pattern]
        if weights:
            return max(weights)
    return 0.0
