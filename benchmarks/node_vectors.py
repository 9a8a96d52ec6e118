"""Vectors of nodes under one row's noise: counted number by number, beside rows that are noised one by one.

    python -m benchmarks.node_vectors [--data FOLDER] [--runs 3] [--epsilon E ...]

Cora and Citeseer: papers, words that they have (zeros and ones) and classes. "dense": 3,000 made nodes of
four classes with 16 numbers each, about a centre of their class. Epsilon is that of a row, half of it for the
vector; delta a millionth. Rows: `counts`, with `nonzero` declared (of the words) and without; `counts, pure`;
`noisy rows`: each row is projected, scaled to length 1 and noised, as `hetesdg` reads it, at the same noise;
the numbers of a class are its rows' mean, projected back and scaled by the true mean length. Errors: the
length of (mean numbers - the true ones) over that of the true ones, of all nodes, and of all classes.
"""

from __future__ import annotations

import argparse
import gzip
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType
from core.graphs.schema.node_bins import node_bins
from core.methods._shared.node_values.share import Noise
from core.methods._shared.node_values.vectors import paid_vectors
from core.privacy.accounting import dp_sgd
from core.privacy.accounting.events import NANO, Event, GaussianEvent, Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan, rows_of
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

DELTA_ATTO = 10**12
WORDS = ("cora", "citeseer")
WIDTH = 256
"""Of a noisy row; what `hetesdg` projects to at most."""
MOST_WORDS = 64
"""Words of a paper that are declared: a round number above all (Cora 30, Citeseer 54)."""


def words(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Rows of zeros and ones, and classes."""
    with gzip.open(folder / "features.csv.gz", "rt") as file:
        ones = np.loadtxt(file, dtype=np.int64, delimiter=",", skiprows=1)
    labels = np.loadtxt(folder / "labels.csv", dtype=str, delimiter=",", skiprows=1)
    codes = np.unique(labels[:, 1], return_inverse=True)[1]
    rows = np.zeros((len(codes), int(ones[:, 1].max()) + 1), np.float32)
    rows[ones[:, 0], ones[:, 1]] = 1
    return rows, codes[np.argsort(labels[:, 0].astype(np.int64))]


def dense(nodes: int = 3_000, length: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """Rows about the centres of four classes, between -2 and 2."""
    rng = np.random.default_rng(7)
    classes = rng.integers(0, 4, nodes)
    centres = rng.uniform(-1, 1, (4, length))
    return np.clip(centres[classes] + rng.normal(0, 0.4, (nodes, length)), -2, 2).astype(np.float32), classes


def graph_of(rows: np.ndarray, classes: np.ndarray, declared: Attribute) -> Graph:
    """The nodes and one edge."""
    names = tuple(f"c{each}" for each in range(int(classes.max()) + 1))
    label = Attribute(name="class", protection="protected", categories=names, label=True)
    kind = NodeType(count=len(rows), attributes=(label, declared))
    schema = GraphSchema(node_types=(kind,), edge_types=(EdgeType(),))
    columns = {"class": pa.array([names[each] for each in classes]), declared.name: rows}
    edge = EdgeTable(np.array([0]), np.array([1]))
    return Graph.build(schema, {"node": NodeTable(len(rows), None, columns)}, {"edge": edge})


def session(graph: Graph, event: Event) -> PrivateGraph:
    """A session that may ask for that once."""
    delta = 0 if isinstance(event, Pure) else DELTA_ATTO
    granted = (Allotment(rows_of("node"), None, event, "row"),)
    plan = PrivacyPlan("benchmark", Unit.EDGE, None, 1, granted, delta)
    return PrivateGraph(graph, Meter(plan, MemoryRecorder()))


def counted(graph: Graph, classes: np.ndarray, declared: Attribute, noise: Noise) -> np.ndarray:
    """The mean numbers of each class, as counts tell them; (classes, length)."""
    event = noise if isinstance(noise, Pure) else GaussianEvent(noise)
    reads, groups = session(graph, event).node_values("node"), int(classes.max()) + 1
    (law,) = paid_vectors(reads, (declared,), (noise,), ("class", np.arange(groups), classes), len(classes))
    shares = law["shares"].astype(np.float64).reshape(groups, declared.length or 0, -1)
    middles = np.array([0.0, 1.0]) if declared.name in WORDS else node_bins(declared).middles
    return np.asarray(shares @ middles)


def noised(graph: Graph, rows: np.ndarray, classes: np.ndarray, noise: Fraction) -> np.ndarray:
    """The same, as rows that are noised one by one tell them."""
    reads = session(graph, GaussianEvent(noise)).attributes("node")
    told = reads.noisy_rows(width=WIDTH, noise_multiplier=noise, purpose="row")
    signs = 2.0 * public_generator(0).integers(0, 2, (rows.shape[1], WIDTH)) - 1
    length = np.linalg.norm(rows @ signs, axis=1).mean()
    means = [told[classes == group].mean(axis=0) for group in np.unique(classes)]
    return np.stack(means) @ signs.T * length / WIDTH


def error(found: np.ndarray, true: np.ndarray) -> float:
    """The length of the difference, over that of the truth."""
    return float(np.linalg.norm(found - true) / np.linalg.norm(true))


def main() -> None:
    """Print a line for each graph and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilon", type=float, action="append")
    asked = parser.parse_args()
    print("| graph | epsilon | row | all nodes | by class | CPU s |\n|---|---|---|---|---|---|")
    for name in (*WORDS, "dense"):
        rows, classes = dense() if name == "dense" else words(asked.data / name)
        given = {"bounds": (0, 1), "cuts": (0.5,)} if name in WORDS else {"bounds": (-2, 2)}
        declared = Attribute(name=name, kind="vector", protection="protected", length=rows.shape[1], **given)
        few = declared.model_copy(update={"nonzero": MOST_WORDS}) if name in WORDS else None
        true = np.stack([rows[classes == group].mean(axis=0) for group in np.unique(classes)])
        weights = np.bincount(classes) / len(classes)
        for epsilon in asked.epsilon or [1.0, 2.0, 4.0]:
            nano = round(epsilon * NANO / 2)
            besides = (Pure(round(epsilon * NANO) - nano, "others"),)
            sigma = dp_sgd.noise_multiplier(round(epsilon * NANO), DELTA_ATTO, Fraction(1), 1, besides)
            ways: dict[str, tuple[Attribute | None, Noise]] = {
                "counts, nonzero declared": (few, sigma),
                "counts": (declared, sigma),
                "counts, pure": (declared, Pure(nano, "counts")),
                "noisy rows": (declared, sigma),
            }
            for way, (of, noise) in ways.items():
                if of is None:
                    continue
                found, began = [], time.process_time()
                for _ in range(asked.runs):
                    graph = graph_of(rows, classes, of)
                    if way == "noisy rows":
                        assert isinstance(noise, Fraction)
                        told = noised(graph, rows, classes, noise)
                    else:
                        told = counted(graph, classes, of, noise)
                    found.append((error(weights @ told, weights @ true), error(told, true)))
                spent = (time.process_time() - began) / asked.runs
                together, apart = np.mean(found, axis=0)
                print(
                    f"| {name} | {epsilon:g} | {way} | {together:.2f} | {apart:.2f} | {spent:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
