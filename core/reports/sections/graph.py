"""What a release is. It has the synthetic graph, its metrics (for curators with the original's), its
training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from core.reports.blocks import (
    Block,
    Fold,
    Group,
    Items,
    Near,
    Paragraph,
    Pictures,
    Relative,
    Section,
    Table,
    Text,
    cut,
)
from core.reports.carried import Carried
from core.reports.comparison import ComparedRow, Comparison, EdgeTypeComparison, WholeComparison
from core.reports.evidence import CuratorPart
from core.reports.html import figures
from core.reports.html.carried import carried_figures
from core.reports.model import PublicPart
from core.reports.statistics import EdgeTypeStatistics, MetricInfo, PublicStatistics
from core.reports.totals import Total
from graphveil.pages.numbers import ends, plain

# A page is for reading: what exceeds these numbers stands in the report's JSON only, and the page says so.
MAX_CHARTED = 12
MAX_CARRIED_SHOWN = 24
MAX_BINS_SHOWN = 24
OPEN_FIGURES, OPEN_METRICS = 4, 3
Metrics = Mapping[str, MetricInfo]


@dataclass(frozen=True)
class Relation:
    """One relation with its comparison. There may be one, and what was paid for of it."""

    public: EdgeTypeStatistics
    compared: EdgeTypeComparison | None
    totals: Mapping[str, Total]
    paid: Mapping[int, Total]

    @property
    def title(self) -> Text:
        """The relation's name, and what it joins."""
        of = self.public
        joins = f"{of.source} {'→' if of.directed else '–'} {of.target}, {plain(of.edges)} edges"
        return Text(of.name, joins + (", public: copied as it is" if of.copied else ""))


def graph_sections(public: PublicPart, curator: CuratorPart | None, metrics: Metrics) -> Iterator[Section]:
    """Describe the synthetic graph. Then come its metrics, and how its model was trained."""
    comparison = None if curator is None else curator.comparison
    relations = _relations(public, comparison)
    compares, of = comparison is not None, (public, comparison, relations, metrics)
    yield Section("utility", "The synthetic graph", list(_graph(*of)), compares)
    yield Section("metrics", "Metrics", list(_metrics(*of)), compares)
    if (training := public.training) is not None:
        source = "what was paid for"
        if public.guarantee.kind == "none":
            source = "the original itself, as the release has no guarantee"
        low = " A low loss is no sign of a close graph: read the metrics." if training.curves else ""
        blocks: list[Block] = [Paragraph(f"How the model was learned: from {source}.{low}")]
        if training.collapsed:
            blocks.append(Paragraph("The generated data are degenerate", style="big danger"))
        rows = [
            (each.name, len(each.values), each.values[0], each.values[-1])
            for each in training.curves
            if each.values
        ]
        blocks += [Items(training.notes), Pictures(partial(figures.training_figures, training))]
        blocks.append(Table("Curves", ("Curve", "Points", "First", "Last"), rows))
        yield Section("training", "Training", blocks)


def _relations(public: PublicPart, comparison: Comparison | None) -> list[Relation]:
    """Order the relations by number of edges, protected ones first."""
    compared = {} if comparison is None else {found.name: found for found in comparison.edge_types}
    means: dict[str, dict[str, Total]] = {}
    steps: dict[str, dict[int, Total]] = {}
    for total in public.totals:
        if total.step is None:
            means.setdefault(total.edge_type, {})[total.metric] = total
        # Of single snapshots only numbers of edges are drawn.
        elif total.metric == "edges":
            steps.setdefault(total.edge_type, {})[total.step] = total
    ordered = sorted(public.statistics.edge_types, key=lambda relation: (relation.copied, -relation.edges))
    return [
        Relation(each, compared.get(each.name), means.get(each.name, {}), steps.get(each.name, {}))
        for each in ordered
    ]


