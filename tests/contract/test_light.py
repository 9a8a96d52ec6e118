"""The engine without what only learned methods or only the service use: it imports neither, and says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.methods import registry
from tests.support.absent import LEARNING, SERVICE

ROOT = Path(__file__).resolve().parents[2]

FIRST_RELEASE = """
import graphveil as gv, networkx as nx
released = gv.synthesize(nx.karate_club_graph(), 2, budget=gv.Budget.unlimited(), progress=False)
edges = released.graph.to_networkx().number_of_edges()
told = {"method": released.report["provenance"]["method"], "edges": edges}
"""
WITHOUT = """
from tests.support import absent
absent.remove(*absent.LEARNING, *absent.SERVICE)
"""
COMPARED = """
found = gv.compare(nx.karate_club_graph(), ["dcsbm"], [1], public=True, suite="full", progress=False)
told["metrics"] = len({row["metric"] for row in found.rows})
"""
REFUSED = """
from graphveil.problems import NotAccepted
try:
    gv.synthesize(
        nx.karate_club_graph(), 2, method="thepuff", budget=gv.Budget.unlimited(), progress=False
    )
except NotAccepted as refusal:
    told["refused"] = refusal.message
"""
EVERY_METHOD = """
from core.methods import registry
from core.publishing import kernels
told = {"runnable": sorted(registry.runnable()), "common": sorted(registry.common())}
for name in told["runnable"]:
    for graph, unit in list(kernels._shapes(registry.get(name)))[:1]:
        kernels._publish(registry.get(name), graph, unit)
"""
CHOSEN = """
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods import choice, registry
from core.methods.base import PublicFacts
from core.privacy.units import Unit
schema = GraphSchema(node_types=(NodeType(count=5000),), edge_types=(EdgeType(directed=True),))
facts = PublicFacts(schema, Unit.EDGE, None, 10**8, 0, ("edge",))
told["every"] = choice.choose(facts, {"node": 5000}).method
told["had"] = choice.choose(facts, {"node": 5000}, choice.Request(had=registry.runnable())).method
"""


def said(*scripts: str, python: str = sys.executable, folder: Path = ROOT) -> dict:
    """What a process of its own told after the scripts."""
    script = "".join((*scripts, "\nimport json, sys\nprint(json.dumps(told))"))
    path = {"PYTHONPATH": str(ROOT)} if folder == ROOT else {}
    ran = subprocess.run(
        [python, "-c", script],
        cwd=folder,
        env={**os.environ, **path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    return dict(json.loads(ran.stdout.splitlines()[-1]))


def test_a_first_release_and_a_comparison_load_nothing_of_the_service_and_nothing_that_learns():
    told = said(WITHOUT, FIRST_RELEASE, COMPARED, REFUSED)
    assert told["method"] == "dcsbm"
    assert told["edges"] > 0
    assert told["metrics"] > 20
    assert "thepuff needs torch, not installed here: pip install 'graphveil[papers]'" in told["refused"]


@pytest.mark.audits
def test_every_method_that_names_no_library_runs_where_none_is():
    told = said(WITHOUT, EVERY_METHOD, CHOSEN)
    plain = sorted(name for name, each in registry.generators().items() if not each.needs)
    assert told["runnable"] == told["common"] == plain
    assert {"dcsbm", "anchored", "psgraph", "tmf"} <= set(plain)
    assert (told["every"], told["had"]) == ("hetesdg", "anchored")


def test_what_a_method_needs_is_a_library_that_the_light_engine_lacks():
    for name, each in registry.generators().items():
        assert set(each.needs) <= set(LEARNING), name
    assert not set(LEARNING) & set(SERVICE)


@pytest.mark.slow
def test_the_engine_of_the_index_is_light(tmp_path: Path, record_property):
    """In a fresh environment: its distributions, its size, and a first release."""
    python = str(tmp_path / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", tmp_path], check=True)
    before = time.monotonic()
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pinned = ["-c", str(ROOT / "constraints.txt")]
    subprocess.run([*install, *pinned, f"{ROOT}/client[engine]", str(ROOT)], check=True)
    seconds = time.monotonic() - before
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format", "json"], check=True, capture_output=True, text=True
    )
    names = {each["name"].lower().replace("_", "-") for each in json.loads(listed.stdout)}
    heavy = {
        "torch",
        "scikit-learn",
        "sympy",
        "fastapi",
        "celery",
        "redis",
        "sqlalchemy",
        "structlog",
        "kombu",
    }
    assert not names & heavy
    assert not [name for name in names if name.startswith(("opentelemetry", "psycopg", "starlette"))]
    size = sum(path.stat().st_size for path in (tmp_path / "lib").rglob("*") if path.is_file()) / 2**20
    assert len(names) <= 60
    assert size <= 1_400
    told = said(FIRST_RELEASE, python=python, folder=tmp_path)
    assert told["method"] == "dcsbm"
    for name, value in (("distributions", len(names)), ("mebibytes", size), ("seconds", seconds)):
        record_property(name, value)
    print(f"{len(names)} distributions, {size:.0f} MiB, installed in {seconds:.0f} s")
