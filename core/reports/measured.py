"""What a comparison says of utility, property by property: 1 is equality. Curators only."""

from __future__ import annotations

from collections.abc import Iterator

from core.reports.comparison import Compared, ComparedRow, Comparison
from core.reports.scores import ScorePart

# (part, title, distance, what it says); the value is 1 - distance.
_DISTANCES = (
    ("degree", "Degrees", "degree_total_variation", "total variation of the degree distributions"),
    ("paths", "Shortest paths", "distance_total_variation", "total variation of the distances between nodes"),
)
_SEQUENCES = (
    ("meta_paths_2", "Meta-paths of 2 nodes", "meta_path_total_variation_2"),
    ("meta_paths_3", "Meta-paths of 3 nodes", "meta_path_total_variation_3"),
)


def measured_parts(comparison: Comparison) -> Iterator[ScorePart]:
    """A part for every property that is defined on both graphs; means over snapshots and relations.

    degree, paths: 1 - total variation. density: 1 - |error| / original value, at least 0 (mean error by mean
    value: one empty snapshot must not decide). clustering: 1 - |error of transitivity| / larger value (equal
    where both are 0). assortativity: 1 - |error| / 2. communities: 1 - |error of modularity|. components:
    1 - |error of the largest component's share|. hubs: overlap of the most central nodes. meta-paths: 1 -
    total variation of their shares.
    """
    row = comparison.overall
    if row is not None:
        yield from _from_row(row)
    if comparison.whole is not None:
        for name, title, metric in _SEQUENCES:
            distance = comparison.whole.sequences.get(metric)
            if distance is not None:
                said = f"1 - total variation of the shares of meta-paths: {distance:.3g}."
                yield _part(name, title, 1 - distance, said)


def _from_row(row: ComparedRow) -> Iterator[ScorePart]:
    for name, title, metric, said in _DISTANCES:
        distance = row.distances.get(metric)
        if distance is not None:
            yield _part(name, title, 1 - distance, f"1 - {said}: {distance:.3g}.")
    density = row.scalars.get("density")
    if density is not None and density.absolute_error is not None:
        error = _of_original(density)
        said = f"1 - |error of the density| / original value: {error:.3g}."
        yield _part("density", "Density", 1 - error, said)
    clustering = row.scalars.get("transitivity")
    if clustering is not None and clustering.absolute_error is not None:
        error = _of_larger(clustering)
        said = f"1 - |error of the transitivity| / larger value: {error:.3g}."
        yield _part("clustering", "Clustering", 1 - error, said)
    yield from _scaled(row, "assortativity", "Assortativity", "assortativity", "degree assortativity", 2)
    yield from _scaled(row, "communities", "Communities", "modularity", "modularity", 1)
    yield from _scaled(
        row, "components", "Components", "largest_component_share", "largest component's share", 1
    )
    hubs = row.distances.get("top_eigenvector_overlap")
    if hubs is not None:
        said = f"Share of the most central nodes that both graphs have: {hubs:.3g}."
        yield _part("hubs", "Hubs", hubs, said)


def _scaled(
    row: ComparedRow, name: str, title: str, metric: str, called: str, width: int
) -> Iterator[ScorePart]:
    """1 - |error| / ``width``, the width of the metric's range."""
    compared = row.scalars.get(metric)
    if compared is not None and compared.absolute_error is not None:
        error = compared.absolute_error
        said = f"1 - |error of the {called}|{f' / {width}' if width > 1 else ''}: {error:.3g}."
        yield _part(name, title, 1 - error / width, said)


def _of_original(compared: Compared) -> float:
    error, value = compared.absolute_error or 0.0, abs(compared.original or 0.0)
    return min(1.0, error / value) if value > 0 else float(error > 0)


def _of_larger(compared: Compared) -> float:
    larger = max(abs(compared.original or 0.0), abs(compared.synthetic or 0.0))
    error = compared.absolute_error or 0.0
    return min(1.0, error / larger) if larger > 0 else 0.0


def _part(name: str, title: str, value: float, explanation: str) -> ScorePart:
    bounded = min(1.0, max(0.0, value))
    return ScorePart(name=name, title=title, value=bounded, weight=1.0, explanation=explanation)
