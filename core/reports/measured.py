"""Comparisons of utility, family by family. They lie between two ends that were measured. Curators only.

A distance d from the original is read on the way from a uniform graph with as many edges (d0, scores 0) to a
resample of the original itself (d1, scores 1): (d0 - d) / (d0 - d1), cut off at both ends. Of a family the
worst member counts. See :class:`core.reports.comparison.Anchors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from core.reports.comparison import Anchors, Compared, ComparedRow, Comparison
from core.reports.scores import ScorePart

# Where the two ends lie closer together than this, chance alone gives the original's value.
SMALLEST_GAP = 0.02
# What chance gives counts against a release that is farther off than a uniform graph by more than this.
TOLERANCE = 0.05


@dataclass(frozen=True)
class _Member:
    """One metric of a family. ``distance(row)`` is None where it is undefined; 1 is far on every scale."""

    metric: str
    called: str
    distance: Callable[[ComparedRow], float | None]


def _error(metric: str, called: str, of: Callable[[Compared], float | None]) -> _Member:
    return _Member(metric, called, lambda row: of(row.scalars[metric]) if metric in row.scalars else None)


def _absolute(metric: str, called: str) -> _Member:
    return _error(metric, called, lambda compared: compared.absolute_error)


def _distance(metric: str, called: str) -> _Member:
    return _Member(metric, called, lambda row: row.distances.get(metric))


def _likeness(metric: str, called: str) -> _Member:
    """Measure 1 - a figure of which higher is closer."""

    def far(row: ComparedRow) -> float | None:
        likeness = row.distances.get(metric)
        return None if likeness is None else 1 - likeness

    return _Member(metric, called, far)


def _of_original(compared: Compared) -> float | None:
    """Divide mean error by mean value: one empty snapshot must not decide."""
    error, value = compared.absolute_error, abs(compared.original or 0.0)
    if error is None:
        return None
    return min(1.0, error / value) if value > 0 else float(error > 0)


FAMILIES: tuple[tuple[str, str, tuple[_Member, ...]], ...] = (
    ("edges", "Edge counts", (_error("density", "density, relative error", _of_original),)),
    (
        "degree",
        "Degrees",
        (
            _distance("degree_total_variation", "degree distribution, total variation"),
            _absolute("gini", "inequality of degrees"),
        ),
    ),
    ("assortativity", "Assortativity", (_absolute("assortativity", "degree assortativity"),)),
    (
        "clustering",
        "Clustering",
        (
            _absolute("transitivity", "transitivity"),
            _absolute("mean_local_clustering", "mean local clustering"),
        ),
    ),
    (
        "communities",
        "Communities",
        (
            _absolute("modularity", "modularity"),
            _likeness("partition_nmi_above_chance", "who is with whom, 1 - mutual information above chance"),
        ),
    ),
    ("components", "Components", (_absolute("largest_component_share", "largest component's share"),)),
    ("hubs", "Hubs", (_likeness("top_eigenvector_overlap", "most central nodes, share that differs"),)),
    ("paths", "Shortest paths", (_distance("distance_total_variation", "distances, total variation"),)),
    (
        "meta_paths",
        "Meta-paths",
        tuple(
            _distance(f"meta_path_total_variation_{k}", f"meta-paths of {k} nodes, total variation")
            for k in (2, 3, 4)
        ),
    ),
)


def measured_parts(comparison: Comparison) -> Iterator[ScorePart]:
    """Yield a part for every distinguishing family. It tells the original from a uniform graph; its worst
    member counts.

    Nothing at all for a comparison without anchors. Where both ends lie together, chance alone gives the
    original's value: nothing is earned there, and what is lost counts. A figure that the release lacks in
    some snapshots counts as 0 in those.
    """
    row, anchors = comparison.overall, comparison.anchors
    if row is None or anchors is None:
        return
    if comparison.whole is not None:
        # What only the graph as a whole has, such as meta-paths, counts too; of others the relations' mean.
        row = row.model_copy(update={"distances": {**comparison.whole.sequences, **row.distances}})
    for name, title, members in FAMILIES:
        measured = {
            member.called: valued
            for member in members
            if (valued := _value(member, row, anchors, _present(member.metric, comparison))) is not None
        }
        if measured:
            worst = min(measured, key=lambda called: measured[called][0])
            value, said = measured[worst]
            others = ", ".join(
                f"{called} {measured[called][0]:.2f}" for called in measured if called != worst
            )
            more = f" The worst of {len(measured)}; besides: {others}." if others else ""
            yield ScorePart(
                name=name,
                title=title,
                value=value,
                weight=1.0,
                explanation=f"{worst[:1].upper()}{worst[1:]}: {said}{more}",
            )


def _value(member: _Member, row: ComparedRow, anchors: Anchors, present: float) -> tuple[float, str] | None:
    """Compute the member's value from 0 to 1 and say how it came about; None where it says nothing."""
    far, near = member.distance(anchors.uniform), member.distance(anchors.resampled)
    if far is None or near is None:
        return None
    distance = member.distance(row)
    if distance is None:
        return None if present == 1 else (0.0, "undefined in the release, defined in the original.")
    if far - near < SMALLEST_GAP:
        beyond = distance - max(far, near)
        if beyond <= TOLERANCE:
            return None
        return max(0.0, 1 - beyond) * present, (
            f"off by {distance:.3g}, where a uniform graph is off by {far:.3g} only: 1 - the difference."
        )
    # Farther than a uniform graph, or nearer than the resample, counts as the end.
    value = min(1.0, max(0.0, (far - distance) / (far - near))) * present
    explanation = (
        f"off by {distance:.3g}; a uniform graph is off by {far:.3g} (0), a resample by {near:.3g} (1)."
    )
    return (
        value,
        explanation if present == 1 else f"{explanation} Defined in {present:.0%} of what the original has.",
    )


def _present(metric: str, comparison: Comparison) -> float:
    """Compute in which share of the original's values, by relation and snapshot, the release has one, too."""
    total = held = 0
    for relation in comparison.edge_types:
        for row in relation.rows:
            pair = row.scalars.get(metric)
            if pair is not None:
                total += pair.original is not None
                held += pair.original is not None and pair.synthetic is not None
            elif metric in row.distances:
                edges = row.scalars.get("edges")
                # A distance is undefined where the release has no edges: that counts where the original has
                # some.
                empty = edges is not None and bool(edges.original) and not edges.synthetic
                lacking = row.distances[metric] is None and empty
                total += lacking or row.distances[metric] is not None
                held += row.distances[metric] is not None
    return held / total if total else 1.0
