"""Reads of what edges carry: sensitivities by brute force over tiny graphs, charges, the noise's law."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from core.errors import InvalidInput, NotAccepted, PlanExceeded
from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.views.records import counted
from core.privacy.accounting.audit import audit_epsilon
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.reads.edge_values import EdgeValueReads
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit, charged_together, edges_of_unit
from tests.support.auditing import SMALLER, SOUND, caught, laplace_divergence
from tests.support.groups import in_part

NANO = 10**9
STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 3), aggregate="max")
EACH = STARS.model_copy(update={"aggregate": None})
CAP = 2
SCORES = np.array([-4, 1, 2])
LABELS = np.array([0, 1, 1])
State = int | tuple[int, ...]
"""A slot's state: its number of stars, 0 where it is absent; or those of each of its records."""
SEVERAL: tuple[State, ...] = ((), (1,), (3,), (1, 1), (1, 3))


def records(state: State) -> tuple[int, ...]:
    """The stars of a slot's records."""
    return state if isinstance(state, tuple) else (state,) * bool(state)


class World:
    """One relation over so few nodes and steps that every graph can be listed: a state for each slot."""

    def __init__(
        self,
        *,
        directed: bool = False,
        sides: tuple[int, int] | None = None,
        steps: int = 0,
        states: Sequence[State] = (0, 1, 2, 3),
        apart: bool = False,
    ):
        kinds = (NodeType(count=3),)
        ends, relation = (3, 3), {"directed": directed}
        if sides is not None:
            kinds, ends = (NodeType(count=sides[0]), NodeType(name="item", count=sides[1])), sides
            relation = {"target": "item"}
        self.states, self.each = states, isinstance(states[0], tuple)
        if self.each:
            relation |= {"multiplicity": "each", "records_per_slot": CAP, "records_apart": apart}
        carried = EACH if self.each else STARS
        declared = EdgeType(name="rates", temporal=steps > 0, attributes=(carried,), **relation)
        time = TimeGrid(count=steps) if steps else None
        self.schema = GraphSchema(node_types=kinds, edge_types=(declared,), time=time)
        pairs = list(itertools.product(*map(range, ends)))
        if sides is None:
            pairs = [(a, b) for a, b in pairs if (a != b if directed else a < b)]
        self.pairs, self.steps = pairs, max(steps, 1)
        self.slots = [(a, b, t) for a, b in pairs for t in range(self.steps)]

    def graph(self, states: tuple[State, ...]) -> Graph:
        held = zip(self.slots, states, strict=True)
        rows = [(*slot, stars) for slot, state in held for stars in records(state)]
        source, target, step, stars = np.array(rows, dtype=np.int32).reshape(-1, 4).T
        values = EdgeValues({"stars": stars})
        timed = self.schema.edge_types[0].temporal
        table = EdgeTable(source, target, step if timed else None, values)
        return Graph.build(self.schema, {}, {"rates": table})

    def every(self) -> Iterator[tuple[State, ...]]:
        return itertools.product(self.states, repeat=len(self.slots))

    def reads(
        self, graph: Graph, unit: Unit, nano_epsilon: int = 100 * NANO, numbers: bool = False
    ) -> tuple[EdgeValueReads, Meter]:
        cells = charged_together(unit, self.schema.steps_of("rates"))
        granted = tuple(Allotment("rates", step, Pure(nano_epsilon, "test"), "test") for step in cells)
        window = 1 if unit is Unit.W_EVENT else None
        plan = PrivacyPlan("test", unit, window, self.schema.steps, granted)
        meter = Meter(plan, MemoryRecorder())
        private = PrivateGraph(graph, meter)
        return private.edge_records("rates") if numbers else private.edge_values("rates", "stars"), meter


