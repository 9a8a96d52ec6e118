"""Protected attributes of a collection's nodes, read of all graphs as one: what an edge and a row cost."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EVERY, Attribute, Collection, CollectionGraph, GraphSchema
from core.graphs.stored.whole import write_graph
from core.graphs.views.joined import joined
from core.methods import registry
from core.methods._shared.node_values.blocks import shares_of_part
from core.methods._shared.node_values.ends import Ends
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import rows_of
from core.privacy.entropy import public_generator
from core.privacy.reads import node_values as reading
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing import bundle, release
from core.publishing.evaluate import run_evaluation
from core.reports.evidence import CuratorPart
from tests.support.fit_losses import Losses, loss
from tests.support.publishing import evaluation, public_of, spec

NANO = 10**9
PARTY = Attribute(name="party", protection="protected", categories=("left", "right"), label=True)
AGE = Attribute(name="age", kind="number", protection="protected", bounds=(0, 90), cuts=(45,))
PLAIN: dict[str, dict[str, Any]] = {
    "dcsbm": {"triangle_share": 0, "clustering_share": 0, "product_share": 0, "groups": 1},
    "anchored": {"evidence": "none"},
}


def schema_of(*sizes: int, attributes: tuple[Attribute, ...] = (PARTY,), directed: bool = False) -> Any:
    graphs = tuple(CollectionGraph(id=f"{place}", nodes=size) for place, size in enumerate(sizes))
    return GraphSchema(collection=Collection(graphs=graphs, attributes=attributes, directed=directed))


def names(of: GraphSchema) -> tuple[str, ...]:
    return tuple(each.name for each in of.edge_types)


def collection(graphs: int, nodes: int = 24) -> Graph:
    """Graphs of two parties that seldom meet; a third of the nodes are right, of a half in every other."""
    rng, edges, tables = np.random.default_rng(1), {}, {}
    low, high = np.triu_indices(nodes, 1)
    for place in range(graphs):
        right = np.arange(nodes) % (3 if place % 2 else 2) == 0
        kept = rng.random(len(low)) < np.where(right[low] == right[high], 0.3, 0.03)
        edges[f"graph-{place}"] = EdgeTable(low[kept], high[kept])
        column = pa.array(np.where(right, "right", "left").tolist())
        ages = np.where(right, 60.0, 30.0)
        tables[f"graph-{place}"] = NodeTable(nodes, None, {"party": column, "age": ages})
    return Graph.build(schema_of(*[nodes] * graphs, attributes=(PARTY, AGE)), tables, edges)


def fit(
    method: str, of: Graph, epsilon: float, asked: Sequence[str] = (), share: float = 0.3
) -> tuple[Any, Meter]:
    generator = registry.get(method)
    chosen = generator.Params(node_attribute_share=share, **PLAIN[method])
    facts = PublicFacts(of.schema, Unit.EDGE, None, int(epsilon * NANO), 0, tuple(asked or names(of.schema)))
    plan = generator.plan(chosen, facts)
    meter = Meter(plan, MemoryRecorder())
    return generator.fit(PrivateGraph(of, meter), plan, chosen, no_progress), meter


def unlike(of: Graph, graphs: Sequence[str]) -> tuple[float, float]:
    """The share of edges between both parties, and of nodes that are right."""
    whole = joined(of, graphs)
    party = np.array(whole.nodes[EVERY].attributes["party"].to_pylist()) == "right"
    table = whole.edges[EVERY]
    return float((party[table.source] != party[table.target]).mean()), float(party.mean())


@pytest.mark.parametrize("method", PLAIN)
def test_with_little_noise_parties_meet_as_they_do_at_no_more_than_was_asked_for(method: str, tmp_path: Path):
    of = collection(12)
    model, meter = fit(method, of, 1000)
    assert meter.plan.cost().nano_epsilon <= 1000 * NANO
    assert "one node's row of protected attributes" in guarantee_of(meter.plan, meter.transcript, 0).statement
    model.save(tmp_path / "model")
    drawn, again = (
        each.sample(public_generator(3), no_progress)
        for each in (model, registry.get(method).load(tmp_path / "model"))
    )
    assert drawn.nodes["graph-3"].attributes["party"].equals(again.nodes["graph-3"].attributes["party"])
    (true, right), (meets, found) = (unlike(each, names(of.schema)) for each in (of, drawn))
    assert abs(right - found) < 0.02
    assert abs(true - meets) < 0.06  # by chance .48; .08 in truth
    ages = np.concatenate([drawn.nodes[name].attributes["age"] for name in names(of.schema)])
    assert 0 <= ages.min() <= ages.max() <= 90


def test_every_graph_s_rows_and_edges_are_charged_and_those_alone_that_are_asked_for():
    kept = ("graph-1", "graph-3")
    model, meter = fit("dcsbm", collection(4), 4, kept)
    own = [each for each in meter.transcript if "node_values" in each.event.mechanism]
    assert {each.edge_type for each in own} == {rows_of(name) for name in kept}
    mixed = [each for each in meter.transcript if "mixing" in each.event.mechanism]
    assert {each.edge_type for each in mixed} == {*kept, *map(rows_of, kept)}
    drawn = model.sample(public_generator(1), no_progress)
    assert all("party" in drawn.nodes[name].attributes for name in kept)


SLOTS = [(0, 0, 1), (1, 0, 1), (1, 0, 2), (1, 1, 2)]
LABELS = ("left", "right", None)


def tiny(states: Sequence[bool], labels: Sequence[int]) -> Graph:
    """Two graphs, of two and three nodes."""
    edges, tables, first = {}, {}, 0
    for place, count in enumerate((2, 3)):
        rows = [slot[1:] for slot, state in zip(SLOTS, states, strict=True) if state and slot[0] == place]
        source, target = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        edges[f"graph-{place}"] = EdgeTable(source, target)
        column = pa.array([LABELS[each] for each in labels[first : first + count]], type=pa.string())
        tables[f"graph-{place}"] = NodeTable(count, None, {"party": column})
        first += count
    return Graph.build(schema_of(2, 3), tables, edges)


def worst_losses(
    method: str, some: Sequence[tuple[bool, ...]], patch: pytest.MonkeyPatch
) -> tuple[Fraction, Fraction]:
    """Of whole fits on neighbours by one edge of one graph, and by a row of any node.

    Whatever the collection is, the same answers make the same model.
    """
    losses, labels, known = Losses(patch), (0, 1, 0, 1, 0), {}
    reference: list[Any] = []

    def asked(states: tuple[bool, ...], of_nodes: tuple[int, ...]) -> Any:
        if (states, of_nodes) not in known:
            losses.asked = []
            model, _ = fit(method, tiny(states, of_nodes), 1, share=0.5)
            made = [
                column
                for part in (model.structure.cells, model.values.cells)
                for columns in part.values()
                for column in columns.values()
            ]
            reference.extend(made if not reference else ())
            assert all(np.array_equal(a, b) for a, b in zip(reference, made, strict=True))
            known[states, of_nodes] = losses.asked
        return known[states, of_nodes]

    edge = row = Fraction(0)
    for states in some:
        for place in range(len(SLOTS)):
            other = (*states[:place], not states[place], *states[place + 1 :])
            edge = max(edge, loss(asked(states, labels), asked(other, labels)))
        for node, label in itertools.product(range(5), range(3)):
            changed = (*labels[:node], label, *labels[node + 1 :])
            row = max(row, loss(asked(states, labels), asked(states, changed)))
    return edge, row


SOME = [(True, True, False, True), (True, True, True, True)]


@pytest.mark.parametrize("method", PLAIN)
def test_no_whole_fit_tells_two_neighbours_apart_by_more_than_epsilon(
    method: str, monkeypatch: pytest.MonkeyPatch
):
    edge, row = worst_losses(method, SOME, monkeypatch)
    assert 0.3 * NANO < edge <= NANO
    assert 0 < row <= NANO


@pytest.mark.slow
@pytest.mark.parametrize("method", PLAIN)
def test_no_whole_fit_of_any_tiny_collection_does(method: str, monkeypatch: pytest.MonkeyPatch):
    every = list(itertools.product((False, True), repeat=len(SLOTS)))
    edge, row = worst_losses(method, every, monkeypatch)
    assert max(edge, row) <= NANO


@pytest.mark.parametrize("capped", [True, False])
def test_an_uncapped_node_shows_in_the_loss_of_whole_fits(capped: bool, monkeypatch: pytest.MonkeyPatch):
    """A row of two edges costs what its graph's rows are charged, and more where both edges count."""
    losses, mixed, states = Losses(monkeypatch), reading.mixed, (True,) * 4

    def every(source: np.ndarray, target: np.ndarray, groups: np.ndarray, count: int, *_: Any) -> np.ndarray:
        return mixed(source, target, groups, count, 9, np.arange(len(source)))

    if not capped:
        monkeypatch.setattr(reading, "mixed", every)
    charged: list[int] = []

    def asked(of_nodes: tuple[int, ...]) -> Any:
        def once() -> None:
            entries = fit("dcsbm", tiny(states, of_nodes), 1, share=0.5)[1].transcript
            own = [each.event.nano_epsilon for each in entries if each.edge_type == rows_of("graph-1")]
            charged.append(sum(own))

        return losses.of(once)

    found = loss(asked((0, 0, 0, 0, 0)), asked((0, 0, 1, 0, 0)))
    assert (found <= charged[0]) is capped


