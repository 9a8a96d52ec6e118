"""The curators' sections of the Markdown report: comparison, attacks beside baselines, tasks."""

from __future__ import annotations

from core.reports.comparison import ComparedRow, Comparison, WholeComparison
from core.reports.evidence import Attack, Attacks, AttackScore, CuratorPart, DegreeSignature, Task
from core.reports.sensitive import interval, section
from core.reports.statistics import MetricInfo
from core.reports.text import escape, items, number, table
from graphveil.models.reports import subject_of as subject


def curator_sections(part: CuratorPart) -> list[str]:
    """Write every section that depends on the original graph, warnings first."""
    lines: list[str] = []
    if part.warnings:
        rows = [(n.code, n.edge_type or "all", n.metric or "all", n.text) for n in part.warnings]
        lines += ["## Warnings for curators", "", *table(("Code", "Relation", "Metric", "Meaning"), rows)]
    hidden = section(part.attacks.sensitive)
    lines += _paid(part)
    return lines + _comparison(part.comparison) + hidden + _attacks(part.attacks) + _tasks(part.tasks)


def _paid(part: CuratorPart) -> list[str]:
    rows = (
        (
            subject(each),
            each.quantity,
            each.values,
            each.predicted,
            each.actual,
            f"{each.held:.1%}",
            each.synthetic,
        )
        for each in part.paid
    )
    columns = ("Relation", "Quantity", "Numbers", "Predicted", "Actual", "Inside 95 %", "Synthetic graph")
    lines = table(columns, rows)
    if not lines:
        return []
    return [
        "## Predicted noise beside the actual error (curators only)",
        "",
        "Of the numbers that are published with the release, and of the same numbers counted in the "
        "synthetic graph instead: means of how far they are from the original's.",
        "",
        *lines,
    ]


def _comparison(found: Comparison) -> list[str]:
    lines = [
        "## Comparison with the original (curators only)",
        "",
        f"Suite: {found.suite}. Snapshots compared: {found.steps_evaluated}; figures are their means.",
        "",
    ]
    for kind in found.edge_types:
        lines += [f"### Relation {escape(kind.name)}", "", *_row(kind.means, found.metrics)]
        for carried in kind.values:
            lines += [f"What edges carry: {escape(carried.name)}", "", *_row(carried.row, found.metrics)]
        for carried in kind.node_values:
            lines += [f"What nodes carry: {escape(carried.name)}", "", *_row(carried.row, found.metrics)]
    if found.overall is not None and len(found.edge_types) > 1:
        lines += ["### Mean over relations", "", *_row(found.overall, found.metrics)]
    if found.whole is not None:
        lines += _whole(found.whole, found.metrics)
    rows = [(info.title, info.family, info.definition) for info in found.metrics.values()]
    return [
        *lines,
        "### What the metrics mean",
        "",
        *table(("Metric", "Family", "Definition"), rows),
    ]


def metric_title(metrics: dict[str, MetricInfo], name: str) -> str:
    """Return the metric's title, or its name where the report does not explain it."""
    return metrics[name].title if name in metrics else name


def _row(row: ComparedRow, metrics: dict[str, MetricInfo]) -> list[str]:
    lines = table(
        ("Metric", "Original", "Synthetic", "Absolute error", "Relative error"),
        (
            (
                metric_title(metrics, name),
                _measured(pair.original, pair.original_standard_error),
                _measured(pair.synthetic, pair.synthetic_standard_error),
                pair.absolute_error,
                pair.relative_error,
            )
            for name, pair in row.scalars.items()
        ),
    )
    return lines + _distances(row.distances, metrics)


def _measured(value: float | None, error: float | None) -> str:
    return number(value) if error is None else f"{number(value)} ± {error:.2g}"


def _distances(found: dict[str, float | None], metrics: dict[str, MetricInfo]) -> list[str]:
    return table(
        ("Distance", "Value", "Closer is"),
        (
            (metric_title(metrics, name), value, (metrics[name].better if name in metrics else None) or "–")
            for name, value in found.items()
        ),
    )


