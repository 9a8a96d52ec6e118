"""One release side by side with its original: both graphs drawn, and the law of degrees.

    python -m benchmarks.release_picture Facebook.txt docs/pictures/release.svg [--epsilon 1]

The default at unit ``edge``. Both drawings show the largest component, placed by the stress of distances,
without the hundredth of its nodes that is farthest out, and ``EDGES`` of its edges chosen at random; the law
of degrees counts all.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import networkit as nk
import numpy as np

from benchmarks.load import load_static
from benchmarks.static_tables import figures, release
from core.evaluation.view import UndirectedView
from core.graphs.graph import Graph
from graphveil.pages.svg import Plot, n, nice_ticks

EDGES, SHOWN, SIDE, GAP, TOP = 4_000, 0.99, 300, 14, 34
DIMENSIONS, NEAR, TOLERANCE = 2, 1, 1e-3
SOLVER = nk.viz.LinearSolverType.CONJUGATE_GRADIENT_DIAGONAL_PRECONDITIONER
STYLE = """
text{font:12px system-ui,"Segoe UI",Roboto,Arial,sans-serif;fill:#444}.head{font-weight:600;fill:#222}
.paper{fill:#fff}.grid{stroke:#e3e3e3;fill:none}.axis{stroke:#777;fill:none}
.edges{fill:none;stroke-width:.35;stroke-opacity:.4}.original{stroke:#2b5fb8}.synthetic{stroke:#c0390a}
.points{stroke-width:1.7;stroke-linecap:round;fill:none}.law{fill:none;stroke-width:2}
.law.synthetic{stroke-dasharray:5 3}
"""


def ends_of(graph: Graph) -> np.ndarray:
    """Ends of every edge. Shape (edges, 2)."""
    table = graph.edges["edge"]
    return np.stack([table.source, table.target], axis=1)


def drawing(ends: np.ndarray, nodes: int, rng: np.random.Generator, style: str) -> list[str]:
    """Draw the largest component in a square of ``SIDE``: lines of some edges, points of all nodes."""
    whole = nk.Graph(nodes)
    whole.addEdges((ends[:, 0].astype(np.uint64), ends[:, 1].astype(np.uint64)))
    largest = nk.components.ConnectedComponents.extractLargestConnectedComponent(whole, True)
    begun = nk.viz.PivotMDS(largest, DIMENSIONS, 50).run().getCoordinates()
    placed = nk.viz.MaxentStress(largest, DIMENSIONS, NEAR, begun, TOLERANCE, SOLVER).run().getCoordinates()
    places = np.array(placed)
    places -= np.median(places, axis=0)
    far = np.linalg.norm(places, axis=1)
    reach = np.quantile(far, SHOWN)
    at, inside = SIDE / 2 + places / reach * (SIDE / 2 - 4), far <= reach
    kept = np.array(list(largest.iterEdges()))
    some = rng.permutation(kept[inside[kept].all(axis=1)])[:EDGES]
    lines = "".join(f"M{n(at[u, 0])} {n(at[u, 1])}L{n(at[v, 0])} {n(at[v, 1])}" for u, v in some)
    points = "".join(f"M{n(x)} {n(y)}h0" for x, y in at[inside])
    return [f'<path class="edges {style}" d="{lines}"/>', f'<path class="points {style}" d="{points}"/>']


def law(plot: Plot, degrees: np.ndarray, top: float, low: float, style: str) -> None:
    """Draw the share of nodes with at least so many edges, both axes logarithmic."""
    values, counts = np.unique(degrees[degrees > 0], return_counts=True)
    shares = counts[::-1].cumsum()[::-1] / len(degrees)
    path = "".join(
        f"{'L' if place else 'M'}{n(plot.x(np.log10(value) / top))} {n(plot.y(1 - np.log10(share) / low))}"
        for place, (value, share) in enumerate(zip(values, shares, strict=True))
    )
    plot.parts.append(f'<path class="law {style}" d="{path}"/>')


def laws(original: np.ndarray, synthetic: np.ndarray) -> list[str]:
    """Draw both laws of degrees in one chart of ``SIDE``."""
    plot = Plot(height=SIDE, width=SIDE, left=40, right=4, top=6, bottom=40)
    top = float(np.log10(max(original.max(), synthetic.max())))
    low = float(np.log10(1 / len(original)))
    for power in nice_ticks(0, top, 4):
        if power == int(power) and power <= top:
            plot.text(plot.x(power / top), SIDE - 24, f"{10 ** int(power):,}")
    for power in range(0, -int(low) + 1):
        level = plot.y(1 + power / low)
        plot.across(level, "grid")
        plot.text(plot.left - 4, level + 4, f"{10.0 ** (2 - power):g} %", "end")
    plot.text(plot.x(0.5), SIDE - 6, "edges of a node, at least")
    law(plot, original, top, low, "original")
    law(plot, synthetic, top, low, "synthetic")
    return plot.parts


def main() -> None:
    """Draw one release, and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--epsilon", type=float, default=1.0)
    given = parser.parse_args()
    original = load_static(given.graph)
    synthetic, _ = release("dcsbm", original, given.epsilon, {})
    found = figures(UndirectedView.of(original.cell("edge", None)), synthetic)
    nodes, rng = original.nodes["node"].count, np.random.default_rng(1)
    ends = {"original": ends_of(original), "synthetic": ends_of(synthetic)}
    heads = {
        "original": f"The original: {len(ends['original']):,} edges, never published",
        "synthetic": f"The release: {len(ends['synthetic']):,} edges, epsilon {given.epsilon:g}",
    }
    width = 3 * SIDE + 4 * GAP
    whole = Plot(height=SIDE + TOP + GAP, width=width)
    whole.parts.append(f"<style>{STYLE}</style>")
    whole.box(0, 0, width, SIDE + TOP + GAP, "paper")
    parts = {name: drawing(each, nodes, rng, name) for name, each in ends.items()}
    shown = [(heads[name], parts[name]) for name in heads]
    degrees = [np.bincount(each.ravel(), minlength=nodes) for each in ends.values()]
    shown.append(("Degrees: original solid, release dashed", laws(*degrees)))
    for place, (head, drawn) in enumerate(shown):
        x = GAP + place * (SIDE + GAP)
        whole.text(x, 22, head, "start", "head")
        whole.parts += [f'<g transform="translate({x} {TOP})">', *drawn, "</g>"]
    title = "A graph, its synthetic release, and the degrees of both"
    description = f"{given.graph.stem}, {nodes:,} nodes, unit edge, epsilon {given.epsilon:g}, method dcsbm."
    alone = f'xmlns="http://www.w3.org/2000/svg" width="{width}" '
    given.out.write_text(whole.svg("release", title, description, alone) + "\n", encoding="utf-8")
    print({name: value for name, value in found.items() if value is not None})


if __name__ == "__main__":
    main()
