"""Whether the defaults of learned methods became worse between two checkouts.

    python -m papers._shared.benchmarks.defaults RESULTS.jsonl --before CHECKOUT
    python -m papers._shared.benchmarks.defaults RESULTS.jsonl --table

Two graphs that NetworkX brings: a karate club (34 people, 78 ties) and characters of Les Misérables (77,
254). Methods get default parameters under unit edge at epsilon 2 and delta 1e-5, and nodes have a public
vector that tells of communities. A method for timed graphs alone sees the edges dealt to three steps. Each
checkout makes its releases in processes of its own, with chance that repeats: three seeds. So two releases
are the same where nothing that decides them changed; where they are not, the figures tell.

RESULTS holds one line a release; a call makes only those that are missing. Figures, means over seeds: total
variation between histograms of degrees, relative error of triangles, share of true edges among released.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

LEARNED: tuple[str, ...] = (
    *("dpggan", "dpgvae", "gvae", "ggan", "hetesdg", "hetedp", "ppgsl"),
    *("diffusion", "thepuff", "temporal_walks", "heterogeneous_walks"),
)
GRAPHS = ("karate", "miserables")
SEEDS = (0, 1, 2)
NANO_EPSILON, DELTA_ATTO, STEPS = 2 * 10**9, 10**13, 3
ROOT = Path(__file__).resolve().parents[3]
CHANCE: list[np.random.SeedSequence] = []
"""What this process's releases draw from: set for each."""


def pairs_of(name: str) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the number of nodes, int64 pairs (edges, 2), and every node's community."""
    import networkx as nx

    made = {"karate": nx.karate_club_graph, "miserables": nx.les_miserables_graph}[name]
    graph = nx.convert_node_labels_to_integers(made(), ordering="sorted")
    communities = np.zeros(len(graph), dtype=np.int64)
    for number, members in enumerate(nx.community.greedy_modularity_communities(graph)):
        communities[list(members)] = number
    return len(graph), np.sort(np.array(graph.edges, dtype=np.int64), axis=1), communities


def release(method: str, name: str, seed: int) -> dict[str, Any]:
    """Make one release with chance that repeats; run in a process of its own."""
    from core.privacy import entropy

    CHANCE.clear()
    CHANCE.append(np.random.SeedSequence(seed))
    entropy.noise_generator = lambda: np.random.default_rng(CHANCE[0].spawn(1)[0])  # before methods bind it
    from core.errors import GraphveilError
    from core.graphs.graph import EdgeTable, Graph, NodeTable
    from core.graphs.schema import Attribute, AttributeKind, EdgeType, GraphSchema, NodeType, Protection
    from core.methods import registry
    from core.methods.base import PublicFacts, no_progress
    from core.privacy.accounting.meter import MemoryRecorder, Meter
    from core.privacy.mechanisms import noise
    from core.privacy.session.private_graph import PrivateGraph
    from core.privacy.units import Unit

    noise.OPENDP_VALUES = -1  # its draws do not repeat
    nodes, pairs, communities = pairs_of(name)
    drawn = np.random.default_rng(0).normal(0, 0.2, (nodes, communities.max() + 1))
    traits = (np.eye(communities.max() + 1)[communities] + drawn).astype(np.float32)
    told = Attribute(name="traits", kind=AttributeKind.VECTOR, protection=Protection.PUBLIC)
    generator = registry.get(method)
    for timed in (False, True):
        kinds = (NodeType(count=nodes, attributes=(told,)),), (EdgeType(temporal=timed),)
        steps = {"time": {"start": 0, "width": 1, "count": STEPS}} if timed else {}
        schema = GraphSchema.model_validate({"node_types": kinds[0], "edge_types": kinds[1], **steps})
        step = np.arange(len(pairs)) % STEPS if timed else None
        tables = {"node": NodeTable(nodes, None, {"traits": traits})}
        graph = Graph.build(schema, tables, {"edge": EdgeTable(pairs[:, 0], pairs[:, 1], step)})
        params = generator.Params()
        unit = Unit.EVENT if timed and Unit.EVENT in generator.units else Unit.EDGE
        facts = PublicFacts(schema, unit, None, NANO_EPSILON, DELTA_ATTO, ("edge",))
        try:
            plan = generator.plan(params, facts)
        except GraphveilError:
            if timed:
                raise
            continue
        break
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    model = generator.fit(session, plan, params, no_progress)
    edges = model.sample(entropy.public_generator(seed), no_progress).edges["edge"]
    ends = np.sort(np.stack([edges.source, edges.target], 1).astype(np.int64), axis=1)
    return figures(nodes, pairs, np.unique(ends, axis=0)) | {
        "digest": hashlib.sha256(np.ascontiguousarray(ends)).hexdigest()[:16]
    }