def _graph(
    public: PublicPart, comparison: Comparison | None, relations: Sequence[Relation], metrics: Metrics
) -> Iterator[Block]:
    statistics = public.statistics
    means = "; figures are means over snapshots" if statistics.steps is not None else ""
    if comparison is None:
        compared = "How close it is to the original is known to the dataset's curators only"
        if public.guarantee.kind == "unread":
            compared = "It was compared with no original: that would have read it"
        text = "Described from the released files alone; anybody can compute the same."
        yield Paragraph(f"{text} {compared}{means}.")
    else:
        yield Paragraph(f"The synthetic graph beside the original{means}.")
    yield from counts(statistics)
    kinds = statistics.edge_types
    whole = None if comparison is None else comparison.whole
    yield Pictures(partial(figures.whole_figures, "whole", whole, metrics), "All relations together")
    lasting = partial(figures.lasting_figures, "lasting", statistics, whole, metrics)
    yield Pictures(lasting, "From step to step")
    for index, each in enumerate(relations[:MAX_CHARTED]):
        of = (f"relation-{index}", each.public, each.compared, metrics, each.paid)
        pictures = Pictures(partial(figures.relation_figures, *of))
        yield Fold(each.title, [pictures], open=index < OPEN_FIGURES)
    if rest := max(0, len(relations) - MAX_CHARTED):
        yield Paragraph(f"{rest} more relations have no figures here; their metrics follow.")
    yield Table(
        "Degrees",
        ("Relation", "Degrees", "Mean", "Variance", "Median", "Largest", "Nodes without an edge"),
        [
            (kind.name, side.side, side.mean, side.variance, side.median, side.maximum, side.isolated)
            for kind in kinds
            for side in kind.degrees
        ],
    )
    if public.carried:
        yield Group(list(_every_carried(public.carried)), "carried", "What edges and nodes carry", "carried")
    if not any(relation.edges for relation in kinds):
        yield Paragraph("The synthetic graph has no edges.", style="empty")


def counts(statistics: PublicStatistics) -> Iterator[Table]:
    """Count nodes and edges by type."""
    kinds = statistics.edge_types
    yield Table("Nodes", ("Node type", "Nodes"), [*statistics.nodes.items()])
    yield Table(
        "Relations",
        ("Relation", "From", "To", "Directed", "Copied as it is", "Edges"),
        [(k.name, k.source, k.target, k.directed, k.copied, k.edges) for k in kinds],
    )


def _every_carried(carried: Sequence[Carried]) -> Iterator[Block]:
    near = (
        ", beside the numbers that the release paid for. A paid number is the truth and noise: a line shows "
        "where the true number lies with 95 %, each by itself"
    )
    paid = any(found.paid for found in carried)
    yield Paragraph(f"Synthetic values, counted in the released files{near if paid else ''}.")
    for index, found in enumerate(carried[:MAX_CARRIED_SHOWN]):
        yield from _carried(f"carried-{index}", found)
    yield from cut(MAX_CARRIED_SHOWN, len(carried), "attributes")


def _carried(uid: str, found: Carried) -> Iterator[Block]:
    """Show how frequent values are; tables of two things are pictures here, and whole in the JSON."""
    paid = found.paid or (None,) * len(found.bins)
    rows = sorted(zip(found.bins, found.released, paid, strict=True), key=lambda row: -row[1])
    shown = rows[:MAX_BINS_SHOWN]
    near = () if found.within is None else (f"Paid for, within {found.within} of the truth (95 %)",)
    yield Paragraph(f"{found.attribute} of {found.what}, {found.of}", style="heading")
    yield Pictures(partial(carried_figures, uid, found))
    columns = ("Value", "Release", *near)
    yield Table(found.attribute, columns, [row[: len(columns)] for row in shown], most=0)
    yield from cut(len(shown), len(found.bins) + found.left_out, "bins, the most frequent")


def _metrics(
    public: PublicPart, comparison: Comparison | None, relations: Sequence[Relation], metrics: Metrics
) -> Iterator[Block]:
    text = "A dash is undefined, never zero. "
    if public.statistics.steps is not None:
        text = "Means over snapshots; a mean of errors, not the error of the mean. " + text
    if comparison is not None:
        text = f"Suite {comparison.suite}. Snapshots compared: {comparison.steps_evaluated}. {text}"
    elif public.totals:
        text += (
            "Where paid numbers determine a figure, the interval stands beside it in which the true value "
            "lies with 95 %, from the noise alone. "
        )
    yield Paragraph(text.strip())
    if comparison is not None:
        count = len(comparison.edge_types)
        if comparison.overall is not None and count > 1:
            title = Text("Mean over relations", f"{count} of them")
            yield Fold(title, compared(comparison.overall, metrics, "Mean over relations"), open=True)
        if comparison.whole is not None:
            blocks = list(_whole(comparison.whole, metrics))
            yield Fold(Text("All relations as one graph"), blocks, open=True)
    if lasting := list(_over_time(public.statistics, comparison, metrics)):
        yield Fold(Text("From step to step", "protected relations with time"), lasting, open=True)
    folds = [
        Fold(each.title, list(_relation(each, metrics)), open=index < OPEN_METRICS)
        for index, each in enumerate(relations)
    ]
    yield from folds[:MAX_CHARTED]
    if rest := folds[MAX_CHARTED:]:
        yield Fold(Text(f"{len(rest)} more relations"), rest)


