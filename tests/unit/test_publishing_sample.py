"""A further sample: what it copies, what it draws anew, what it promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import PrivacyViolation, UnmeteredFit
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeIds, NodeType, Protection
from core.graphs.stored.whole import write_graph
from core.privacy.accounting.meter import MemoryRecorder
from core.publishing import bundle, release, sample
from core.publishing.checks import released_schema
from core.reports.model import PublicPart
from tests.support.groups import examples
from tests.support.publishing import SECRET, USERS, Fixed, graph, schema, spec


def laid_out(folder: Path, generator: Any, original: Graph, **changes: Any) -> Path:
    """What a published job leaves to a further sample of its model."""
    write_graph(original, folder / "original")
    recorder = MemoryRecorder()
    asked = spec(generator, original.schema, **changes)
    release.publish(generator, folder / "original", asked, folder / "source", recorder, lambda *_: None)
    source = folder / "source"
    (source / "schema.json").write_text(original.schema.model_dump_json())
    (source / "transcript.json").write_text(json.dumps([entry.to_json() for entry in recorder.entries]))
    return source


def drawn(generator: Any, source: Path, out: Path, of: GraphSchema, **changes: Any) -> Path:
    asked = spec(
        generator, of, **{"job_id": "job-2", "sample_of": "job-1", "params": {"extra_reads": 0}, **changes}
    )
    sample.draw(generator, source, asked, out, lambda *_: None)
    return out


@pytest.fixture
def drew(tmp_path: Path) -> Path:
    """A sample, graph 3, of a model whose release was graph 2 of original 1."""
    source = laid_out(tmp_path, Fixed(graph(2)), graph(1))
    return drawn(Fixed(graph(3)), source, tmp_path / "again", schema())


def test_public_relations_and_attributes_are_those_of_the_original_and_the_rest_is_drawn(drew: Path):
    alignment = drew / "private" / "alignment.parquet"
    found = bundle.read_aligned(drew / "release", alignment)
    for name, expected in (("talks", graph(3)), ("knows", graph(3)), ("near", graph(1))):
        assert found.edges[name].source.tolist() == expected.edges[name].source.tolist()
        assert found.edges[name].target.tolist() == expected.edges[name].target.tolist()
    order = bundle.read_alignment(alignment)["user"]
    rows = pq.read_table(drew / "release" / "nodes.parquet").to_pylist()
    regions = [row["region"] for row in rows if row["type"] == "user"]
    assert regions == [f"region-{original}" for original in order]


def test_it_carries_the_guarantee_once_and_says_whose_model_it_is(tmp_path: Path, drew: Path):
    ours, theirs = (
        PublicPart.model_validate_json((folder / "release" / "public.json").read_bytes())
        for folder in (drew, tmp_path / "source")
    )
    assert (ours.guarantee, ours.transcript, ours.parameters) == (
        theirs.guarantee,
        theirs.transcript,
        theirs.parameters,
    )
    assert (ours.provenance.job_id, ours.provenance.sample_of) == ("job-2", "job-1")
    assert theirs.provenance.sample_of is None
    codes = [notice.code for notice in ours.caveats]
    assert "further_sample" in codes
    assert set(codes) - {"further_sample"} == {notice.code for notice in theirs.caveats}
    assert not (drew / "private" / "model").exists()


def test_names_are_fresh_and_nothing_private_is_copied(drew: Path, tmp_path: Path):
    orders = [
        bundle.read_alignment(folder / "private" / "alignment.parquet")["user"]
        for folder in (drew, tmp_path / "source")
    ]
    assert orders[0].tolist() != orders[1].tolist()
    for path in (drew / "release").iterdir():
        text = str(pq.read_table(path).to_pydict()) if path.suffix == ".parquet" else path.read_text()
        for hidden in (SECRET, "diagnosis", "income", "person-", "joins"):
            assert hidden not in text, path.name


def test_public_ids_stay(tmp_path: Path):
    source = laid_out(tmp_path, Fixed(graph(2, NodeIds.PUBLIC)), graph(1, NodeIds.PUBLIC))
    out = drawn(Fixed(graph(3, NodeIds.PUBLIC)), source, tmp_path / "again", schema(NodeIds.PUBLIC))
    nodes = pq.read_table(out / "release" / "nodes.parquet")
    users = nodes.filter(pa.compute.equal(nodes["type"], "user"))["id"].to_pylist()
    assert users == sorted(f"person-{i:02}@example.org" for i in range(USERS))


def test_what_is_refused(tmp_path: Path):
    source = laid_out(tmp_path, Fixed(graph(2)), graph(1))
    with pytest.raises(PrivacyViolation):
        drawn(Fixed(graph(3)), source, tmp_path / "a", schema(), sample_of=None)
    few = GraphSchema(
        node_types=(NodeType(name="user", count=2),),
        edge_types=tuple(EdgeType(name=name, source="user", target="user") for name in ("talks", "knows")),
    )
    small = Graph.build(few, {"user": NodeTable(2)}, {})
    with pytest.raises(PrivacyViolation):
        drawn(Fixed(small), source, tmp_path / "b", schema())
    (source / "transcript.json").write_text("[]")
    with pytest.raises(UnmeteredFit):
        drawn(Fixed(graph(3)), source, tmp_path / "c", schema())


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(2, 12), st.integers(1, 9), st.booleans(), st.integers(0, 2**32))
def test_the_public_side_of_a_release_is_that_of_its_original(
    tmp_path_factory: pytest.TempPathFactory, left: int, right: int, clash: bool, seed: int
):
    """Attributes of every form, a name shared by two types, and a public relation between them."""
    rng = np.random.default_rng(seed)

    def declared(*names: str) -> tuple[Attribute, ...]:
        return tuple(Attribute(name=name, protection=Protection.PUBLIC) for name in names)

    public = GraphSchema(
        node_types=(
            NodeType(name="a", count=left, attributes=declared("size", "place", "vector")),
            NodeType(name="b", count=right, attributes=declared("size")),
        ),
        edge_types=(
            EdgeType(name="edge", source="a", target="a"),
            EdgeType(name="in", source="a", target="b", public=True),
        ),
    )
    numbers = rng.normal(size=left)
    nodes = {
        "a": NodeTable(
            left,
            None,
            {
                "size": numbers,
                "place": pa.array([None if i == 0 else f"p{i}" for i in range(left)]),
                "vector": rng.integers(0, 9, (left, 3)),
            },
        ),
        "b": NodeTable(right, None, {"size": pa.array(["x"] * right) if clash else rng.normal(size=right)}),
    }
    table = EdgeTable(rng.integers(0, left, 20), rng.integers(0, right, 20), None)
    original = Graph.build(public, nodes, {"in": table})
    shape = released_schema(public, ["edge"])
    released, permutations = release.dress(original, original, shape, ["edge"], rng)
    folder = tmp_path_factory.mktemp("side")
    bundle.write_tables(released, folder / "release")
    bundle.write_alignment(permutations, folder / "alignment.parquet")
    found = sample.public_side(folder / "release", folder / "alignment.parquet", shape)
    assert found.equals(original)