def _whole(found: WholeComparison, metrics: dict[str, MetricInfo]) -> list[str]:
    lines = ["### All relations as one graph", "", *_row(found.means, metrics)]
    lines += _distances(found.sequences, metrics)
    for kind in found.node_types:
        lines += [f"### Node type {escape(kind.name)}", "", *_distances(kind.distances, metrics)]
    paths = table(
        ("Meta-path", "Original share", "Synthetic share"),
        ((path.path, path.original, path.synthetic) for path in found.meta_paths),
    )
    return [*lines, *(["### Meta-paths", "", *paths] if paths else [])]


def _attacks(found: Attacks) -> list[str]:
    lines = [
        "## Attacks (curators only)",
        "",
        "Each attack stands beside the same attack had the original been published. A weak attack is "
        "evidence, not a guarantee.",
        "",
        *([] if found.degree_signature is None else _signature(found.degree_signature)),
    ]
    run = [attack for attack in found.inference if attack.not_run is None]
    bounded = any(attack.bound is not None for attack in run)
    lines += table(
        (
            "Attack",
            "On",
            "Targets",
            "AUC, release",
            "AUC, original",
            *(("AUC at most",) if bounded else ()),
            "TPR at 0.1 % FPR",
            "TPR at 1 % FPR",
        ),
        (_attack(attack, bounded) for attack in run),
    )
    if bounded:
        lines += [
            "AUC at most: what the guarantee leaves to any such attacker. Who took part is asked of a twin "
            "of the release, made at the same epsilon from the original without half of the persons asked "
            "for: in the release itself everybody took part.",
            "",
        ]
    if run:
        lines += [
            "In brackets: 95 % confidence intervals. An AUC of 0.5 is guessing. What attackers know:",
            "",
        ]
        lines += items(dict.fromkeys(f"{attack.title}: {attack.knowledge}" for attack in run))
    missing = [
        f"{attack.title} on {subject_of(attack)}: {attack.not_run}"
        for attack in found.inference
        if attack.not_run is not None
    ]
    return [*lines, *(["Not run:", "", *items(missing)] if missing else [])]


def _signature(found: DegreeSignature) -> list[str]:
    rows: list[tuple[str, float, float | None]] = [
        ("Known degree in one snapshot", found.per_step, found.reference_per_step),
        ("Known degree in every snapshot", found.sequence, found.reference_sequence),
    ]
    rows += [
        (f"Known degree, node type {name} only", share, found.reference_per_type.get(name))
        for name, share in found.per_type.items()
    ]
    return table(("Degree signature: share of victims found", "Release", "Original"), rows)


def _attack(attack: Attack, bounded: bool) -> tuple[object, ...]:
    release = attack.published
    return (
        attack.title,
        subject_of(attack),
        f"{attack.positives} / {attack.negatives}",
        _auc(release),
        _auc(attack.reference),
        *((attack.bound,) if bounded else ()),
        interval(release.tpr_at_fpr_1e3 if release else None),
        interval(release.tpr_at_fpr_1e2 if release else None),
    )


def subject_of(attack: Attack) -> str:
    """Name what is attacked: a relation, who took part, or a node's features."""
    other = "persons" if attack.name.startswith("membership_") else "features"
    return attack.edge_type or other


def _auc(score: AttackScore | None) -> str:
    return interval(score.auc if score else None)


def _tasks(found: tuple[Task, ...]) -> list[str]:
    if not found:
        return []
    rows = (
        (
            task.title,
            task.subject,
            task.measure,
            task.trained_on_original,
            task.trained_on_synthetic,
            task.baseline,
            task.repetitions,
        )
        for task in found
        if task.not_run is None
    )
    columns = ("Task", "On", "Measure", "Trained on original", "Trained on synthetic", "Guessing", "Runs")
    missing = [f"{t.title} on {t.subject}: {t.not_run}" for t in found if t.not_run is not None]
    return [
        "## Tasks (curators only)",
        "",
        "Models are trained on either graph and tested on the original.",
        "",
        *table(columns, rows),
        *items(dict.fromkeys(f"{task.title}: {task.definition}" for task in found)),
        *(["Not run:", "", *items(missing)] if missing else []),
    ]
