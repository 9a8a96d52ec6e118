"""From streams, snapshots and their reports to what the schemas show: amounts become exact decimals."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from core.ledger.amounts import format_epsilon
from core.streams.models import Stream
from core.workflows.streams.lifecycle import StreamPlan
from core.workflows.streams.queries import SnapshotView
from core.workflows.streams.report import StreamReport, TickRow

_STREAM = (
    "id", "dataset_id", "version_id", "account_id", "method", "edge_types", "window",
    "first_step", "next_step", "missing_steps", "state", "suite", "label", "requested_by", "created_at",
    "closed_at",
)  # fmt: skip
_PLAN = (
    "method", "parameters", "unit", "window", "edge_types", "first_step", "amounts",
    "allotments", "plan_digest", "window_fits", "warnings",
)  # fmt: skip
_REPORT = (
    "stream_id", "dataset_id", "dataset_name", "method", "state", "window", "statement", "not_covered",
    "first_step", "next_step", "counts", "metrics", "next_cursor",
)  # fmt: skip


def stream_view(stream: Stream) -> dict[str, Any]:
    """The stream as its callers see it."""
    return {
        **{name: getattr(stream, name) for name in _STREAM},
        "chosen_because": stream.chosen_because,
        "parameters": stream.params,
        "epsilon": format_epsilon(stream.nano_epsilon),
        "step_epsilon": format_epsilon(stream.tick_nano_epsilon),
        "start": stream.grid_start,
        "width": stream.grid_width,
    }


def plan_view(plan: StreamPlan) -> dict[str, Any]:
    """What the stream would cost, step by step and window by window."""
    return {
        **{name: getattr(plan, name) for name in _PLAN},
        "chosen_because": plan.chosen_because,
        "start": plan.grid_start,
        "width": plan.grid_width,
        "epsilon": format_epsilon(plan.nano_epsilon),
        "step_epsilon": format_epsilon(plan.tick_nano_epsilon),
        "window_epsilon": format_epsilon(plan.window_nano_epsilon),
        "budget_after": plan.statement_after,
    }


def snapshot_view(found: SnapshotView, base: str) -> dict[str, Any]:
    """The snapshot, and where its report is; ``base`` is the path that the routes are served under."""
    shown = asdict(found)
    return {
        **shown,
        "epsilon": format_epsilon(shown.pop("nano_epsilon")),
        "report": f"{base}/jobs/{found.job_id}/report" if found.state == "published" else None,
    }


def report_view(report: StreamReport) -> dict[str, Any]:
    """The stream's report with every amount as an exact decimal."""
    window = report.worst_window
    return {
        **{name: getattr(report, name) for name in _REPORT},
        "epsilon": format_epsilon(report.nano_epsilon),
        "step_epsilon": format_epsilon(report.tick_nano_epsilon),
        "capacity": format_epsilon(report.capacity_nano_epsilon),
        "worst_window": {
            "first_step": window.first_step,
            "last_step": window.last_step,
            "charged": format_epsilon(window.charged_nano_epsilon),
            "reserved": format_epsilon(window.reserved_nano_epsilon),
        },
        "rows": [_row(row) for row in report.rows],
    }


def _row(row: TickRow) -> dict[str, Any]:
    shown = asdict(row)
    return {
        **shown,
        "epsilon": format_epsilon(shown.pop("nano_epsilon")),
        "window_epsilon": format_epsilon(shown.pop("window_nano_epsilon")),
    }