WORLDS = {
    "undirected": World(),
    "directed": World(directed=True),
    "bipartite": World(sides=(2, 2)),
    "in time": World(sides=(1, 2), steps=2),
    "each": World(states=((), (1,), (2,), (3,), (1, 1), (1, 3), (2, 2))),
    "each in time": World(sides=(1, 2), steps=2, states=SEVERAL),
}
APART = {
    "undirected": World(states=((), (1,), (3,), (1, 1), (1, 3), (3, 3)), apart=True),
    "bipartite": World(sides=(2, 2), states=SEVERAL, apart=True),
    "in time": World(sides=(1, 2), steps=2, states=SEVERAL, apart=True),
}
BOUNDS = {"histogram": 1, "by_step": 1, "by_classes": 1, "by_node": 1, "node_sums": 4}
BOUNDS |= {f"{name} of numbers": bound for name, bound in BOUNDS.items()}
"""Of L1, as declared; twice as much where both ends of an edge are counted, and of what each of an edge's
records carries as many times as it may have records."""


def asked(reads: EdgeValueReads, steps: int) -> dict[tuple[str, str], Callable[[], np.ndarray]]:
    """Every read of the class, by name and side; the number of records takes two bins of the three."""
    labels, scores = LABELS[: reads.bins.count], SCORES[: reads.bins.count]
    paid = {"nano_epsilon": NANO, "purpose": "test"}
    shape = reads.shape
    sources = np.arange(shape.source_count) % 2
    targets = np.arange(shape.target_count) % 2
    found: dict[tuple[str, str], Callable[[], np.ndarray]] = {
        ("histogram", ""): lambda: reads.histogram(**paid),
        ("by_step", ""): lambda: reads.by_step(periods=np.arange(steps), labels=labels, **paid),
        ("by_classes", ""): lambda: reads.by_classes(sources=sources, targets=targets, labels=labels, **paid),
    }
    for side in reads.sides:
        found["by_node", side] = lambda side=side: reads.by_node(side=side, labels=labels, **paid)
        found["node_sums", side] = lambda side=side: reads.node_sums(side=side, scores=scores, **paid)
    return found


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Reads give exact values, and the sensitivities that they claim are listed."""
    claimed: list[int] = []

    def seen(values: np.ndarray, l1_sensitivity: int, nano_epsilon: int) -> np.ndarray:
        claimed.append(l1_sensitivity)
        return values

    monkeypatch.setattr(mechanisms, "discrete_laplace", seen)
    return claimed


def answers(world: World, states: tuple[State, ...], unit: Unit, claimed: list[int]):
    """By read, also of the number of an edge's records: the exact table, the claimed sensitivity, and how
    many cells were charged."""
    graph, found = world.graph(states), {}
    for numbers in (False, True) if world.each else (False,):
        reads, meter = world.reads(graph, unit, numbers=numbers)
        for (name, side), read in asked(reads, world.steps).items():
            before = len(meter.transcript)
            table = read().ravel()
            key = (f"{name} of numbers" if numbers else name, side)
            found[key] = table, claimed[-1], len(meter.transcript) - before
    return found


@in_part("name", WORLDS, 3)
def test_one_edge_moves_no_table_by_more_than_is_claimed_and_some_by_as_much(name: str, exact: list[int]):
    world = WORLDS[name]
    unit = Unit.EVENT if world.schema.temporal else Unit.EDGE
    every = list(world.every())
    if len(every) > 700:  # directed: all graphs of three edges and fewer, and all that one more makes of them
        every = [states for states in every if sum(map(bool, states)) <= 3]
    known = {states: answers(world, states, unit, exact) for states in every}
    worst: dict[tuple[str, str], int] = {}
    for states, before in known.items():
        for place, state in enumerate(states):
            if state:
                continue
            for stars in world.states[1:]:
                after = known.get((*states[:place], stars, *states[place + 1 :]))
                for key in before if after is not None else ():
                    moved = int(np.abs(after[key][0] - before[key][0]).sum())
                    worst[key] = max(worst.get(key, 0), moved)
    for key, (_, claimed, _) in before.items():
        bound = BOUNDS[key[0]] * (2 if key[1] == "both" else 1)
        of_values = world.each and not key[0].endswith("of numbers")
        assert worst[key] == claimed == bound * (CAP if of_values else 1), key


def less(state: State) -> Iterator[tuple[int, ...]]:
    """The same slot with one record less, whichever."""
    held = records(state)
    return (held[:place] + held[place + 1 :] for place in range(len(held)))


def moved_by_records(world: World, claimed: list[int]) -> dict[tuple[str, str], tuple[int, int]]:
    """By read: the most that one record more moves it in any graph, and what is claimed."""
    unit = Unit.EVENT if world.schema.temporal else Unit.EDGE
    known = {states: answers(world, states, unit, claimed) for states in world.every()}
    worst = {key: (0, bound) for key, (_, bound, _) in next(iter(known.values())).items()}
    for states, whole in known.items():
        for place, state in enumerate(states):
            for left in less(state):
                before = known[(*states[:place], left, *states[place + 1 :])]
                for key, (table, bound, _) in whole.items():
                    moved = int(np.abs(table - before[key][0]).sum())
                    worst[key] = max(worst[key], (moved, bound))
    return worst


@in_part("name", APART, 1)
def test_one_record_moves_no_table_by_more_than_is_claimed_whatever_the_cap(name: str, exact: list[int]):
    for (read, side), (moved, claimed) in moved_by_records(APART[name], exact).items():
        numbers = read.endswith("of numbers")
        assert claimed == BOUNDS[read] * (2 if side == "both" else 1) * (2 if numbers else 1)
        if numbers and read.startswith("node_sums"):
            assert 0 < moved <= claimed  # no two of the scores lie 2 K apart
        else:
            assert moved == claimed, (read, side)


@in_part("flaw", ["numbers", "sampled"], 1)
def test_numbers_that_count_once_and_sampled_records_move_tables_further(
    flaw: str, exact: list[int], monkeypatch: pytest.MonkeyPatch
):
    world = APART["bipartite"]
    if flaw == "numbers":
        monkeypatch.setattr("core.privacy.reads.edge_values.numbers_of_unit", edges_of_unit)
    else:  # a sample of one of an edge's two records, which one more may change

        def first(reads: EdgeValueReads, table: EdgeTable) -> EdgeTable:
            return counted(table, 1, False)

        monkeypatch.setattr(EdgeValueReads, "counted", first)
    assert any(moved > claimed for moved, claimed in moved_by_records(world, exact).values())


@pytest.mark.parametrize("unit", [Unit.PAIR, Unit.W_EVENT])
def test_records_are_apart_under_no_other_unit(unit: Unit):
    world = APART["in time"]
    reads, _ = world.reads(world.graph(((1,), (), (), ())), unit)
    with pytest.raises(NotAccepted, match="are apart"):
        reads.histogram(nano_epsilon=NANO, purpose="test")


def test_a_changed_value_alone_moves_tables_by_twice_as_much(exact: list[int]):
    world = WORLDS["bipartite"]
    before = answers(world, (1, 0, 0, 0), Unit.EDGE, exact)
    after = answers(world, (2, 0, 0, 0), Unit.EDGE, exact)
    moved = {key: int(np.abs(after[key][0] - before[key][0]).sum()) for key in before}
    assert max(moved.values()) == 5  # a score of -4 becomes 1
    assert all(moved[key] <= 2 * before[key][1] for key in before)
    assert moved["histogram", ""] == 2


@in_part("kept", ["in time", "each in time"], 1)
@pytest.mark.parametrize("unit", [Unit.PAIR, Unit.W_EVENT])
def test_what_all_edges_of_a_pair_move_is_what_their_cells_are_charged(
    kept: str, unit: Unit, exact: list[int]
):
    """Every graph, and every way in which one pair's edges of all steps may be others."""
    world = WORLDS[kept]
    known = {states: answers(world, states, unit, exact) for states in world.every()}
    worst = dict.fromkeys(next(iter(known.values())), 0.0)
    for states, before in known.items():
        for pair in range(len(world.pairs)):
            own = slice(pair * world.steps, (pair + 1) * world.steps)
            if any(states[own]):
                continue
            for held in itertools.product(world.states, repeat=world.steps):
                after = known[(*states[: own.start], *held, *states[own.stop :])]
                times = 1 if unit is Unit.PAIR else sum(map(bool, held))
                for key, (table, claimed, charged) in before.items():
                    assert charged == (1 if unit is Unit.PAIR else world.steps)
                    moved = int(np.abs(after[key][0] - table).sum())
                    assert moved <= claimed * times
                    worst[key] = max(worst[key], moved / claimed)
    # Both steps of a window, each of which is charged; of a pair no more counts than is charged once.
    assert set(worst.values()) == {1.0 if unit is Unit.PAIR else 2.0}


