"""The W3C ``traceparent``: which trace, which span, recorded or not. 55 characters, read strictly.

By hand, because OpenTelemetry's propagator also takes versions to come, from callers who may write anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FORM = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})", re.ASCII)


@dataclass(frozen=True)
class TraceParent:
    """One span of one trace. Neither number is 0."""

    trace_id: int
    span_id: int
    sampled: bool

    def __str__(self) -> str:
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{self.sampled:02x}"


def parse(text: str | None) -> TraceParent | None:
    """Read what the text names. None for anything but version 00, to the letter: a caller may write it."""
    match = _FORM.fullmatch(text or "")
    if match is None:
        return None
    trace_id, span_id, flags = (int(part, 16) for part in match.groups())
    # Ids of zeros alone name nothing (W3C Trace Context).
    if not trace_id or not span_id:
        return None
    return TraceParent(trace_id, span_id, bool(flags & 1))
