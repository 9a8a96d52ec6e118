"""What one tenant's queue costs another: eighty free samples, and then somebody else's job.

    python -m benchmarks.fairness [--samples 80] [--nodes 500]

Starts an embedded stack with its one worker. One tenant publishes a model and asks for samples of it; another
submits a job, as it did while nobody else was there. Prints a Markdown table: seconds from the request to the
release, and how many samples had ended by then. Nothing of the limits on open jobs is left standing: the
order of claims is what is measured.
"""

from __future__ import annotations

import argparse
import os
import secrets
import statistics
import sys
import tempfile
import time
from pathlib import Path

from core.db.session import Database
from core.identity import service as identity
from core.identity.models import Role
from deploy.local.servers import free_port
from deploy.local.stack import Stack
from graphveil.sdk.client import Graphveil

METHOD = "dcsbm"
ALONE = 3
UNLIMITED = ("MAX_OPEN_JOBS", "MAX_OPEN_KEY_JOBS", "RATE_LIMIT_PER_MINUTE", "RATE_LIMIT_JOBS_PER_MINUTE")


def edges(folder: Path, nodes: int) -> Path:
    """A ring with chords, eight links a node; each call's is another."""
    steps = sorted({1 + secrets.randbelow(nodes // 2 - 1) for _ in range(16)})[:8]
    rows = (f"{node},{(node + step) % nodes}\n" for node in range(nodes) for step in steps)
    path = folder / f"{secrets.token_hex(4)}.csv"
    path.write_text("source,target\n" + "".join(rows), encoding="utf-8")
    return path


def ready(service: Graphveil, folder: Path, nodes: int) -> str:
    """The id of a dataset that jobs may be asked of."""
    schema = {"node_types": [{"count": nodes}], "edge_types": [{}]}
    dataset = service.register_dataset("ring", unit="edge", epsilon="90", graph_schema=schema)
    service.upload(dataset.id, edges(folder, nodes), part="edges")
    assert service.wait_ready(dataset.id).state == "ready"
    return dataset.id


def seconds(service: Graphveil, dataset_id: str) -> tuple[str, float]:
    """A job's id, and the time from its request to its release."""
    began = time.monotonic()
    job = service.submit(dataset_id, epsilon="1", method=METHOD, suite="quick", repeat=True)
    assert service.wait(job.id).state == "published"
    return job.id, time.monotonic() - began


def compared(service: Graphveil, job_id: str) -> None:
    """The job's comparison has ended: the worker is free."""
    service.wait_report(job_id)


def main() -> int:
    """One stack, two rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--samples", type=int, default=80)
    parser.add_argument("--nodes", type=int, default=500)
    given = parser.parse_args()
    for name in ("PORT", "METRICS_PORT", "EXPORTER_PORT"):
        os.environ[f"GRAPHVEIL_{name}"] = str(free_port())
    for name in UNLIMITED:
        os.environ[f"GRAPHVEIL_{name}"] = str(10**6)
    with tempfile.TemporaryDirectory(prefix="gv-fairness-") as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        with Stack(folder / "stack") as stack, Graphveil(stack.url, stack.token) as many:
            database = Database(stack.database_url, pool_size=1)
            with database.transaction() as session:
                roles = (Role.CURATOR, Role.REQUESTER)
                _, token = identity.create_key(session, tenant="other", name="k", roles=roles)
            database.dispose()
            with Graphveil(stack.url, token) as one:
                model, _ = seconds(many, ready(many, folder, given.nodes))
                compared(many, model)
                dataset = ready(one, folder, given.nodes)
                alone = []
                for _ in range(1 + ALONE):
                    job_id, took = seconds(one, dataset)
                    compared(one, job_id)
                    alone.append(took)
                del alone[0]  # kernels were compiled
                for number in range(given.samples):
                    many.sample(model, suite="quick", label=f"sample {number}")
                held = seconds(one, dataset)[1]
            states = [job.state for job in many.jobs() if job.id != model]
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
        print("| before another tenant's job | its seconds | samples that had ended |\n|---|---|---|")
        print(f"| nothing (median of {ALONE}) | {statistics.median(alone):.1f} | |")
        print(f"| {given.samples} free samples | {held:.1f} | {states.count('published')} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
