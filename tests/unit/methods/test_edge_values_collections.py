"""What the edges of a collection carry: read of all graphs as one, at what one edge of one graph may cost."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pc
import pytest

from core.errors import InvalidInput
from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import EVERY, Collection, CollectionGraph, GraphSchema
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.stored.whole import read_graph, write_graph
from core.graphs.uploads.files import UploadedFile
from core.graphs.views.joined import joined, parted
from core.methods import registry
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.entropy import public_generator
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.reads import edge_values as reading
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing import bundle, release
from core.publishing.evaluate import run_evaluation
from core.reports.evidence import CuratorPart
from core.reports.html import render
from core.reports.model import PublicPart, Report
from tests.support.fit_losses import Losses, loss
from tests.support.publishing import evaluation, public_of, spec

NANO = 10**9
STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 3), aggregate="max")
PLAIN = {"triangle_share": 0, "clustering_share": 0, "product_share": 0, "groups": 1}


def schema_of(*sizes: int, **declared: Any) -> GraphSchema:
    graphs = tuple(CollectionGraph(id=f"{place}", nodes=size) for place, size in enumerate(sizes))
    declared.setdefault("edge_attributes", (STARS,))
    return GraphSchema(collection=Collection(graphs=graphs, **declared))


def collection(graphs: int, nodes: int = 12, seed: int = 1) -> Graph:
    """Graphs like one another, in which the first nodes give 3 stars among themselves and the others 1."""
    rng, edges = np.random.default_rng(seed), {}
    low, high = np.triu_indices(nodes, 1)
    for place in range(graphs):
        kept = rng.random(len(low)) < 0.3
        stars = np.where(high[kept] < nodes // 2, 3, 1).astype(np.int32)
        held = EdgeValues({"stars": stars})
        edges[f"graph-{place}"] = EdgeTable(low[kept], high[kept], None, held)
    return Graph.build(schema_of(*[nodes] * graphs), {}, edges)


def names(of: GraphSchema) -> tuple[str, ...]:
    return tuple(each.name for each in of.edge_types)


def plan_of(method: str, of: GraphSchema, epsilon: float, asked: Sequence[str] = (), **params: Any) -> Any:
    generator = registry.get(method)
    chosen = generator.Params(**{"attribute_share": 0.5, **params})
    facts = PublicFacts(of, Unit.EDGE, None, int(epsilon * NANO), 0, tuple(asked or names(of)))
    return generator, chosen, generator.plan(chosen, facts)


def fit(
    method: str, of: Graph, epsilon: float, asked: Sequence[str] = (), **params: Any
) -> tuple[Any, Meter]:
    generator, chosen, plan = plan_of(method, of.schema, epsilon, asked, **params)
    meter = Meter(plan, MemoryRecorder())
    return generator.fit(PrivateGraph(of, meter), plan, chosen, no_progress), meter


def test_what_edges_carry_is_declared_once_and_written_where_it_is():
    schema = schema_of(3, 4)
    assert [each.attributes for each in schema.edge_types] == [(STARS,)] * 2
    again = GraphSchema.model_validate_json(schema.model_dump_json())
    assert again == schema
    plain = schema_of(3, edge_attributes=()).model_dump_json()
    assert "edge_attributes" not in plain
    assert "overflow" not in plain
    each = STARS.model_copy(update={"aggregate": None})
    several = schema_of(3, edge_attributes=(each,), multiplicity="each", records_per_slot=2)
    assert several.edge_types[0].records_per_slot == 2
    with pytest.raises(ValueError, match="records_per_slot"):
        schema_of(3, edge_attributes=(each,), multiplicity="each")
    with pytest.raises(ValueError, match="graph_id"):
        schema_of(3, edge_attributes=(STARS.model_copy(update={"name": "graph_id"}),))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_an_upload_carries_values_and_a_file_of_it_is_one_again(tmp_path: Path, form: str):
    schema = schema_of(3, 4)
    rows = b"graph_id,source,target,stars\n1,0,3,2\n0,0,1,3\n0,1,0,1\n1,2,2,3\n"
    (tmp_path / "edges.csv").write_bytes(rows)
    if form == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(pc.read_csv(tmp_path / "edges.csv"), tmp_path / "edges.csv")
    files = {"edges": UploadedFile(tmp_path / "edges.csv", form, {})}
    canonicalise(files, schema, tmp_path / "graph")
    graph = read_graph(tmp_path / "graph")
    assert graph.edges["graph-0"].values.columns["stars"].tolist() == [3]
    assert graph.edges["graph-1"].values.columns["stars"].tolist() == [2]


def test_graphs_side_by_side_are_taken_apart_again():
    of = collection(3)
    kept = ("graph-0", "graph-2")
    whole = joined(of, kept)
    assert whole.nodes[EVERY].count == 24
    assert whole.edges[EVERY].count == sum(of.edges[name].count for name in kept)
    assert (whole.edges[EVERY].target[of.edges["graph-0"].count :] >= 12).all()
    back = parted(whole.edges[EVERY].values, {name: of.edges[name] for name in kept})
    for name in kept:
        assert np.array_equal(back[name].columns["stars"], of.edges[name].values.columns["stars"])


TINY = (2, 3)
SLOTS = [(0, 0, 1), (1, 0, 1), (1, 0, 2), (1, 1, 2)]


def tiny(states: Sequence[int]) -> Graph:
    """Two graphs, of two and three nodes: a slot has no edge, or one of so many stars."""
    edges = {}
    for place in range(2):
        rows = [
            (*slot[1:], state)
            for slot, state in zip(SLOTS, states, strict=True)
            if state and slot[0] == place
        ]
        source, target, stars = np.array(rows, dtype=np.int32).reshape(-1, 3).T
        edges[f"graph-{place}"] = EdgeTable(source, target, None, EdgeValues({"stars": stars}))
    return Graph.build(schema_of(*TINY), {}, edges)


def opened(of: Graph, cells: Sequence[str] = ("graph-0", "graph-1")) -> tuple[Any, Meter]:
    granted = tuple(Allotment(name, None, Pure(100 * NANO, "test"), "test") for name in cells)
    meter = Meter(PrivacyPlan("test", Unit.EDGE, None, 1, granted), MemoryRecorder())
    return PrivateGraph(of, meter).edge_values_together(("graph-0", "graph-1"), "stars"), meter


def answers(states: Sequence[int]) -> list[np.ndarray]:
    reads, meter = opened(tiny(states))
    labels, classes = np.array([0, 1, 1]), np.array([0, 1, 0, 1, 1])
    paid = {"nano_epsilon": NANO, "purpose": "test"}
    found = [
        reads.histogram(**paid),
        reads.by_node(side="both", labels=labels, **paid),
        reads.node_sums(side="both", scores=np.array([-4, 1, 2]), **paid),
        reads.by_classes(sources=classes, targets=classes, labels=labels, **paid),
    ]
    assert [entry.edge_type for entry in meter.transcript] == ["graph-0", "graph-1"] * 4
    return [each.ravel() for each in found]


def test_one_edge_of_one_graph_moves_no_table_by_more_than_is_claimed_and_some_by_as_much(
    monkeypatch: pytest.MonkeyPatch,
):
    claimed: list[int] = []

    def seen(values: np.ndarray, l1_sensitivity: int, nano_epsilon: int) -> np.ndarray:
        claimed.append(l1_sensitivity)
        return values

    monkeypatch.setattr(mechanisms, "discrete_laplace", seen)
    known = {states: answers(states) for states in itertools.product(range(4), repeat=len(SLOTS))}
    worst = [0] * 4
    for states, before in known.items():
        for place in [k for k, state in enumerate(states) if not state]:
            for stars in (1, 2, 3):
                after = known[(*states[:place], stars, *states[place + 1 :])]
                moved = [int(np.abs(a - b).sum()) for a, b in zip(after, before, strict=True)]
                worst = [max(pair) for pair in zip(worst, moved, strict=True)]
    assert worst == claimed[:4] == [1, 2, 8, 1]


def test_no_graph_is_read_that_is_not_charged(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "joined", lambda *_: pytest.fail("read"))
    reads, _ = opened(tiny((1, 1, 1, 1)), ["graph-0"])
    with pytest.raises(Exception, match="graph-1"):
        reads.histogram(nano_epsilon=NANO, purpose="test")
    with pytest.raises(InvalidInput):
        PrivateGraph(tiny((1, 1, 1, 1)), opened(tiny((0,) * 4))[1]).edge_values_together(
            ("graph-1", "graph-0"), "stars"
        )


def test_no_whole_fit_tells_two_neighbours_apart_by_more_than_epsilon(monkeypatch: pytest.MonkeyPatch):
    """Every collection with an edge more or less in one of its graphs; an edge pays in its own graph only."""
    losses, known = Losses(monkeypatch), {}

    def asked(states: tuple[int, ...]) -> Any:
        if states not in known:
            known[states] = losses.of(lambda: fit("dcsbm", tiny(states), 1, **PLAIN))
        return known[states]

    worst = Fraction(0)
    for states in ((1, 2, 0, 3), (0, 0, 0, 0)):
        for place, state in enumerate(states):
            for stars in (1, 2, 3) if not state else (0,):
                other = (*states[:place], stars, *states[place + 1 :])
                worst = max(worst, loss(asked(states), asked(other)))
    assert 0.4 * NANO < worst <= NANO


@pytest.mark.parametrize("method", ["dcsbm", "degree_triangle", "lapgraph"])
def test_small_graphs_are_told_together(method: str, tmp_path: Path):
    of = collection(30)
    model, meter = fit(method, of, 4)
    assert meter.plan.cost().nano_epsilon <= 4 * NANO
    model.save(tmp_path / "model")
    drawn, again = (
        each.sample(public_generator(3), no_progress)
        for each in (model, registry.get(method).load(tmp_path / "model"))
    )
    assert drawn.equals(again)
    counts = [
        np.bincount(joined(each, names(of.schema)).edges[EVERY].values.columns["stars"], minlength=4)
        for each in (of, drawn)
    ]
    shares = [each / each.sum() for each in counts]
    # Of one graph alone, some 20 edges, the histogram's noise would be as large as its counts.
    assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.1


def test_some_graphs_of_a_collection_may_be_asked_for():
    of = collection(4)
    kept = ("graph-1", "graph-3")
    model, meter = fit("dcsbm", of, 4, kept)
    assert {entry.edge_type for entry in meter.transcript} == set(kept)
    drawn = model.sample(public_generator(3), no_progress)
    for name in kept:
        assert drawn.edges[name].values.count == drawn.edges[name].count > 0


def test_of_every_kept_record_each_carries_values(tmp_path: Path):
    each = STARS.model_copy(update={"aggregate": None})
    of = collection(6)
    schema = schema_of(*[12] * 6, edge_attributes=(each,), multiplicity="each", records_per_slot=3)
    edges = {}
    for name, table in of.edges.items():
        column = np.repeat(table.values.columns["stars"], 2)
        held = EdgeValues({"stars": column}, np.repeat(np.arange(table.count), 2))
        edges[name] = EdgeTable(table.source, table.target, None, held)
    several = Graph.build(schema, {}, edges)
    write_graph(several, tmp_path / "graph")
    model, _ = fit("dcsbm", read_graph(tmp_path / "graph"), 200)
    drawn = model.sample(public_generator(1), no_progress)
    for table in drawn.edges.values():
        assert table.values.count == pytest.approx(2 * table.count, rel=0.2)


def test_a_release_has_values_and_its_report_tells_of_all_graphs_together(tmp_path: Path):
    of = collection(9)
    write_graph(of, tmp_path / "original")
    generator, recorder = registry.get("dcsbm"), MemoryRecorder()
    asked = {
        "unit": Unit.EDGE,
        "edge_types": names(of.schema),
        "formats": ("csv",),
        "nano_epsilon": 20 * NANO,
        "params": {"attribute_share": 0.4},
    }
    task = spec(generator, of.schema, **asked)
    release.publish(generator, tmp_path / "original", task, tmp_path / "job", recorder, no_progress)
    folder = tmp_path / "job" / "release"
    header = (folder / "graph.csv").read_text().splitlines()[0]
    assert header == "graph_id,source,target,stars"
    declared = GraphSchema.model_validate_json((folder / "schema.json").read_bytes())
    assert declared.collection.edge_attributes == (STARS,)
    back = bundle.read_aligned(folder, tmp_path / "job" / "private" / "alignment.parquet")
    assert all(each.values.count == each.count for each in back.edges.values())
    public = public_of(tmp_path)
    (carried,) = public["carried"]
    assert (carried["of"], carried["attribute"]) == (EVERY, "stars")
    assert sum(carried["released"]) == sum(each.count for each in back.edges.values())
    assert carried["paid"] is not None
    lines = [each for each in public["precision"] if each["query"] == "value_histogram"]
    assert [each["edge_type"] for each in lines] == [EVERY]
    told = [each["text"] for each in public["caveats"] if each["code"] == "edge_values_synthesised"]
    assert "synthesised: stars of every graph." in told[0]
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
    curator = CuratorPart.model_validate_json((tmp_path / "evaluation" / "curator.json").read_bytes())
    own = {(each.edge_type, each.query) for each in curator.paid}
    assert (EVERY, "value_histogram") in own
    part = PublicPart.model_validate(public)
    assert "stars" in render(Report(public=part, curator=curator))


def test_planned_reads_are_those_of_all_graphs_together():
    of = collection(5)
    generator, chosen, plan = plan_of("dcsbm", of.schema, 4)
    nodes = {kind.name: kind.count for kind in of.schema.node_types}
    reads = [
        each for each in generator.planned_reads(chosen, plan, of.schema, nodes) if "value" in each.query
    ]
    assert {each.edge_type for each in reads} == {EVERY}
    assert all(each.cells == 1 for each in reads)
