"""Typed graphs of odd shapes: types without features or of one node, relations without links or with all."""

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, AttributeKind, EdgeType, GraphSchema, NodeType, Protection
from core.methods.base import no_progress
from core.privacy.entropy import public_generator
from papers.hetesdg import GENERATOR
from papers.hetesdg.tests.toys import fit

DELTA = 10**13
BOTH = ("graph", "embedding")
OPTIONS = [
    {"release": BOTH, "second_hop": "on", "split": "bilevel"},
    {"release": BOTH, "learn": "link-sgd", "links": "predictor", "steps": 1, "negatives": 2},
    {"release": ("embedding",), "mechanism": "gaussian-sums", "second_hop": "on"},
]
SHAPES = {
    "single nodes": ((1, 1), "words", 1.0),
    "no features": ((6, 7), "nothing", 0.4),
    "features alike": ((6, 7), "equal", 0.4),
    "features missing": ((6, 7), "missing", 0.4),
    "no links": ((6, 7), "words", 0.0),
    "all links": ((6, 7), "words", 1.0),
    "one large side": ((1, 230), "words", 0.1),
    "the other large side": ((230, 2), "words", 0.1),
}


def typed(sizes: tuple[int, int], features: str, share: float) -> Graph:
    """Two node types, of which the first may have features, and three sorts of relation."""
    rng = np.random.default_rng(4)
    columns = {
        "words": {"words": rng.normal(size=(sizes[0], 3)).astype(np.float32)},
        "equal": {"words": np.ones((sizes[0], 3), dtype=np.float32)},
        "missing": {"words": np.full((sizes[0], 3), np.nan, dtype=np.float32)},
        "nothing": {},
    }[features]
    words = Attribute(name="words", kind=AttributeKind.VECTOR, protection=Protection.PUBLIC)
    kinds = (
        NodeType(name="one", count=sizes[0], attributes=(words,) if columns else ()),
        NodeType(name="other", count=sizes[1]),
    )
    relations = (
        EdgeType(name="across", source="other", target="one"),
        EdgeType(name="along", source="one", target="one", directed=True),
        EdgeType(name="within", source="other", target="other"),
    )
    edges = {}
    for each in relations:
        rows, width = (sizes[end == "other"] for end in (each.source, each.target))
        source, target = np.nonzero(rng.random((rows, width)) < share)
        edges[each.name] = EdgeTable(source, target)
    nodes = {"one": NodeTable(sizes[0], None, columns), "other": NodeTable(sizes[1])}
    return Graph.build(GraphSchema(node_types=kinds, edge_types=relations), nodes, edges)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_relation_and_type_is_released_whatever_its_shape(options, shape, tmp_path):
    graph = typed(*SHAPES[shape])
    for epsilon in (0.1, 20.0):
        model, _ = fit(graph, epsilon, delta_atto=DELTA, **options)
        model.save(tmp_path / str(epsilon))
        again = GENERATOR.load(tmp_path / str(epsilon))
        one, other = (each.sample(public_generator(3), no_progress) for each in (model, again))
        assert one.equals(other)
        vectors = model.vectors()["embedding"]
        assert {name: len(rows) for name, rows in vectors.items()} == {
            name: table.count for name, table in graph.nodes.items()
        }
        assert all(np.isfinite(rows).all() for rows in vectors.values())
        zero = np.zeros(1, dtype=np.int64)
        for name in graph.edges:
            assert np.isfinite(model.scores(name, zero, zero)).all()
