"""The description of a task before it has run. It is what the report says of it."""

from __future__ import annotations

from typing import Any


def task_entry(
    name: str,
    title: str,
    definition: str,
    subject: str,
    measure: str,
    *,
    baseline: float | None,
    repetitions: int = 1,
    not_run: str | None = None,
) -> dict[str, Any]:
    """Make the fields of the report's Task. Both figures are still to come, or never with ``not_run``."""
    return {
        "name": name,
        "title": title,
        "definition": definition,
        "subject": subject,
        "measure": measure,
        "trained_on_original": None,
        "trained_on_synthetic": None,
        "baseline": baseline,
        "repetitions": repetitions,
        "not_run": not_run,
    }