def test_a_pair_linked_both_ways_in_one_cell_counts_twice(exact: list[int]):
    world = World(directed=True, steps=1)
    for key, (_, claimed, charged) in answers(world, (0,) * 6, Unit.PAIR, exact).items():
        assert (claimed, charged) == (2 * BOUNDS[key[0]], 1)


def test_every_cell_is_charged_before_anything_is_read(monkeypatch: pytest.MonkeyPatch):
    world = WORLDS["in time"]
    reads, meter = world.reads(world.graph((1, 2, 3, 0)), Unit.EVENT)

    def unread(size: int) -> None:
        raise AssertionError(f"read after {len(meter.transcript)} charges")

    monkeypatch.setattr(reads, "_records", unread)
    for read in asked(reads, world.steps).values():
        before = len(meter.transcript)
        with pytest.raises(AssertionError, match=f"after {before + 2} charges"):
            read()


def test_a_read_beyond_the_plan_reads_nothing(monkeypatch: pytest.MonkeyPatch):
    world = WORLDS["bipartite"]
    reads, _ = world.reads(world.graph((1, 0, 0, 0)), Unit.EDGE, nano_epsilon=NANO)
    reads.histogram(nano_epsilon=NANO, purpose="all there is")
    monkeypatch.setattr(reads, "_records", lambda size: pytest.fail("read"))
    with pytest.raises(PlanExceeded):
        reads.histogram(nano_epsilon=1, purpose="one more")


