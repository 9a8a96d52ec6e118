"""What the service is meant to reach. Operators see the targets with the figures (docs/monitoring.md)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Objective:
    """``target``: the share that is to be good. ``seconds``: what counts as good, where that is a time."""

    name: str
    meaning: str
    target: float
    seconds: float | None = None


OBJECTIVES = (
    Objective("submit", "Requests for jobs that are answered without a failure of the service.", 0.999),
    Objective("queue_wait", "Jobs that begin within the time.", 0.99, 600.0),
    Objective("publish", "Charged releases that can be downloaded within the time.", 1.0, 300.0),
    Objective("checks", "Promises that were checked within the time.", 1.0, 1800.0),
)
