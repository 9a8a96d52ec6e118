"""Small graphs for releases that are made without a service."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

import graphveil as gv


@pytest.fixture
def karate() -> nx.Graph:
    return nx.karate_club_graph()


@pytest.fixture
def budget(tmp_path: Path) -> gv.Budget:
    return gv.Budget(tmp_path / "budget.json", epsilon=4)