def test_what_may_not_be_asked_is_refused():
    world = WORLDS["undirected"]
    graph = world.graph((1, 0, 0))
    reads, meter = world.reads(graph, Unit.EDGE)
    paid = {"nano_epsilon": NANO, "purpose": "test"}
    with pytest.raises(NotAccepted):
        reads.by_node(side="source", labels=LABELS, **paid)
    with pytest.raises(InvalidInput):
        reads.node_sums(side="both", scores=np.array([0, 1, 5000]), **paid)
    with pytest.raises(InvalidInput):
        reads.by_classes(sources=np.array([0, 1, 0]), targets=np.array([0, 0, 0]), labels=LABELS, **paid)
    with pytest.raises(InvalidInput):
        PrivateGraph(graph, meter).edge_values("rates", "price")
    assert not meter.transcript
    with pytest.raises(NotAccepted, match="one record"):
        PrivateGraph(graph, meter).edge_records("rates")


def test_noise_is_discrete_laplace_of_the_claimed_scale():
    """Means and mean absolute values of thousands of draws: off by six standard errors once in 10^8 runs."""
    world = WORLDS["undirected"]
    graph = world.graph((3, 0, 0))
    for key, truth, scale in (
        (("histogram", ""), [0, 0, 1], 1),
        (("node_sums", "both"), [2, 2, 0], 8),
        (("by_node", "both"), [0, 1, 0, 1, 0, 0], 2),
    ):
        reads, _ = world.reads(graph, Unit.EDGE, nano_epsilon=1000 * NANO)
        noise = np.concatenate([asked(reads, 1)[key]().ravel() - truth for _ in range(1000)])
        p = np.exp(-1 / scale)
        variance, absolute = 2 * p / (1 - p) ** 2, 2 * p / (1 - p * p)
        assert abs(noise.mean()) < 6 * np.sqrt(variance / len(noise))
        spread = np.sqrt(variance - absolute**2)
        assert abs(np.abs(noise).mean() - absolute) < 6 * spread / np.sqrt(len(noise))


def audited(runs: int, confidence: float) -> float:
    """A lower bound on epsilon of the node sums, from one edge of the largest score present or absent."""
    world = WORLDS["undirected"]

    def ends(graph: Graph, count: int) -> np.ndarray:
        sums = []
        for done in range(count):
            if done % 1000 == 0:  # a plan has an end
                reads, _ = world.reads(graph, Unit.EDGE, nano_epsilon=1000 * NANO)
            sums.append(reads.node_sums(side="both", scores=SCORES, nano_epsilon=NANO, purpose="test"))
        return -(np.array(sums)[:, :2].sum(axis=1).astype(float))

    neighbours = world.graph((1, 0, 0)), world.graph((0, 0, 0))
    return audit_epsilon(ends, *neighbours, runs=runs, confidence=confidence).lower_bound


