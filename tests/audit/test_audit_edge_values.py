"""A fit that pays for what edges carry, end to end on two neighbours: its paid tables keep to epsilon.

Among four nodes an edge of the rarest value is present or absent; the outputs are the model's tables. Of a
live stream it is present or absent in each step of a window, and what is handed on is put out too. A copy
that pays as stated, but whose noise is a sixteenth of what it should be, must be caught: several reads share
epsilon, and one number tells of one of them. Half the noise of each read by itself: ``test_every_read``.
"""

from collections.abc import Callable

import numpy as np

from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.methods._shared.values.fit import paid_step
from core.methods.dcsbm import GENERATOR
from core.privacy.accounting.audit import audit_epsilon, repeated
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.auditing import SOUND, Kept, caught
from tests.support.generating import NANO, fit

EPSILON = 1.0
SIGN = EdgeAttribute(name="sign", kind="integer", bounds=(-1, 1), aggregate="min")
SCHEMA = GraphSchema(node_types=(NodeType(count=4),), edge_types=(EdgeType(name="edge", attributes=(SIGN,)),))


def graph_of(*signed: tuple[int, int, int]) -> Graph:
    source, target, sign = np.array(signed, dtype=np.int32).reshape(-1, 3).T
    table = EdgeTable(source, target, None, EdgeValues({"sign": sign}))
    return Graph.build(SCHEMA, {}, {"edge": table})


def paid_tables(graph: Graph) -> np.ndarray:
    model, _ = fit(GENERATOR, graph, EPSILON, attribute_share=0.9, proposals=0)
    columns = model.tables.cells["edge", 0]
    return np.concatenate([columns["histogram"], columns["source_rates"], columns["pairs"].ravel()[:3]])


def bounds() -> Callable[[int, float], float]:
    """What is measured, with the draws of earlier looks."""
    neighbours = graph_of((0, 1, 1), (2, 3, -1)), graph_of((0, 1, 1))
    kept = Kept(repeated(paid_tables))
    return lambda runs, sure: audit_epsilon(kept, *neighbours, runs=runs, confidence=sure).lower_bound


def test_the_printed_epsilon_holds():
    assert bounds()(250, SOUND) <= EPSILON


def test_noise_at_a_sixteenth_of_its_scale_is_caught(monkeypatch):
    true = mechanisms.discrete_laplace

    def bold(values, l1_sensitivity, nano_epsilon, **options):
        return true(values, l1_sensitivity, 16 * nano_epsilon, **options)

    monkeypatch.setattr(mechanisms, "discrete_laplace", bold)
    assert caught(bounds(), EPSILON, 250)


TIMED = GraphSchema(
    node_types=(NodeType(count=4),),
    edge_types=(EdgeType(name="edge", temporal=True, attributes=(SIGN,)),),
    time=TimeGrid(count=1),
)
WINDOW = 2


def streamed(graphs: tuple[Graph, ...]) -> np.ndarray:
    """What the steps of a window hand on, at an epsilon of 1 for all of them."""
    nano, before, found = NANO // WINDOW, None, []
    structure = EdgeTable(np.array([0, 2]), np.array([1, 3]), np.zeros(2, np.int32))
    for step, graph in enumerate(graphs):
        granted = (Allotment("edge", 0, Pure(nano, "test"), "test"),)
        plan = PrivacyPlan("test", Unit.W_EVENT, WINDOW, 1, granted, first_step=step)
        reads = PrivateGraph(graph, Meter(plan, MemoryRecorder())).edge_values("edge", "sign")
        _, before = paid_step(reads, structure, nano, before, step)
        found += [before.histogram, before.nodes[0].sums.ravel(), before.pairs.counts.ravel()[:3]]
    return np.concatenate(found)


def timed(*signed: tuple[int, int, int]) -> Graph:
    source, target, sign = np.array(signed, dtype=np.int32).reshape(-1, 3).T
    table = EdgeTable(source, target, np.zeros(len(sign), np.int32), EdgeValues({"sign": sign}))
    return Graph.build(TIMED, {}, {"edge": table})


def measured_window(runs: int, confidence: float) -> float:
    neighbours = (timed((0, 1, 1), (2, 3, -1)),) * WINDOW, (timed((2, 3, -1)),) * WINDOW
    return audit_epsilon(repeated(streamed), *neighbours, runs=runs, confidence=confidence).lower_bound


def test_a_window_of_a_stream_keeps_to_its_epsilon():
    assert measured_window(400, SOUND) <= EPSILON


def test_a_stream_whose_noise_is_a_sixteenth_is_caught(monkeypatch):
    true = mechanisms.discrete_laplace

    def bold(values, l1_sensitivity, nano_epsilon, **options):
        return true(values, l1_sensitivity, 16 * nano_epsilon, **options)

    monkeypatch.setattr(mechanisms, "discrete_laplace", bold)
    assert caught(measured_window, EPSILON, 400)
