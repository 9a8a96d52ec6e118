"""The static recipe of ``anchored``: what each share of epsilon for degrees gives, and true edges expected.

    python -m benchmarks.anchored_static --data FOLDER

Four relations without time: films and genres, users and occupations (functional; both MovieLens-100k), papers
and subjects (ACM), items and brands (Amazon). ``rule``: the default; ``old``: fixed shares, as before the
rule; ``degrees``: no evidence, by the same recipe; ``none``: evidence=none, degrees of both sides. Errors as
in ``benchmarks.typed_choice``; ``true``: the share of true edges among those drawn, ``expected``: the range
that plan and report print. Unit edge.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.typed_choice import Original, facts_of, load, released
from benchmarks.typed_graphs import declared
from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import GraphSchema, NodeType
from core.methods._shared.relations.budget import STATIC_FUNCTIONAL_SHARE, STATIC_SHARE
from core.methods.anchored import GENERATOR

EPSILONS = (0.5, 1.0, 2.0, 4.0)
RELATIONS = (
    ("ml-100k", "m-g-static", False),
    ("ml-100k", "u-o-static", True),
    ("acm", "paper-subject", False),
    ("amazon", "item-brand", False),
)
PARTS = ("degree", "popularity", "path", "preference", "true")


def alone(graph: Graph, name: str) -> Graph:
    """One relation and its nodes, without features."""
    kind = graph.schema.edge_type(name)
    ends = dict.fromkeys((kind.source, kind.target))
    kinds = tuple(NodeType(name=end, count=graph.nodes[end].count) for end in ends)
    schema = GraphSchema(node_types=kinds, edge_types=(kind,))
    nodes = {each.name: NodeTable(graph.nodes[each.name].count) for each in kinds}
    return Graph.build(schema, nodes, {name: graph.edges[name]})


def expected(graph: Graph, epsilon: float, params: dict[str, Any]) -> str:
    """What a plan says of true edges; nothing without evidence."""
    chosen = GENERATOR.Params.model_validate(params)
    plan = GENERATOR.plan(chosen, facts_of(graph, epsilon))
    nodes = {name: table.count for name, table in graph.nodes.items()}
    shares = GENERATOR.true_shares(chosen, plan, graph.schema, nodes)
    return "; ".join(f"{low:.2f} to {high:.2f}" for low, high in shares.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the public data sets")
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    print("| relation | epsilon | shares | " + " | ".join(PARTS) + " | expected |")
    print("|---|---|---|" + "---|" * (len(PARTS) + 1))
    for name, relation, functional in RELATIONS:
        graph = alone(load(name, asked.data), relation)
        graph = declared(graph, functional=[relation] if functional else [])
        original, old = Original(graph), STATIC_FUNCTIONAL_SHARE if functional else STATIC_SHARE
        for epsilon in EPSILONS:
            for label, params in (
                ("rule", {}),
                ("old", {"degree_share": old}),
                ("degrees", {"degree_share": 1.0}),
                ("none", {"evidence": "none"}),
            ):
                runs = [
                    original.errors(released("anchored", graph, epsilon, params)) for _ in range(asked.runs)
                ]
                told = " | ".join(f"{np.mean([run[part] for run in runs]):.3f}" for part in PARTS)
                print(f"| {relation} | {epsilon:g} | {label} | {told} | {expected(graph, epsilon, params)} |")


if __name__ == "__main__":
    main()
