"""The api runs without the libraries that only a worker has, and its client without the service."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WORKER_ONLY = ("torch", "networkit", "polars", "numba", "networkx", "pyarrow", "scipy", "opendp", "randomgen")

BLOCK = """
import sys
for name in {names!r}:
    sys.modules[name] = None  # importing it raises ImportError
"""

LOADED = """
loaded = sorted(name for name in {names!r} if name in sys.modules)
assert not loaded, loaded
"""


def run(script: str) -> None:
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_app_and_what_it_knows_of_methods_and_formats_load_without_a_workers_libraries():
    # Nor the way to a collector, which only a process that traces needs.
    names = (*WORKER_ONLY, "core.tracing.recorder", "opentelemetry.exporter")
    script = """
from core.workflows.jobs import queries
from core.graphs import formats
methods = {method.name for method in queries.methods()}
assert "psgraph" in methods, methods
assert {"csv", "graphml", "parquet"} <= set(formats.names())
"""
    loads = "import sys, api.app, api.__main__, api.admin.keys, api.serve.serving\n"
    run(loads + LOADED.format(names=names) + BLOCK.format(names=WORKER_ONLY) + script)


def test_the_client_loads_without_the_service():
    names = ("sqlalchemy", "fastapi", "celery", "redis", "obstore", "numpy", *WORKER_ONLY)
    run("import sys, graphveil.cli.app, graphveil.sdk.client\n" + LOADED.format(names=names))