def test_the_audited_epsilon_holds():
    assert audited(2000, SOUND) <= 1.0


@pytest.mark.audits
def test_scores_whose_sensitivity_is_claimed_for_one_end_are_caught(monkeypatch: pytest.MonkeyPatch):
    """The planted mistake: an undirected edge adds its score to two sums, and noise is for one."""
    true = mechanisms.discrete_laplace
    monkeypatch.setattr(
        mechanisms, "discrete_laplace", lambda values, l1, epsilon: true(values, l1 // 2, epsilon)
    )
    assert caught(audited, 1.0, 3000, SMALLER)


def audited_records(runs: int, confidence: float) -> float:
    """A lower bound on epsilon of the histogram, from an edge of two records of one value, there or not."""
    world = WORLDS["each"]

    def counts(graph: Graph, count: int) -> np.ndarray:
        found = []
        for done in range(count):
            if done % 1000 == 0:  # a plan has an end
                reads, _ = world.reads(graph, Unit.EDGE, nano_epsilon=1000 * NANO)
            found.append(reads.histogram(nano_epsilon=NANO, purpose="test")[0])
        return np.array(found, dtype=float)

    neighbours = world.graph(((1, 1), (), ())), world.graph(((), (), ()))
    return audit_epsilon(counts, *neighbours, runs=runs, confidence=confidence).lower_bound


def test_the_audited_epsilon_of_an_edge_of_several_records_holds():
    assert audited_records(2000, SOUND) <= 1.0


@pytest.mark.parametrize("numbers", [False, True])
def test_noise_of_records_apart_is_discrete_laplace_of_one_record_and_two_numbers(numbers: bool):
    """As above: means and mean absolute values, off by six standard errors once in 10^8 runs."""
    world, scale = APART["undirected"], 2 if numbers else 1
    graph = world.graph(((1, 1), (), ()))
    reads, _ = world.reads(graph, Unit.EDGE, nano_epsilon=1000 * NANO, numbers=numbers)
    truth = np.array([0, 1] if numbers else [2, 0, 0])
    paid = {"nano_epsilon": NANO, "purpose": "test"}
    noise = np.concatenate([reads.histogram(**paid) - truth for _ in range(1000)])
    p = np.exp(-1 / scale)
    variance, absolute = 2 * p / (1 - p) ** 2, 2 * p / (1 - p * p)
    assert abs(noise.mean()) < 6 * np.sqrt(variance / len(noise))
    spread = np.sqrt(variance - absolute**2)
    assert abs(np.abs(noise).mean() - absolute) < 6 * spread / np.sqrt(len(noise))


def test_a_slot_whose_records_count_as_one_is_caught(monkeypatch: pytest.MonkeyPatch):
    """The planted mistake: an edge's records are uncapped, and noise is for one."""
    monkeypatch.setattr("core.privacy.reads.edge_values.records_of_unit", edges_of_unit)
    assert caught(audited_records, 1.0, 3000, SMALLER)


@pytest.mark.parametrize("order", [2, 8])
def test_what_a_pair_pays_covers_its_edges_of_all_steps_at_every_order(order: int, exact: list[int]):
    """All of them carry one value: were a step charged at a time, curves would be added that are too low."""
    world = World(sides=(1, 1), steps=10)
    reads, meter = world.reads(world.graph((1,) * 10), Unit.PAIR)
    full = reads.histogram(nano_epsilon=NANO, purpose="test")
    none, _ = world.reads(world.graph((0,) * 10), Unit.PAIR)
    moved = int(np.abs(full - none.histogram(nano_epsilon=NANO, purpose="test")).sum())
    spent = tuple(Allotment(e.edge_type, e.step, e.event, e.purpose) for e in meter.transcript)
    told = PrivacyPlan("test", Unit.PAIR, None, 10, spent).spend("renyi", [order])[f"rdp/{order}"]
    assert laplace_divergence(moved, exact[-1], order) <= told / NANO
