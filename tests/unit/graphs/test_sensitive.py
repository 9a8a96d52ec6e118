"""The list of sensitive links: kept beside a graph, checked against it, and shown nowhere."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import InvalidInput, PlanExceeded, UnmeteredFit
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.stored.whole import read_graph, write_graph
from core.graphs.views import sensitive
from core.graphs.views.sensitive import (
    FILE,
    PADDED_BYTES,
    SensitiveLinks,
    read_sensitive,
    write_sensitive,
)
from core.methods.base import PublicFacts
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers._shared.defences.altered import drawn_share
from papers._shared.unprotected import unprotected_plan

NODES, ITEMS = 12, 5


def graph() -> Graph:
    schema = GraphSchema(
        node_types=(NodeType(name="person", count=NODES), NodeType(name="item", count=ITEMS)),
        edge_types=(
            EdgeType(name="knows", source="person", target="person"),
            EdgeType(name="follows", source="person", target="person", directed=True),
            EdgeType(name="owns", source="person", target="item"),
            EdgeType(name="near", source="person", target="person", public=True),
            EdgeType(name="met", source="person", target="person", temporal=True),
        ),
        time=TimeGrid(count=2),
    )
    ring = np.arange(NODES)
    edges = {
        "knows": EdgeTable(ring, (ring + 1) % NODES),
        "follows": EdgeTable(ring, (ring + 5) % NODES),
        "owns": EdgeTable(ring, ring % ITEMS),
        "near": EdgeTable(ring, (ring + 2) % NODES),
        "met": EdgeTable(ring, (ring + 3) % NODES, ring % 2),
    }
    return Graph.build(schema, {}, edges)


def ends(*pairs: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    source, target = zip(*pairs, strict=True)
    return np.array(source), np.array(target)


def rows(links: SensitiveLinks, name: str) -> list[tuple[int, int]]:
    source, target = links.of_relation(name)
    return list(zip(source.tolist(), target.tolist(), strict=True))


def test_what_is_written_is_read_back(tmp_path):
    original = graph()
    links = SensitiveLinks.of(
        original, {"knows": ends((3, 2), (0, 1), (2, 3)), "follows": ends((7, 0)), "owns": ends((6, 1))}
    )
    assert rows(links, "knows") == [(0, 1), (2, 3)]
    assert rows(links, "follows") == [(7, 0)]
    write_graph(original, tmp_path)
    assert read_sensitive(tmp_path, original) is None
    write_sensitive(links, tmp_path)
    found = read_sensitive(tmp_path, read_graph(tmp_path))
    assert found is not None
    for name in ("knows", "follows", "owns", "near"):
        assert rows(found, name) == rows(links, name)
    write_sensitive(SensitiveLinks.of(original, {}), tmp_path)
    replaced = read_sensitive(tmp_path, original)
    assert replaced is not None
    assert not replaced.pairs
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "edges.parquet",
        "nodes.parquet",
        "schema.json",
        FILE,
    ]


@pytest.mark.parametrize(
    ("name", "pairs", "message"),
    [
        ("nothing", ends((0, 1)), "not declared"),
        ("near", ends((0, 2)), "is public"),
        ("met", ends((0, 3)), "carries time"),
        ("knows", ends((0, 2)), "not one of its links"),
        ("follows", ends((0, 7)), "not one of its links"),
        ("knows", ends((0, 99)), "outside the universe"),
        ("owns", ends((0, ITEMS)), "outside the universe"),
        ("knows", ends((-1, 0)), "outside the universe"),
        ("knows", (np.array([0.0]), np.array([1.0])), "integer indices"),
        ("knows", (np.array([0]), np.array([1, 2])), "integer indices"),
    ],
)
def test_what_is_no_protected_link_is_refused(name, pairs, message):
    with pytest.raises(InvalidInput, match=message) as found:
        SensitiveLinks.of(graph(), {name: pairs})
    assert found.value.members == {"field": "sensitive"}
    assert "99" not in str(found.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"type": ["knows"], "source": [0]}), "columns type, source and target"),
        (pa.table({"type": ["knows"], "source": [0], "target": pa.nulls(1, pa.int64())}), "no empty cell"),
        (pa.table({"type": ["knows"], "source": ["a"], "target": [1]}), "two node indices"),
    ],
)
def test_a_list_of_another_form_is_refused(tmp_path, table, message):
    pq.write_table(table, tmp_path / FILE)
    with pytest.raises(InvalidInput, match=message):
        read_sensitive(tmp_path, graph())
    (tmp_path / FILE).write_bytes(b"type,source,target\n")
    with pytest.raises(InvalidInput, match="no Parquet file"):
        read_sensitive(tmp_path, graph())


def test_its_text_shows_no_link():
    links = SensitiveLinks.of(graph(), {"owns": ends((11, 1))})
    assert "11" not in repr(links)
    assert "owns" not in repr(links)


def test_a_share_is_drawn_of_every_relation():
    found = drawn_share(graph(), ("knows", "owns"), 0.25, np.random.default_rng(1))
    assert [len(rows(found, name)) for name in ("knows", "owns", "follows")] == [3, 3, 0]
    other = drawn_share(graph(), ("knows", "owns"), 0.25, np.random.default_rng(2))
    assert rows(found, "knows") != rows(other, "knows")
    assert not drawn_share(graph(), ("knows",), 0.01, np.random.default_rng(1)).of_relation("knows")[0].size


def test_a_session_opens_the_list_after_an_unprotected_access_only():
    opened = []
    links = SensitiveLinks.of(graph(), {"knows": ends((0, 1))})

    def read() -> SensitiveLinks:
        opened.append(True)
        return links

    public = PublicFacts(graph().schema, Unit.EVENT, None, 10**9, 0, ("knows",))
    meter = Meter(unprotected_plan("test", public, "a test"), MemoryRecorder())
    session = PrivateGraph(graph(), meter, read)
    with pytest.raises(UnmeteredFit, match="after an unprotected access"):
        session.sensitive_links()
    assert not opened
    session.unprotected("a test")
    assert session.sensitive_links() is links
    assert PrivateGraph(graph(), meter).sensitive_links() is None


def test_a_session_that_may_not_read_the_graph_may_not_read_the_list():
    paid = Allotment("knows", None, Pure(10**9, "discrete_laplace"), "a count")
    meter = Meter(PrivacyPlan("test", Unit.EVENT, None, 2, (paid,)), MemoryRecorder())
    session = PrivateGraph(graph(), meter, lambda: None)
    with pytest.raises(PlanExceeded):
        session.unprotected("a test")
    with pytest.raises(UnmeteredFit):
        session.sensitive_links()


def test_neither_the_length_nor_the_digest_of_a_file_tells_of_the_list(tmp_path):
    count = 60_000
    schema = GraphSchema(node_types=(NodeType(count=count),))
    ring = np.arange(count - 1)
    chain = Graph.build(schema, {}, {"edge": EdgeTable(ring, ring + 1)})
    sizes, digests = [], []
    for number, links in enumerate((0, 0, 1, 200, 5_000, 20_000, 59_999)):
        folder = tmp_path / str(number)
        folder.mkdir()
        chosen = public_generator(number).permutation(ring)[:links]
        known = SensitiveLinks.of(chain, {"edge": (chosen, chosen + 1)}, f"sl_{number}" if number else None)
        write_sensitive(known, folder)
        found = read_sensitive(folder, chain)
        assert found is not None
        assert len(found.of_relation("edge")[0]) == links
        assert found.list_id == known.list_id
        content = (folder / FILE).read_bytes()
        sizes.append(len(content))
        digests.append(content)
    assert sizes[:6] == [PADDED_BYTES] * 6
    assert sizes[6] in (PADDED_BYTES, 2 * PADDED_BYTES, 4 * PADDED_BYTES)
    assert digests[0] != digests[1]


def test_a_file_is_as_long_as_a_power_of_two_whatever_it_holds(tmp_path, monkeypatch):
    """Where the padding's own length takes a further byte to write, one length cannot be had."""
    monkeypatch.setattr(sensitive, "PADDED_BYTES", 2**12)
    for digits in range(0, 2**12, 5):
        write_sensitive(SensitiveLinks({}, "s" * digits), tmp_path)
        assert (tmp_path / FILE).stat().st_size in (2**12, 2**13)
