"""The degree-signature attack against a brute force over all pairs of nodes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evaluation.attacks.degree_signature import degree_signature, step_degrees
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid


def temporal(n: int, steps: int, share: float, seed: int) -> Graph:
    """Users joined at random in every step, and an untimed relation to three groups."""
    rng = np.random.default_rng(seed)
    present = np.triu(rng.random((steps, n, n)) < share, k=1)
    step, source, target = np.nonzero(present)
    member, group = np.nonzero(rng.random((n, 3)) < share)
    schema = GraphSchema(
        node_types=(NodeType(name="user", count=n), NodeType(name="group", count=3)),
        edge_types=(
            EdgeType(name="talks", source="user", target="user", temporal=True),
            EdgeType(name="joins", source="user", target="group"),
        ),
        time=TimeGrid(count=steps),
    )
    edges = {"talks": EdgeTable(source, target, step), "joins": EdgeTable(member, group)}
    return Graph(schema, {"user": NodeTable(n), "group": NodeTable(3)}, edges)


def brute_force(original: Graph, published: Graph) -> tuple[float, float]:
    """Eq. 23 as it is written, and the same with sequences of degrees."""

    def sequences(graph: Graph) -> list[tuple[int, ...]]:
        steps = [step_degrees(graph, t) for t in range(graph.schema.steps)]
        return [
            tuple(int(d[kind][i]) for d in steps)
            for kind in ("user", "group")
            for i in range(graph.nodes[kind].count)
        ]

    ours, theirs = sequences(original), sequences(published)
    nodes, steps = range(len(ours)), range(original.schema.steps)

    def chance(a, b):
        return [1 / sum(b[v] == b[i] for v in nodes) if a[i] == b[i] else 0.0 for i in nodes]

    each = [chance([s[t] for s in ours], [s[t] for s in theirs]) for t in steps]
    return float(np.mean(each)), float(np.mean(chance(ours, theirs)))


sizes = {"n": st.integers(2, 14), "steps": st.integers(1, 4), "share": st.floats(0, 0.6)}


@given(**sizes, first=st.integers(0, 2**31), second=st.integers(0, 2**31))
def test_the_attack_equals_the_equation(n, steps, share, first, second):
    a, b = temporal(n, steps, share, first), temporal(n, steps, share, second)
    found = degree_signature(a, b, range(steps))
    assert (found["per_step"], found["sequence"]) == pytest.approx(brute_force(a, b))


@given(**sizes, seed=st.integers(0, 2**31))
def test_on_the_original_it_is_the_mean_of_one_over_the_class_size(n, steps, share, seed):
    graph = temporal(n, steps, share, seed)
    found = degree_signature(graph, graph, range(steps))
    per_step, sequence = brute_force(graph, graph)
    assert (found["per_step"], found["sequence"]) == pytest.approx((per_step, sequence))
    assert (found["reference_per_step"], found["reference_sequence"]) == pytest.approx((per_step, sequence))
    # Known closed form: classes that cover everything count 1/size each, so distinct degrees / nodes.
    degrees = [np.concatenate(list(step_degrees(graph, t).values())) for t in range(steps)]
    assert per_step == pytest.approx(np.mean([len(np.unique(d)) / len(d) for d in degrees]))


@given(**sizes, seed=st.integers(0, 2**31))
def test_a_longer_sequence_never_helps_the_crowd(n, steps, share, seed):
    graph = temporal(n, steps, share, seed)
    found = degree_signature(graph, graph, range(steps))
    assert found["sequence"] >= found["per_step"] - 1e-12