def _over_time(
    statistics: PublicStatistics, comparison: Comparison | None, metrics: Metrics
) -> Iterator[Block]:
    whole = None if comparison is None else comparison.whole
    if whole is not None and whole.over_steps is not None:
        yield from compared(whole.over_steps.means, metrics, "From step to step")
    elif statistics.over_steps is not None:
        rows = [(named(metrics, name), value) for name, value in statistics.over_steps.means.items()]
        yield Table("From step to step", ("Metric", "Synthetic"), rows, most=99)


def _relation(relation: Relation, metrics: Metrics) -> Iterator[Block]:
    of, totals = relation.public, relation.totals
    if (found := relation.compared) is not None:
        yield from compared(found.means, metrics, of.name)
        paid = [(named(metrics, name), ends(each.low, each.high)) for name, each in totals.items()]
        caption = f"{of.name}, determined by paid numbers"
        yield Table(caption, ("Determined by paid numbers", "True value, 95 %"), paid)
        # What the comparison shows is not repeated, but for values that it computed otherwise.
        beside = {name: pair.synthetic for name, pair in found.means.scalars.items()}
        rest = [
            (named(metrics, name), value) for name, value in of.means.items() if value != beside.get(name)
        ]
        yield Table(f"{of.name}, of the release alone", ("Of the release alone", "Synthetic"), rest)
        for what, carried in (("edges", found.values), ("nodes", found.node_values)):
            for each in carried:
                yield Paragraph(f"What {what} carry: {each.name}", style="heading")
                yield from compared(each.row, metrics, f"{of.name}, {each.name}")
        return
    if of.copied:
        yield Paragraph("This relation is public: it is copied as it is, and equals the original.")
    true = ("True value, 95 %",) * bool(totals)
    rows = []
    for name, value in of.means.items():
        total = totals.get(name)
        original = () if not true else ("–" if total is None else ends(total.low, total.high),)
        rows.append((named(metrics, name), value, *original))
    yield Table(of.name, ("Metric", "Synthetic", *true), rows, most=99)


def named(metrics: Metrics, name: str) -> Text:
    """Name a metric by its title. This leads to its definition where the report explains it."""
    return Text(metrics[name].title, metric=name) if name in metrics else Text(name)


def compared(row: ComparedRow, metrics: Metrics, caption: str) -> list[Block]:
    """Show metrics of both graphs side by side, then distances between them."""
    rows = [
        (
            named(metrics, name),
            Near(pair.original, pair.original_standard_error),
            Near(pair.synthetic, pair.synthetic_standard_error),
            pair.absolute_error,
            Relative(pair.relative_error),
        )
        for name, pair in row.scalars.items()
    ]
    columns = ("Metric", "Original", "Synthetic", "Absolute error", "Relative error")
    return [
        Table(caption, columns, rows, most=99),
        _distances(row.distances, metrics, f"{caption}, distances"),
    ]


def _distances(found: Mapping[str, float | None], metrics: Metrics, caption: str) -> Table:
    """Show distances, and beside them the original's to itself where it is told: their scale."""
    own = {name: found[f"{name}_self"] for name in found if f"{name}_self" in found}
    rows = [
        (
            named(metrics, name),
            value,
            *((own.get(name, ""),) if own else ()),
            (metrics[name].better if name in metrics else None) or "–",
        )
        for name, value in found.items()
        if not (name.endswith("_self") and name.removesuffix("_self") in own)
    ]
    columns = ("Distance", "Value", *(("Original to itself",) if own else ()), "Closer is")
    return Table(caption, columns, rows, most=99)


def _whole(found: WholeComparison, metrics: Metrics) -> Iterator[Block]:
    yield from compared(found.means, metrics, "All relations as one graph")
    sequences = [("Over all snapshots", found.sequences)]
    for title, distances in (
        *sequences,
        *((f"Node type {each.name}", each.distances) for each in found.node_types),
    ):
        if distances:
            yield Paragraph(title, style="heading")
            yield _distances(distances, metrics, title)
    yield Table(
        "Meta-paths",
        ("Meta-path", "Original share", "Synthetic share"),
        [(path.path, path.original, path.synthetic) for path in found.meta_paths],
    )
