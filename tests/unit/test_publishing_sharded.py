"""A release in shards without a service: what its children read, leave, and refuse."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from core.errors import NotAccepted
from core.evaluation.suite import degree_statistics, public_statistics
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeIds, NodeType, Protection, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.stored.parted import write_parted
from core.methods.dcsbm.counts import COUNTED
from core.methods.registry import get
from core.privacy.accounting.meter import MemoryRecorder
from core.privacy.units import Unit
from core.publishing.bundle import read_alignment
from core.publishing.sharded import run_fit, run_join, run_shard
from core.publishing.spec import ReleaseTask
from core.reports.card import card
from core.reports.catalogues.context import Context
from core.reports.catalogues.forms import Form, metadata
from core.reports.html import render
from core.reports.markdown import markdown
from core.reports.model import PublicPart, Report

NANO = 10**9
NODES, SHARD_EDGES = 300, 200
SILENT = lambda *_: None  # noqa: E731


def schema(ids: NodeIds = NodeIds.PSEUDONYMOUS) -> GraphSchema:
    attributes = (
        Attribute(name="region", protection=Protection.PUBLIC),
        Attribute(name="secret", protection=Protection.WITHHELD),
    )
    return GraphSchema(
        node_types=(NodeType(count=NODES, attributes=attributes),), edge_types=(EdgeType(),), node_ids=ids
    )


def stored(folder: Path, of: GraphSchema) -> Path:
    """A graph of about 900 edges in parts."""
    rng = np.random.default_rng(5)
    if of is TYPED:
        cell = rng.integers(0, 4, 1600)
        most = np.where(cell == 3, 40, NODES)
        rows = (rng.integers(0, most), rng.integers(0, most), cell)
        sizes = {"person": NodeTable(NODES), "firm": NodeTable(40)}
        write_parted(of, sizes, [rows], 1600, folder, 200)
        return folder
    columns = {"region": pa.array([f"r{i}" for i in range(NODES)]), "secret": pa.array(["s"] * NODES)}
    nodes = {"node": NodeTable(NODES, None, columns)}
    write_parted(of, nodes, [tuple(rng.integers(0, NODES, (2, 900)))], 900, folder, 200)
    return folder


def task(of: GraphSchema, **changes: Any) -> ReleaseTask:
    asked = {
        "job_id": "job-1",
        "dataset_id": "dataset-1",
        "dataset_version": "version-1",
        "method": "dcsbm",
        "params": dict(COUNTED),
        "unit": Unit.EDGE,
        "nano_epsilon": 4 * NANO,
        "edge_types": ("edge",),
        "shard_edges": SHARD_EDGES,
    } | changes
    generator = get(str(asked["method"]))
    release = ReleaseTask.model_validate({"release": asked, "plan": {}}).release
    plan = generator.plan(generator.Params(**asked["params"]), release.facts(of))
    return ReleaseTask(release=release, plan=plan.to_json())


class Fitted:
    """What a fit left, and its shards."""

    def __init__(self, folder: Path, of: GraphSchema, graph: Path | None = None, **asked: Any) -> None:
        self.folder, self.task, self.recorder = folder, task(of, **asked), MemoryRecorder()
        graph = graph or stored(folder / "graph", of)
        self.method = self.task.release.method
        self.fit = folder / "fit"
        run_fit(graph_folder=graph, task=self.task, out=self.fit, recorder=self.recorder, progress=SILENT)
        self.shards = json.loads((self.fit / "fit.json").read_bytes())["shards"]
        self.edges = self.fit / "parts"
        self.parts = [
            run_shard(
                law=self.fit / "law",
                method=self.method,
                number=k,
                shards=self.shards,
                out=self.edges,
                degrees=self.fit / "degrees",
            )
            for k in range(self.shards)
        ]
        (self.fit / "transcript.json").write_text(json.dumps([e.to_json() for e in self.recorder.entries]))
        (self.fit / "model").rename(self.fit / "kept-model")

    def join(self, parts: Any = None) -> Path:
        """The bundle, laid out as a worker does."""
        out = self.folder / "out"
        (out / "private").mkdir(parents=True)
        (self.fit / "release").rename(out / "release")
        told = [asdict(part) for part in self.parts if parts is None or part.name in parts]
        run_join(kept=self.fit, parts=told, task=self.task, out=out, progress=SILENT)
        for path in self.edges.iterdir():  # no join reads them
            path.rename(out / "release" / path.name)
        return out


@pytest.fixture
def fitted(tmp_path: Path) -> Fitted:
    return Fitted(tmp_path, schema())


def test_the_bundle_is_whole_and_its_report_counts_the_edges(fitted: Fitted) -> None:
    assert fitted.shards > 2
    out = fitted.join()
    rows = [pq.read_table(path) for path in sorted((out / "release").glob("edges-*"))]
    source, target = (np.concatenate([t[end].to_numpy() for t in rows]) for end in ("source", "target"))
    whole = Graph.build(
        GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(EdgeType(),)),
        {"node": NodeTable(NODES)},
        {"edge": EdgeTable(source, target)},
    )
    assert whole.edges["edge"].count == len(source)  # no pair twice, no loop
    part = PublicPart.model_validate_json((out / "release" / "public.json").read_bytes())
    (told,) = part.statistics.edge_types
    (expected,) = public_statistics(whole)["edge_types"]
    assert told.edges == expected["edges"]
    assert told.rows[0].scalars.items() <= expected["rows"][0]["scalars"].items()
    assert told.degrees[0].model_dump(mode="json") == expected["degrees"][0]
    manifest = {each["name"] for each in json.loads((out / "manifest.json").read_bytes())}
    assert manifest >= {f"release/{each.name}" for each in fitted.parts} | {
        "release/nodes.parquet",
        "release/schema.json",
        "release/public.json",
        "private/alignment.parquet",
    }
    assert not any("law" in name or "totals" in name for name in manifest)


TYPED = GraphSchema(
    node_types=(NodeType(name="person", count=NODES), NodeType(name="firm", count=40)),
    edge_types=(
        EdgeType(name="knows", source="person", target="person"),
        EdgeType(name="calls", source="person", target="person", temporal=True),
        EdgeType(name="owns", source="firm", target="firm"),
    ),
    time=TimeGrid(start=0, width=1, count=2),
)


def test_several_relations_and_snapshots_are_published_together(tmp_path: Path) -> None:
    made = Fitted(tmp_path, TYPED, unit=Unit.EVENT, edge_types=("knows", "calls", "owns"))
    assert made.shards > 4
    out = made.join()
    part = PublicPart.model_validate_json((out / "release" / "public.json").read_bytes())
    tables = [pq.read_table(path) for path in sorted((out / "release").glob("edges-*"))]
    assert [table.column_names for table in tables] == [["source", "target", "type", "step"]] * made.shards
    rows = pa.concat_tables(tables)
    cells = {"knows": [None], "calls": [0, 1], "owns": [None]}
    for told, relation in zip(part.statistics.edge_types, TYPED.edge_types, strict=True):
        own = rows.filter(pc.equal(rows["type"], relation.name))
        assert (told.name, told.edges) == (relation.name, own.num_rows)
        assert [row.step for row in told.rows] == cells[relation.name]
        steps = own["step"].to_numpy(zero_copy_only=False)
        source, target = own["source"].to_numpy(), own["target"].to_numpy()
        assert target.max() < (40 if relation.name == "owns" else NODES)
        mended = EdgeTable(source, target, steps.astype(np.int32) if relation.temporal else None)
        sizes = {"person": NodeTable(NODES), "firm": NodeTable(40)}
        whole = Graph.build(TYPED, sizes, {relation.name: mended}).edges[relation.name]
        assert whole.count == own.num_rows  # no pair twice in a snapshot, no loop
        assert own.num_rows > 100
    assert part.statistics.nodes == {"person": NODES, "firm": 40}
    context = Context("http://localhost", date(2026, 1, 1))
    columns = [
        [field["name"] for field in each["facets"]["schema"]["fields"]]
        for each in metadata(Form.OPENLINEAGE, part, context)["outputs"]
        if each["name"].endswith(made.parts[0].name)
    ]
    assert columns == [["source", "target", "type", "step"]]
    assert "among the nodes of its type" in card(part)
    asked = {"law": made.fit / "law", "method": "dcsbm", "number": 2, "shards": made.shards}
    again = run_shard(**asked, out=tmp_path / "x", degrees=tmp_path / "y")
    assert again == made.parts[2]


SIDED = GraphSchema(
    node_types=(NodeType(name="person", count=NODES), NodeType(name="firm", count=40)),
    edge_types=(
        EdgeType(name="knows", source="person", target="person"),
        EdgeType(name="cites", source="person", target="person", directed=True),
        EdgeType(name="hires", source="firm", target="person", temporal=True),
    ),
    time=TimeGrid(start=0, width=1, count=2),
)


def test_directed_relations_and_those_between_two_types_are_published(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    cell = rng.integers(0, 4, 6000)
    source, target = rng.integers(0, np.where(cell > 1, 40, NODES)), rng.integers(0, NODES, 6000)
    sizes = {"person": NodeTable(NODES), "firm": NodeTable(40)}
    write_parted(SIDED, sizes, [(source, target, cell)], 6000, tmp_path / "graph", 700)
    names = ("knows", "cites", "hires")
    asked = {"unit": Unit.EVENT, "edge_types": names, "method": "anchored", "params": {"evidence": "none"}}
    made = Fitted(tmp_path, SIDED, graph=tmp_path / "graph", **asked)
    out = made.join()
    part = PublicPart.model_validate_json((out / "release" / "public.json").read_bytes())
    rows = pa.concat_tables(pq.read_table(path) for path in sorted((out / "release").glob("edges-*")))
    tables = {}
    for relation in SIDED.edge_types:
        own = rows.filter(pc.equal(rows["type"], relation.name))
        step = own["step"].to_numpy(zero_copy_only=False)
        ends = own["source"].to_numpy(), own["target"].to_numpy()
        tables[relation.name] = EdgeTable(*ends, step.astype(np.int32) if relation.temporal else None)
    whole = Graph.build(SIDED, sizes, tables)
    expected = public_statistics(whole)["edge_types"]
    for told, other, (name, table) in zip(part.statistics.edge_types, expected, tables.items(), strict=True):
        assert whole.edges[name].count == table.count == told.edges == other["edges"]  # no pair twice
        assert told.directed == other["directed"]
        assert [each.model_dump(mode="json") for each in told.degrees] == other["degrees"]
        for row, theirs in zip(told.rows, other["rows"], strict=True):
            known = {name: value for name, value in row.scalars.items() if value is not None}
            assert len(known) == (2 if name == "cites" else 7)
            assert known.items() <= theirs["scalars"].items()
    assert (tables["cites"].source > tables["cites"].target).any()
    context = Context("http://localhost", date(2026, 1, 1))
    for form in Form:
        assert metadata(form, part, context)
    for text in (render(Report(public=part)), markdown(Report(public=part)), card(part)):
        assert "cites" in text


def test_relations_that_are_not_asked_for_are_left_out(tmp_path: Path) -> None:
    made = Fitted(tmp_path, TYPED, unit=Unit.EVENT, edge_types=("owns",))
    out = made.join()
    part = PublicPart.model_validate_json((out / "release" / "public.json").read_bytes())
    assert [each.name for each in part.statistics.edge_types] == ["owns"]
    assert {each.edge_type for each in made.recorder.entries} == {"owns"}


def test_every_form_of_its_report_is_made(fitted: Fitted) -> None:
    out = fitted.join()
    public = PublicPart.model_validate_json((out / "release" / "public.json").read_bytes())
    context = Context("http://localhost", date(2026, 1, 1))
    for form in Form:
        assert metadata(form, public, context)
    for text in (render(Report(public=public)), markdown(Report(public=public)), card(public)):
        assert fitted.parts[0].name in text
        assert "edges.parquet" not in text
    columns = [
        each["facets"]["schema"]["fields"]
        for each in metadata(Form.OPENLINEAGE, public, context)["outputs"]
        if each["name"].endswith(fitted.parts[0].name)
    ]
    assert [[field["name"] for field in each] for each in columns] == [["source", "target"]]


def test_nodes_stand_in_a_fresh_order_with_their_public_attributes(fitted: Fitted) -> None:
    out = fitted.join()
    order = read_alignment(out / "private" / "alignment.parquet")["node"]
    assert order.tolist() != list(range(NODES))
    nodes = pq.read_table(out / "release" / "nodes.parquet")
    assert nodes["region"].to_pylist() == [f"r{original}" for original in order]
    assert set(nodes.column_names) == {"id", "type", "region"}


def test_protected_attributes_of_nodes_are_published_beside_the_shards(tmp_path: Path) -> None:
    town = Attribute(name="town", protection=Protection.PROTECTED, categories=("a", "b"))
    kind = NodeType(count=NODES, attributes=(town,))
    of = GraphSchema(node_types=(kind,), edge_types=(EdgeType(),))
    rng = np.random.default_rng(4)
    ends = rng.integers(0, NODES, (2, 6000))
    ends = ends[:, ends[0] % 2 == ends[1] % 2]  # like meets like
    towns = NodeTable(NODES, None, {"town": pa.array(["ab"[i % 2] for i in range(NODES)])})
    write_parted(of, {"node": towns}, [tuple(ends)], 3000, tmp_path / "graph", 500)
    params = {**COUNTED, "node_attribute_share": 0.3}
    made = Fitted(tmp_path, of, graph=tmp_path / "graph", params=params, nano_epsilon=40 * NANO)
    out = made.join()
    nodes = pq.read_table(out / "release" / "nodes.parquet")
    assert set(nodes.column_names) == {"id", "type", "town"}
    found = np.array(nodes["town"].to_pylist())
    assert abs((found == "a").sum() - NODES / 2) < 10
    rows = [pq.read_table(path) for path in sorted((out / "release").glob("edges-*"))]
    source, target = (np.concatenate([t[end].to_numpy() for t in rows]) for end in ("source", "target"))
    assert (found[source] == found[target]).mean() > 0.9
    assert {each.edge_type for each in made.recorder.entries} == {"edge", "rows:node"}
    told = PublicPart.model_validate_json((out / "release" / "public.json").read_bytes())
    assert told.transcript.operations == len(made.recorder.entries) == 7


def test_public_ids_stay_where_they_were(tmp_path: Path) -> None:
    out = Fitted(tmp_path, schema(NodeIds.PUBLIC)).join()
    nodes = pq.read_table(out / "release" / "nodes.parquet")
    assert nodes["id"].to_pylist() == [str(i) for i in range(NODES)]


def test_a_shard_drawn_again_has_the_same_bytes(fitted: Fitted, tmp_path: Path) -> None:
    asked = {"law": fitted.fit / "law", "method": "dcsbm", "number": 1, "shards": fitted.shards}
    again = run_shard(**asked, out=tmp_path / "again", degrees=tmp_path / "degrees")
    assert again == fitted.parts[1]
    name = again.name
    assert (tmp_path / "degrees" / name).read_bytes() == (fitted.fit / "degrees" / name).read_bytes()


@pytest.mark.parametrize("flaw", ["missing", "altered"])
def test_nothing_is_joined_of_parts_that_are_not_all_or_not_those(fitted: Fitted, flaw: str) -> None:
    if flaw == "altered":
        paths = [fitted.fit / "degrees" / part.name for part in fitted.parts[:2]]
        paths[0].write_bytes(paths[1].read_bytes())
    kept = {part.name for part in fitted.parts[flaw == "missing" :]}
    with pytest.raises(ValueError, match=r"not all parts|not the degrees of the rows"):
        fitted.join(kept)
    assert not (fitted.folder / "out" / "manifest.json").exists()


def test_what_cannot_be_counted_is_refused_before_the_graph_is_opened(tmp_path: Path) -> None:
    of = schema()
    graph, recorder = stored(tmp_path / "graph", of), MemoryRecorder()
    asked = task(of, params={**COUNTED, "groups": None})
    with pytest.raises(NotAccepted, match="tell no labels"):
        run_fit(graph_folder=graph, task=asked, out=tmp_path / "out", recorder=recorder, progress=SILENT)
    assert (recorder.entries, (tmp_path / "out").exists()) == ([], False)


def test_an_altered_graph_stops_the_fit_before_any_number_comes_out(tmp_path: Path) -> None:
    of = schema()
    graph = stored(tmp_path / "graph", of)
    told = json.loads((graph / "parts.json").read_bytes())
    told[0]["rows"] += 1
    (graph / "parts.json").write_text(json.dumps(told))
    with pytest.raises(ValueError, match="not the rows"):
        run_fit(
            graph_folder=graph,
            task=task(of),
            out=tmp_path / "out",
            recorder=MemoryRecorder(),
            progress=SILENT,
        )
    assert not (tmp_path / "out").exists()


def test_degrees_alone_tell_what_the_whole_graph_tells_of_them() -> None:
    of = GraphSchema(node_types=(NodeType(count=30),), edge_types=(EdgeType(),))
    rng = np.random.default_rng(1)
    whole = Graph.build(of, {"node": NodeTable(30)}, {"edge": EdgeTable(*rng.integers(0, 30, (2, 60)))})
    table = whole.edges["edge"]
    degrees = np.bincount(np.concatenate([table.source, table.target]), minlength=30)
    found = degree_statistics(of, {"node": 30}, [(("edge", None), [degrees])])
    expected = public_statistics(whole)
    assert found["metrics"].items() <= expected["metrics"].items()
    (ours,), (theirs,) = found["edge_types"], expected["edge_types"]
    assert ours["rows"][0]["scalars"].items() <= theirs["rows"][0]["scalars"].items()
    for name in ("edges", "degrees", "name", "source", "target", "directed", "copied"):
        assert ours[name] == theirs[name]


def test_a_method_that_reads_edges_together_is_no_shards_method() -> None:
    from core.publishing.checks import sharded

    with pytest.raises(NotAccepted, match="psgraph reads edges together"):
        sharded(get("psgraph"))
    assert sharded(get("dcsbm")) is get("dcsbm").sharding


CARRYING = GraphSchema(
    node_types=(NodeType(name="person", count=NODES),),
    edge_types=(
        EdgeType(
            name="rates",
            source="person",
            target="person",
            directed=True,
            temporal=True,
            attributes=(
                EdgeAttribute(name="stars", kind="integer", bounds=(1, 5), aggregate="max"),
                EdgeAttribute(name="sort", kind="category", categories=("a", "b"), aggregate="max"),
            ),
        ),
        EdgeType(name="knows", source="person", target="person"),
    ),
    time=TimeGrid(start=0, width=1, count=2),
)


def carrying(folder: Path) -> Path:
    """A graph in parts of which one relation carries something."""
    rng = np.random.default_rng(5)
    ends, time = rng.integers(0, NODES, (2, 4000)), rng.integers(0, 2, 4000)
    values = rng.integers(1, 6, 4000), rng.integers(0, 2, 4000)
    rows = [(*ends, time, time, *values), (*rng.integers(0, NODES, (2, 900)), np.full(900, 2))]
    write_parted(CARRYING, {"person": NodeTable(NODES)}, rows, 4900, folder, 500)
    return folder


def fitted_to_values(tmp_path: Path, share: float) -> Fitted:
    """A fit to that graph, with so much of epsilon for what edges carry."""
    return Fitted(
        tmp_path,
        CARRYING,
        carrying(tmp_path / "graph"),
        method="anchored",
        params={"evidence": "none", "attribute_share": share},
        unit=Unit.EVENT,
        nano_epsilon=20 * NANO,
        edge_types=("rates", "knows"),
    )


@pytest.mark.parametrize("share", [0.4, 0.0])
def test_edges_of_a_release_in_parts_carry_what_was_paid_for(tmp_path: Path, share: float) -> None:
    out = fitted_to_values(tmp_path, share).join()
    public = PublicPart.model_validate_json((out / "release" / "public.json").read_bytes())
    released = GraphSchema.model_validate_json((out / "release" / "schema.json").read_bytes())
    paths = sorted((out / "release").glob("edges-*.parquet"))
    if not share:
        assert not public.carried
        assert not released.edge_type("rates").attributes
        assert all(pq.read_schema(path).names == ["source", "target", "type", "step"] for path in paths)
        return
    assert released.edge_type("rates").attributes == CARRYING.edge_type("rates").attributes
    rows = pa.concat_tables([pq.read_table(path) for path in paths], promote_options="default")
    rates = rows.filter(pc.equal(rows["type"], "rates"))
    assert rows.filter(pc.equal(rows["type"], "knows"))["stars"].null_count == rows.num_rows - rates.num_rows
    stars, sort = public.carried
    counted = [int((rates["stars"].to_numpy() == each).sum()) for each in range(1, 6)]
    assert list(stars.released) == counted
    assert sum(sort.released) == rates.num_rows
    assert stars.paid is not None
    assert all(abs(each - 800) < 120 for each in stars.paid)
    assert stars.by_step is not None
    assert np.sum(stars.by_step.released) == rates.num_rows
    first = pc.sum(pc.equal(rates["step"], 0)).as_py()
    assert np.sum(stars.by_step.released[0]) == first
    assert "stars" in markdown(Report(public=public))


def test_values_that_are_not_those_of_the_rows_are_refused_when_parts_are_joined(tmp_path: Path) -> None:
    fitted = fitted_to_values(tmp_path, 0.4)
    path = fitted.fit / "degrees" / fitted.parts[0].name
    table = pq.read_table(path)
    told = json.loads(table.schema.metadata[b"carried"])
    told[0][0] += 1
    pq.write_table(table.replace_schema_metadata({"carried": json.dumps(told)}), path)
    with pytest.raises(ValueError, match="not the values of the rows"):
        fitted.join()
