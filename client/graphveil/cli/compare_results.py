"""The results of a comparison, as JSON, CSV and a page.

They are figures of every run, means and deviations.
"""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from graphveil.errors import ClientError
from graphveil.pages.against import Compared, Panel, Spread, comparison_page
from graphveil.sdk.comparing import Comparison, Finished

DEFAULT_METRICS = (
    "degree_total_variation",
    "density:relative",
    "top_eigenvector_overlap",
    "modularity",
    "assortativity",
    "transitivity",
)
ERRORS = {"absolute": "absolute_error", "relative": "relative_error"}
COLUMNS = (
    *("method", "epsilon", "run", "job_id", "job_method", "state", "metric", "value", "original"),
    *ERRORS.values(),
)


@dataclass(frozen=True)
class Results:
    """A comparison with the runs that have ended."""

    comparison: Comparison
    finished: Sequence[Finished]

    @property
    def failed(self) -> int:
        """How many runs have no comparison with the original."""
        return sum(one.report is None for one in self.finished)

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Collect every metric that any run was measured by.

        Each has a title, definition and which way is better.
        """
        found: dict[str, dict[str, Any]] = {}
        for one in self.finished:
            if one.report is not None:
                found |= one.report["curator"]["comparison"]["metrics"]
        return found

    def panel(self, asked: str) -> Panel:
        """Gather one metric by name.

        Of pairs of graphs it is the value; of single graphs the synthetic value, or with ``:absolute`` or
        ``:relative`` its error. ClientError where no run was measured by it.
        """
        name, _, error = asked.partition(":")
        described = self.metrics().get(name)
        rows = [(one, row) for one in self.finished if (row := measured(one.report, name)) is not None]
        if described is None or not rows or (error and error not in ERRORS):
            raise ClientError(
                f"no run was measured by {asked!r}; there are {', '.join(sorted(self.metrics())) or 'none'}, "
                f"and :absolute and :relative errors of those of one graph"
            )
        column = ERRORS[error] if error else "value"
        if error and rows[0][1]["original"] is None and column not in rows[0][1]:
            raise ClientError(f"{name} is a distance already: it has no {error} error")
        values: dict[tuple[str, str], list[float]] = {}
        for one, row in rows:
            if row[column] is not None:
                values.setdefault((one.run.variant.label, one.run.epsilon), []).append(row[column])
        spreads = {
            variant.label: [spread(values.get((variant.label, e), [])) for e in self.comparison.epsilons]
            for variant in self.comparison.variants
        }
        better = described["better"]
        closer = "lower is closer" if error else f"{better} is closer" if better else ""
        title = f"{described['title']}, {error} error" if error else described["title"]
        reference = None if error else rows[0][1]["original"]
        return Panel(title, described["definition"], closer, reference, spreads)

    def rows(self) -> list[dict[str, Any]]:
        """List every figure of every run, as :data:`COLUMNS`. A run without any has one row that says so."""
        found = []
        for one in self.finished:
            run = {
                "method": one.run.variant.label,
                "epsilon": one.run.epsilon,
                "run": one.run.number,
                "job_id": one.job.id,
                "job_method": one.job.method,
                "state": one.job.state,
            }
            names = [] if one.report is None else list(one.report["curator"]["comparison"]["metrics"])
            measures = {name: measured(one.report, name) for name in names}
            figures = [{"metric": name, **row} for name, row in measures.items() if row is not None]
            found += [dict.fromkeys(COLUMNS) | run | figure for figure in figures or [{}]]
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the whole comparison as JSON-able values.

        It has what was requested, every run, and means over runs.
        """
        asked = self.comparison
        return {
            "name": asked.name,
            "dataset_id": asked.dataset_id,
            "dataset_version": asked.version,
            "suite": asked.suite,
            "delta": asked.delta,
            "edge_types": list(asked.edge_types),
            "epsilons": list(asked.epsilons),
            "methods": [
                {"label": v.label, "method": v.method, "parameters": dict(v.parameters)}
                for v in asked.variants
            ],
            "runs": asked.runs,
            "without_result": self.failed,
            "metrics": self.metrics(),
            "means": [row for name in self.metrics() for row in self._means(name)],
            "figures": self.rows(),
        }

    def _means(self, name: str) -> list[dict[str, Any]]:
        if not any(measured(one.report, name) for one in self.finished):
            return []
        panel = self.panel(name)
        return [
            {
                "metric": name,
                "method": method,
                "epsilon": epsilon,
                "mean": found.mean,
                "sd": found.deviation,
                "runs": found.runs,
                "original": panel.reference,
            }
            for method, spreads in panel.spreads.items()
            for epsilon, found in zip(self.comparison.epsilons, spreads, strict=True)
            if found is not None
        ]

    def page(self, panels: Sequence[Panel]) -> str:
        """Render the panels as one self-contained HTML document."""
        asked = self.comparison
        facts = [
            ("Methods", str(len(asked.variants))),
            ("Epsilons", ", ".join(asked.epsilons)),
            ("Runs of each", str(asked.runs)),
            ("Suite", asked.suite),
            ("Version of the dataset", str(asked.version)),
        ]
        labels = [variant.label for variant in asked.variants]
        title = f"{asked.name}: {len(labels)} method{'s' if len(labels) > 1 else ''}"
        compared = Compared(title, asked.dataset_id, facts, asked.epsilons, labels, panels, self.failed)
        return comparison_page(compared)

    def save(self, folder: Path, panels: Sequence[Panel] | None = None) -> list[Path]:
        """Write all figures to files, with a page of panels.

        They go to ``results.json`` and ``results.csv``, and the panels, if given, to ``report.html``.
        """
        folder.mkdir(parents=True, exist_ok=True)
        numbers, table, picture = (folder / f for f in ("results.json", "results.csv", "report.html"))
        numbers.write_text(json.dumps(self.to_json(), indent=2) + "\n", encoding="utf-8")
        with table.open("w", encoding="utf-8", newline="") as file:
            self.write_csv(file)
        if panels is None:
            return [numbers, table]
        picture.write_text(self.page(panels), encoding="utf-8")
        return [numbers, table, picture]

    def write_csv(self, file: TextIO) -> None:
        """Write one row a figure."""
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(self.rows())


def measured(report: dict[str, Any] | None, name: str) -> dict[str, Any] | None:
    """Read one metric of a run.

    It is the mean over relations and snapshots; None where it was not measured.

    ``value`` is the distance, or the synthetic graph's own value with ``original`` and both errors.
    """
    overall = None if report is None else report["curator"]["comparison"]["overall"]
    if overall is None:
        return None
    if name in overall["distances"]:
        return {"value": overall["distances"][name], "original": None}
    if name in overall["scalars"]:
        row = overall["scalars"][name]
        errors = {column: row[column] for column in ERRORS.values()}
        return {"value": row["synthetic"], "original": row["original"], **errors}
    return None


def spread(values: Sequence[float]) -> Spread | None:
    """Compute mean and sample standard deviation; None without a value."""
    if not values:
        return None
    return Spread(
        statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values)
    )
