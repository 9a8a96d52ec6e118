"""Checks THEPUFF's metrics and its attack against reference values, on its own files.

    python papers/thepuff/benchmarks/golden.py ml-100k.txt.gz ml-100k_dp.txt.gz
    python papers/thepuff/benchmarks/golden.py --dblp dblp_kdd.txt.gz dblp_kdd_dp.txt.gz

The perturbed file is the generated graph. The reference values were computed in double precision with the
published conventions; the published program works in single precision and agrees with them to 6 or 7 digits.
An empty graph is scored beside: on Meta-2 and Meta-3 it comes close to real ones. Prints one JSON line a
comparison and PASS or FAIL a value; exits with 1 on any failure. CPU seconds exclude imports and compilation.

Not met by definition: the published program's own evaluation of its files ("released": a transposed table
leaves two edges of every original snapshot) and single-precision residues (a TC of 1.192e-7 is 0).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from benchmarks.load import load_typed
from core.evaluation.attacks.degree_signature import degree_signature
from core.evaluation.metric import Suite
from core.evaluation.utility import clustering, components, relative
from core.evaluation.whole import paper_paths
from core.evaluation.whole.layers import Layer
from core.evaluation.whole.sequences import Sequences
from core.graphs.graph import Graph

NAMES = {
    "Cluster": "thepuff_cluster_mmd",
    "TC": "thepuff_triangle_mmd",
    "LCC": "thepuff_largest_component_mmd",
    "Degree": "thepuff_degree_mmd",
    "Meta-2": "thepuff_meta2",
    "Meta-3": "thepuff_meta3",
    "EO-Rate": "edge_overlap_rate",
}
# One unit of the tenth digit; more where the reference itself is in single precision.
EXACT, SINGLE, DEGREE_SINGLE = 1e-10, 1e-6, 3e-6
REFERENCE = {
    "ml-100k": {
        "perturbed": {
            "Cluster": (0.0, EXACT),
            "TC": (0.0, EXACT),
            "LCC": (0.6257006373, EXACT),
            "Degree": (0.0003528126, EXACT),
            "Meta-2": (1.5231767650, EXACT),
            "Meta-3": (1.3105318987, EXACT),
            "EO-Rate": (0.9958855410026162, 1e-15),
        },
        "itself": {
            "Cluster": (0.0, EXACT),
            "TC": (0.0, EXACT),
            "LCC": (-0.2312832475, SINGLE),
            "Degree": (-0.0006288546, DEGREE_SINGLE),
            "Meta-2": (1.5232888460, SINGLE),
            "Meta-3": (1.3105460405, SINGLE),
            "EO-Rate": (1.0, 1e-15),
        },
        "attack": {"all": (0.041919, 5e-7), "u": (0.117255, 5e-7)},
    },
    "dblp": {
        "perturbed": {
            "Cluster": (0.0, EXACT),
            "TC": (0.0, EXACT),
            "LCC": (-0.0003663004, EXACT),
            "Degree": (-0.0000574043, EXACT),
            "Meta-2": (1.7332941265, EXACT),
            "Meta-3": (0.9085815690, EXACT),
            "EO-Rate": (0.9960352089698304, 1e-15),
        },
        "itself": {
            "Cluster": (0.0, EXACT),
            "TC": (0.0, EXACT),
            "LCC": (-0.1999920002, EXACT),
            "Degree": (-0.0000601773, EXACT),
            "Meta-2": (1.7330236953, EXACT),
            "Meta-3": (0.9085528060, EXACT),
            "EO-Rate": (1.0, 1e-15),
        },
        "attack": {"all": (0.000929, 5e-7), "a": (0.001129, 5e-7)},
    },
}


def followed(view):
    """Compute the scalars of one step that the sequences follow."""
    found = clustering.scalars(view, Suite.QUICK) | components.scalars(view, Suite.QUICK)
    return {name: relative.plain(value) for name, value in found.items()}


def scores(original: Graph, generated: Graph) -> dict[str, float | None]:
    """THEPUFF's six and EO-Rate, and no other metric."""
    relations = original.schema.edge_types
    sequences = Sequences(Suite.STANDARD, *paper_paths.listed_paths(original, relations))
    for step in range(original.schema.steps):
        layers = [Layer.of(graph, relations, step) for graph in (original, generated)]
        sequences.add(*layers, *(followed(layer.view) for layer in layers))
    found = sequences.found()
    return {title: found[name] for title, name in NAMES.items()}


def timed(original: Graph, generated: Graph) -> tuple[dict[str, float | None], float]:
    """The scores and their CPU seconds."""
    before = time.process_time()
    found = scores(original, generated)
    return found, round(time.process_time() - before, 3)


def judged(what: str, found: dict[str, float | None], reference: dict[str, tuple[float, float]]) -> bool:
    """Prints a line a value; whether all agree."""
    agreed = True
    for name, (expected, tolerance) in reference.items():
        value = found[name]
        ok = value is not None and abs(value - expected) <= tolerance
        agreed &= ok
        print(f"{'PASS' if ok else 'FAIL'} {what} {name}: {value!r}, expected {expected!r} +- {tolerance:g}")
    return agreed


def check(name: str, original_path: Path, generated_path: Path) -> bool:
    """Scores one pair of files against its reference values."""
    original, generated = load_typed(original_path, generated_path)
    empty = Graph.build(original.schema, original.nodes, {})
    scores(original, empty)  # compiles
    agreed = True
    for what, graph in (("perturbed", generated), ("itself", original), ("empty", empty)):
        found, seconds = timed(original, graph)
        print(json.dumps({"original": name, "against": what, "cpu_seconds": seconds} | found))
        agreed &= judged(f"{name} {what}", found, REFERENCE[name].get(what, {}))
    attack = degree_signature(original, generated, range(original.schema.steps), "out")
    print(json.dumps({"attack": name} | attack))
    given_away = {"all": attack["reference_per_step"]} | attack["reference_per_type"]
    return judged(f"{name} attack on the original", given_away, REFERENCE[name]["attack"]) and agreed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ml", nargs="*", type=Path, help="ML-100k: original, perturbed")
    parser.add_argument("--dblp", nargs=2, type=Path, metavar=("ORIGINAL", "PERTURBED"))
    asked = parser.parse_args()
    if len(asked.ml) not in (0, 2) or not (asked.ml or asked.dblp):
        parser.error("give the original and the perturbed file of ML-100k, of DBLP (--dblp), or of both")
    agreed = [check(name, *pair) for name, pair in (("ml-100k", asked.ml), ("dblp", asked.dblp)) if pair]
    sys.exit(not all(agreed))


if __name__ == "__main__":
    main()
