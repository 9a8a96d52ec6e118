"""Small public typed graphs for the learning half of thepuff."""

from __future__ import annotations

import numpy as np

from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from papers._shared.walks.layout import Layout
from papers.thepuff.snapshots import Snapshots

USERS, ITEMS, KINDS, STEPS = 24, 20, 3, 2

SCHEMA = GraphSchema(
    node_types=(NodeType(name="u"), NodeType(name="i"), NodeType(name="k")),
    edge_types=(
        EdgeType(name="u-i", source="u", target="i", directed=True, temporal=True),
        EdgeType(name="i-k", source="i", target="k", directed=True),
    ),
    time=TimeGrid(count=STEPS),
)
LAYOUT = Layout.of(SCHEMA, {"u": USERS, "i": ITEMS, "k": KINDS}, ("u-i", "i-k"))


def keys(rng: np.random.Generator, *, blocks: bool, chance: float = 0.5) -> dict:
    """The cells' keys: users choose items of their own half (``blocks``), or any items."""
    found = {}
    user, item = np.divmod(np.arange(USERS * ITEMS), ITEMS)
    alike = (user % 2) == (item % 2)
    p = np.where(alike, chance, 0.0) if blocks else np.full(len(user), chance / 2)
    for step in range(STEPS):
        found["u-i", step] = np.flatnonzero(rng.random(len(user)) < p)
    found["i-k", None] = np.arange(ITEMS) * KINDS + np.arange(ITEMS) % KINDS
    return found


def snapshots(cells: dict, degrees: dict | None = None) -> Snapshots:
    """The snapshots of these keys, with their own numbers as counts."""
    counts = {cell: len(cells[cell]) for cell, _ in LAYOUT.cells(True)}
    return Snapshots.of(LAYOUT, cells, counts, degrees)
