"""From a report's parts to its figures. What the curator part is not given, no figure shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from core.reports.comparison import (
    ComparedRow,
    Comparison,
    EdgeTypeComparison,
    MetaPathShares,
    WholeComparison,
)
from core.reports.evidence import Attack, Task
from core.reports.html import charts
from core.reports.html.charts import Dot
from core.reports.statistics import Drawing, EdgeTypeStatistics, MetricInfo, PublicStatistics
from core.reports.totals import Total
from core.reports.training import TrainingPart
from graphveil.pages.figure import Figure
from graphveil.pages.numbers import tick

# Metrics that are drawn over time, where a relation has them.
OVER_TIME = ("edges", "largest_component", "transitivity")
LASTING = ("active_nodes", "edge_persistence", "edge_novelty")
"""What is drawn over time of all protected relations together."""
MAX_BARS = 12
MAX_LINES = 16

_SIDES = {
    "degree": "Degree distribution",
    "out": "Out-degree distribution",
    "in": "In-degree distribution",
    "source": "Degree distribution, sources",
    "target": "Degree distribution, targets",
}


def relation_figures(
    uid: str,
    relation: EdgeTypeStatistics,
    compared: EdgeTypeComparison | None,
    metrics: Mapping[str, MetricInfo],
    paid: Mapping[int, Total],
) -> list[Figure]:
    """Draw one relation's degrees and curves over time. The original's stand next to them if compared.

    ``paid``: the edges of snapshots as they were paid for, drawn with their intervals where nothing is
    compared.
    """
    found = [*_degrees(uid, relation, compared), *_curves(uid, relation, compared, metrics, paid)]
    return [figure for figure in found if figure is not None]


def _degrees(
    uid: str, relation: EdgeTypeStatistics, compared: EdgeTypeComparison | None
) -> Iterator[Figure | None]:
    sides = {} if compared is None else {side.side: side.bins for side in compared.degrees}
    for index, summary in enumerate(relation.degrees):
        bins = sides.get(summary.side)
        series: dict[str, list[float]] = {}
        # The comparison's bins are the same for both graphs: their lines stand over the same degrees.
        if bins is not None:
            edges = [(b.low, b.high) for b in bins]
            series["original"] = [b.original for b in bins]
            series["synthetic"] = [b.synthetic for b in bins]
        else:
            edges = [(b.low, b.high) for b in summary.bins]
            series[_shown(relation)] = [b.nodes for b in summary.bins]
        text = f"Nodes by degree in {relation.name}, both axes logarithmic, for {_names(series)}. "
        text += f"Published: mean {tick(summary.mean)}, largest {tick(summary.maximum)}."
        title = _SIDES.get(summary.side, f"Degree distribution, {summary.side}")
        yield charts.degrees(f"{uid}-degrees-{index}", title, text, edges, series)


def _curves(
    uid: str,
    relation: EdgeTypeStatistics,
    compared: EdgeTypeComparison | None,
    metrics: Mapping[str, MetricInfo],
    paid: Mapping[int, Total],
) -> Iterator[Figure | None]:
    for metric in OVER_TIME:
        bands: Mapping[int, tuple[float, float]] = {}
        if compared is not None:
            steps, series = _timed(compared.rows, metric)
        else:
            shown = [(row.step, row.scalars.get(metric)) for row in relation.rows if row.step is not None]
            steps = [step for step, _ in shown if step is not None]
            series = {_shown(relation): [value for _, value in shown]}
            # What was paid for of each step are numbers of edges.
            if metric == "edges":
                bands = {step: (paid[step].low, paid[step].high) for step in steps if step in paid}
        yield _curve(f"{uid}-{metric}", metric, metrics, steps, series, relation.name, bands)


def _timed(rows: Sequence[ComparedRow], metric: str) -> tuple[list[int], dict[str, charts.Values]]:
    """Collect the steps that have the metric, and its values in both graphs."""
    by_step = {
        row.step: row.scalars[metric] for row in rows if row.step is not None and metric in row.scalars
    }
    values = by_step.values()
    return list(by_step), {
        "original": [v.original for v in values],
        "synthetic": [v.synthetic for v in values],
    }


def _shown(relation: EdgeTypeStatistics) -> str:
    """Choose how a relation without comparison is drawn: a public one is no synthetic one."""
    return "copied" if relation.copied else "synthetic"


def _curve(
    uid: str,
    metric: str,
    metrics: Mapping[str, MetricInfo],
    steps: Sequence[int],
    series: Mapping[str, charts.Values],
    where: str,
    bands: Mapping[int, tuple[float, float]] | None = None,
) -> Figure | None:
    title = metrics[metric].title if metric in metrics else metric
    text = f"{title} of {where} over {len(steps)} snapshots, for {_names(series)}."
    if bands:
        text += " Upright lines: where the true number lies with 95 %, from paid numbers."
    return charts.curves(uid, f"{title} over time", text, steps, series, bands=bands or {})


def _names(series: Mapping[str, object]) -> str:
    return " and ".join(f"the {name} graph" for name in series)


def whole_figures(uid: str, whole: WholeComparison | None, metrics: Mapping[str, MetricInfo]) -> list[Figure]:
    """Draw all relations as one graph. There are curves over time, and how often each meta-path occurs."""
    if whole is None:
        return []
    figures: list[Figure | None] = []
    for metric in OVER_TIME:
        steps, series = _timed(whole.rows, metric)
        figures.append(_curve(f"{uid}-{metric}", metric, metrics, steps, series, "all relations together"))
    for length in sorted({path.length for path in whole.meta_paths}):
        paths = [path for path in whole.meta_paths if path.length == length]
        figures.append(_meta_paths(f"{uid}-paths-{length}", length, paths))
    return [figure for figure in figures if figure is not None]


def lasting_figures(
    uid: str, statistics: PublicStatistics, whole: WholeComparison | None, metrics: Mapping[str, MetricInfo]
) -> list[Figure]:
    """Draw what stays from step to step, with the original if compared."""
    own, compared = statistics.over_steps, None if whole is None else whole.over_steps
    rows = own.rows if own else ()
    figures: list[Figure | None] = []
    for metric in LASTING if own else ():
        if compared:
            steps, series = _timed(compared.rows, metric)
        else:
            shown = [(row.step, row.scalars.get(metric)) for row in rows if row.step is not None]
            steps, series = [step for step, _ in shown], {"synthetic": [value for _, value in shown]}
        figures.append(_curve(f"{uid}-{metric}", metric, metrics, steps, series, "protected relations"))
    return [figure for figure in figures if figure is not None]


def _meta_paths(uid: str, length: int, paths: list[MetaPathShares]) -> Figure | None:
    def larger(path: MetaPathShares) -> float:
        return max(path.original or 0.0, path.synthetic or 0.0)

    # By the larger of both, so that what only one of the graphs has is shown, too.
    first = sorted(paths, key=lambda path: (-larger(path), path.path))[:MAX_BARS]
    left_out = len(paths) - len(first)
    text = f"How often each meta-path occurs among those of {length} nodes, original and synthetic."
    if left_out:
        text += f" The {len(first)} most frequent; {left_out} more are in the report's JSON."
    series = {"original": [p.original for p in first], "synthetic": [p.synthetic for p in first]}
    return charts.bars(uid, f"Meta-paths of {length} nodes", text, [p.path for p in first], series)


def training_figures(training: TrainingPart | None) -> list[Figure]:
    """Draw every curve of the training, by its own axis."""
    figures = []
    for index, curve in enumerate(() if training is None else training.curves):
        text = f"{curve.name} over {len(curve.steps)} points of the training."
        series = {"synthetic": list(curve.values)}
        title = curve.name[:1].upper() + curve.name[1:]
        figure = charts.curves(f"training-{index}", title, text, curve.steps, series, "step")
        if figure is not None:
            figures.append(charts.alone(figure, ("Step", title)))
    return figures


def drawing_figures(statistics: PublicStatistics, comparison: Comparison | None) -> list[Figure]:
    """Draw the synthetic graph and the original. The latter is for curators."""
    figures = []
    original = None if comparison is None else comparison.drawing
    types = list(statistics.nodes)
    pairs: tuple[tuple[str, Drawing | None], ...] = (
        ("original", original),
        ("synthetic", statistics.drawing),
    )
    for name, drawn in pairs:
        if drawn is not None and drawn.nodes:
            shown = f"{len(drawn.nodes):,} nodes and {len(drawn.edges):,} edges"
            if drawn.part_of is not None:
                shown = (
                    f"of {drawn.part_of:,} nodes the {len(drawn.nodes):,} with most edges, and some of these"
                )
            text = (
                f"The {name} graph: {shown}, all snapshots and relations together. "
                "Places have no meaning beyond nearness."
            )
            figures.append(charts.drawing(f"drawing-{name}", f"The {name} graph", text, drawn, types))
    return figures


def attack_figures(inference: Sequence[Attack]) -> list[Figure]:
    """Draw the AUC of every attack on the release. It has its interval, and the same on the original."""
    run = [attack for attack in inference if attack.published is not None]
    if not run:
        return []
    # The farthest from guessing first, on either side: an attacker may invert its answer.
    run.sort(key=lambda attack: -abs(attack.published.auc.value - 0.5) if attack.published else 0.0)
    lines = [
        (" · ".join(filter(None, (attack.title, attack.edge_type))), _scores(attack))
        for attack in run[:MAX_LINES]
    ]
    text = (
        f"Area under the ROC curve of {len(lines)} attacks with 95 % intervals: on the release (square), "
        "and, had the original been published (circle). 0.5 is guessing, 1 finds every link."
    )
    if len(run) > len(lines):
        text += f" The {len(lines)} farthest from guessing of {len(run)}."
    return [charts.dots("attacks", "Attacks: AUC with 95 % interval", text, lines, 0.5)]


def _scores(attack: Attack) -> list[Dot]:
    pairs = (("synthetic", attack.published), ("original", attack.reference))
    return [
        Dot(name, score.auc.value, score.auc.low, score.auc.high)
        for name, score in pairs
        if score is not None
    ]


def task_figures(tasks: Sequence[Task]) -> list[Figure]:
    """Draw what a model learns from either graph. Guessing stands next to it; all tested on the original."""
    lines = []
    for task in tasks[:MAX_LINES]:
        pairs = (
            ("original", task.trained_on_original),
            ("synthetic", task.trained_on_synthetic),
            ("guess", task.baseline),
        )
        values = [Dot(name, value) for name, value in pairs if value is not None]
        if task.not_run is None and values:
            lines.append((f"{task.title} · {task.subject}", values))
    if not lines:
        return []
    text = (
        "A model trained on the original (circle), trained on the release (square), and guessing (diamond); "
        "tested on the original."
    )
    return [charts.dots("tasks", "Learning from the release", text, lines)]