def test_shares_of_one_graph_are_those_of_all_by_what_pairs_gain_over_chance():
    groups, ends = np.array([0, 0, 1, 1]), Ends(np.array([1.0, 1.0, 1.0, 1.0]))
    shares = np.array([0.4, 0.2, 0.4])
    assert shares_of_part(shares, groups, ends, groups, ends) == pytest.approx(shares)
    lone = shares_of_part(shares, groups, ends, np.array([0, 0, 1]), Ends(np.array([2.0, 2.0, 1.0])))
    assert lone.sum() == pytest.approx(1)
    assert lone[0] > 0.6
    assert lone[2] < 0.1
    none = shares_of_part(shares, groups, ends, np.zeros(2, np.int64), Ends(np.zeros(2)))
    assert np.isfinite(none).all()


def test_a_release_has_values_and_its_report_tells_of_all_graphs_together(tmp_path: Path):
    of = collection(9)
    write_graph(of, tmp_path / "original")
    generator, recorder = registry.get("dcsbm"), MemoryRecorder()
    asked = {
        "unit": Unit.EDGE,
        "edge_types": names(of.schema),
        "formats": ("csv",),
        "nano_epsilon": 20 * NANO,
        "params": {"node_attribute_share": 0.2},
    }
    task = spec(generator, of.schema, **asked)
    release.publish(generator, tmp_path / "original", task, tmp_path / "job", recorder, no_progress)
    folder = tmp_path / "job" / "release"
    declared = GraphSchema.model_validate_json((folder / "schema.json").read_bytes())
    assert {each.name for each in declared.collection.attributes} == {"party", "age"}
    back = bundle.read_aligned(folder, tmp_path / "job" / "private" / "alignment.parquet")
    assert all(set(each.attributes) == {"party", "age"} for each in back.nodes.values())
    public = public_of(tmp_path)
    assert [(each["of"], each["attribute"]) for each in public["carried"]] == [
        (EVERY, "party"),
        (EVERY, "age"),
    ]
    assert public["carried"][0]["paid"] is not None
    assert public["carried"][0]["mixing"][0]["paid"] is not None
    told = [each["text"] for each in public["caveats"] if each["code"] == "node_values_synthesised"]
    assert "edges: party, age of every graph." in told[0]
    assert len(told[0]) < 1000
    lines = [each["edge_type"] for each in public["precision"] if each["query"] == "node_values"]
    assert lines == [rows_of(EVERY)]
    run_evaluation(
        graph_folder=tmp_path / "original",
        release_folder=tmp_path / "job",
        spec=evaluation(
            method="dcsbm",
            unit=Unit.EDGE,
            nano_epsilon=20 * NANO,
            edge_types=names(of.schema),
            suite="standard",
        ),
        out=tmp_path / "evaluation",
        progress=no_progress,
    )
    CuratorPart.model_validate_json((tmp_path / "evaluation" / "curator.json").read_bytes())