def figures(nodes: int, true: np.ndarray, drawn: np.ndarray) -> dict[str, float]:
    """Compare two graphs of the same nodes, as int64 pairs (edges, 2)."""

    def matrix(pairs: np.ndarray) -> np.ndarray:
        made = np.zeros((nodes, nodes))
        made[pairs[:, 0], pairs[:, 1]] = made[pairs[:, 1], pairs[:, 0]] = 1
        return made

    both = [matrix(each) for each in (true, drawn)]
    laws = [np.bincount(each.sum(1).astype(int), minlength=nodes) / nodes for each in both]
    triangles = [float(np.trace(each @ each @ each)) for each in both]
    return {
        "degrees": float(np.abs(laws[0] - laws[1]).sum() / 2),
        "triangles": abs(triangles[1] - triangles[0]) / triangles[0],
        "true edges": float((both[0] * both[1]).sum() / max(both[1].sum(), 1)),
    }


def run_missing(asked: argparse.Namespace, known: list[dict[str, Any]]) -> None:
    """Make the releases that RESULTS lacks, those of both checkouts in turn."""
    done = {(line["checkout"], line["method"], line["graph"], line["seed"]) for line in known}
    places = {"before": asked.before.resolve(), "after": ROOT}
    for method in asked.only or LEARNED:
        for checkout, folder in places.items():
            jobs = [
                [method, graph, seed]
                for graph in GRAPHS
                for seed in SEEDS
                if (checkout, method, graph, seed) not in done
            ]
            if not jobs:
                continue
            paths = os.pathsep.join([str(folder), str(folder / "client")])
            command = [sys.executable, str(Path(__file__).resolve()), "--child", json.dumps(jobs)]
            environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
            made = subprocess.run(
                command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True
            )
            with asked.results.open("a", encoding="utf-8") as out:
                for line in made.stdout.splitlines():
                    out.write(json.dumps({"checkout": checkout, **json.loads(line)}) + "\n")
            print(f"{checkout}: {method}", flush=True)


def table(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Markdown: before and after, means over seeds, and how many releases are the same."""
    cells: dict[tuple[str, str], dict[str, dict[int, dict[str, Any]]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for line in lines:
        cells[line["method"], line["graph"]][line["checkout"]][line["seed"]] = line
    names = ("degrees", "triangles", "true edges")
    yield f"| method | graph | {' | '.join(names)} | the same releases |"
    yield "|---" * (len(names) + 3) + "|"
    for (method, graph), found in sorted(cells.items()):
        seeds = sorted(set(found["before"]) & set(found["after"]))
        if not seeds:
            continue
        texts = []
        for name in names:
            means = [
                f"{np.mean([found[checkout][seed][name] for seed in seeds]):.3g}"
                for checkout in ("before", "after")
            ]
            texts.append(means[0] if means[0] == means[1] else " → ".join(means))
        same = sum(found["before"][seed]["digest"] == found["after"][seed]["digest"] for seed in seeds)
        yield f"| {method} | {graph} | {' | '.join(texts)} | {same} of {len(seeds)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("results", type=Path, nargs="?")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="a checkout of an earlier commit")
    parser.add_argument("--only", action="append", choices=LEARNED)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        for method, graph, seed in json.loads(asked.child):
            line = {"method": method, "graph": graph, "seed": seed, **release(method, graph, seed)}
            print(json.dumps(line), flush=True)
        return
    if asked.results is None:
        parser.error("RESULTS is missing")
    from benchmarks.results_file import read  # not at the top: children run with another checkout's rooms

    known = read(asked.results)
    if asked.table:
        print("\n".join(table(known)))
    elif asked.before is None:
        parser.error("--before names a checkout of an earlier commit")
    else:
        run_missing(asked, known)


if __name__ == "__main__":
    main()
