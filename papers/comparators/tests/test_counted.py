"""Edges drawn from counts of generated pairs."""

import numpy as np

from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.privacy.entropy import public_generator
from papers._shared.walks.counted import Counted, _systematic
from papers._shared.walks.layout import Layout
from papers._shared.walks.links import BACK, FORWARD, Labels

USERS, FILMS = 6, 8
SEES, FOLLOWS, JOB = "sees", "follows", "works"


def labels(typed: bool, **facts) -> Labels:
    """Users 0 to 5, films 6 to 13, jobs 14 and 15; two steps."""
    sizes = {"user": USERS, "film": FILMS, "job": 2}
    schema = GraphSchema(
        node_types=tuple(NodeType(name=name, count=count) for name, count in sizes.items()),
        edge_types=(
            EdgeType(name=SEES, source="user", target="film", temporal=True, **facts),
            EdgeType(name=FOLLOWS, source="user", target="user", directed=True, temporal=True),
            EdgeType(name=JOB, source="user", target="job", functional=True),
        ),
        time=TimeGrid(count=2),
    )
    return Labels(Layout.of(schema, sizes, (SEES, FOLLOWS, JOB)), typed)


def pairs(of: Labels, *links: tuple[str, int | None, int, int, int]) -> Counted:
    """Walks of one link: relation, step, direction, and both nodes."""
    label = np.array([[3 * of.groups[name, step] + way] for name, step, way, _, _ in links])
    return Counted.none(of).with_walks(label, np.array([[left, right] for *_, left, right in links]))


def drawn(counted: Counted, wanted: dict[int, int], seed: int = 1):
    keys = counted.drawn(wanted, public_generator(seed))
    return {cell: found.tolist() for cell, found in keys.items() if len(found)}


def test_a_pair_counts_where_its_label_says_and_its_types_agree():
    of = labels(True)
    counted = pairs(
        of,
        (SEES, 0, FORWARD, 2, 7),
        (SEES, 0, BACK, 7, 2),  # the same edge
        (SEES, 1, BACK, 2, 7),  # a user cannot be seen
        (FOLLOWS, 1, BACK, 3, 4),
        (FOLLOWS, 1, FORWARD, 3, 3),
    )
    assert counted.times.tolist() == [2, 1]
    every = dict.fromkeys(of.groups.values(), 5)
    assert drawn(counted, every) == {(SEES, 0): [2 * FILMS + 1], (FOLLOWS, 1): [4 * USERS + 3]}
    assert counted.short(every) == 5 * len(every) - 2


def test_without_types_a_pair_counts_in_every_relation_of_its_step_that_joins_it():
    of = labels(False)
    either, ahead = 3 * 1, 3 * 1 + FORWARD
    label = np.array([[either], [either], [ahead], [either], [3 * 2]])
    nodes = np.array([[7, 2], [2, 7], [3, 4], [3, 4], [5, 14]])  # a pair of users needs a direction
    counted = Counted.none(of).with_walks(label, nodes)
    found = drawn(counted, {0: 1, 1: 2, 2: 1})
    assert found == {(SEES, 1): [2 * FILMS + 1], (FOLLOWS, 1): [3 * USERS + 4], (JOB, None): [5 * 2]}


def test_declared_facts_leave_a_pair_one_step_and_a_source_one_target():
    of = labels(True, once=True)
    links = [(SEES, step, FORWARD, user, film) for step in (0, 1) for user in range(6) for film in (6, 9)]
    links += [(JOB, None, FORWARD, user, job) for user in range(6) for job in (14, 14, 14, 15)]
    counted = pairs(of, *links)
    found = drawn(counted, dict.fromkeys(of.groups.values(), 100))
    assert sorted(found[SEES, 0] + found[SEES, 1]) == sorted(u * FILMS + f for u in range(6) for f in (0, 3))
    assert [key // 2 for key in found[JOB, None]] == list(range(6))


def test_every_generated_node_gets_an_edge_first_and_the_number_is_kept():
    of = labels(True)
    links = [(SEES, 0, FORWARD, 0, 6 + film) for film in range(FILMS)] * 50
    links += [(SEES, 0, FORWARD, user, 6) for user in range(USERS)]
    counted, group = pairs(of, *links), of.groups[SEES, 0]
    for wanted in (3, USERS + FILMS - 2, 20):
        found = drawn(counted, {group: wanted}, seed=wanted)[SEES, 0]
        assert len(found) == min(wanted, USERS + FILMS - 1)
    users, films = np.divmod(drawn(counted, {group: USERS + FILMS - 2})[SEES, 0], FILMS)
    assert set(users) == set(range(USERS))
    assert set(films) == set(range(FILMS))


def test_chances_go_by_counts_up_to_one():
    times, certain = np.array([1, 2, 4, 8, 100]), np.zeros(5, dtype=bool)
    rng, seen, looks = public_generator(3), np.zeros(5), 4000
    for _ in range(looks):
        found = _systematic(times, certain, 3, rng)
        assert len(found) == 3
        seen[found] += 1
    # The last for certain, then the fourth, and one of the others by 1 : 2 : 4.
    np.testing.assert_allclose(seen / looks, [1 / 7, 2 / 7, 4 / 7, 1, 1], atol=0.03)
