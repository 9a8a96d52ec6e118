"""What a small child costs: of a fork server that has the libraries loaded, and of one that has not.

    python -m benchmarks.children [--children 20]

Each child releases the graph of the drain's smallest job (30 nodes, ``edgerand``), confined as in a worker.
Prints CPU seconds and peak memory a child, medians, and what the servers hold.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from unittest import mock

from core.graphs.stored.whole import write_graph
from core.methods import registry
from core.methods.base import PublicFacts
from core.privacy.units import Unit
from core.publishing.kernels import made_up
from core.publishing.spec import ReleaseTask
from worker import warm
from worker.child import Child

METHOD, NANO_EPSILON = "edgerand", 10**9


def lay_out(folder: Path) -> None:
    """``folder`` is what a release's child is given."""
    graph, method = made_up(), registry.get(METHOD)
    names = tuple(relation.name for relation in graph.schema.edge_types)
    facts = PublicFacts(graph.schema, Unit.EDGE, None, NANO_EPSILON, 0, names)
    release = {
        **{"job_id": "job", "dataset_id": "dataset", "dataset_version": "version", "method": METHOD},
        **{"unit": Unit.EDGE, "nano_epsilon": NANO_EPSILON, "edge_types": names, "formats": ("csv",)},
    }
    plan = method.plan(method.Params(), facts).to_json()
    task = ReleaseTask.model_validate({"release": release, "plan": plan})
    folder.mkdir()
    write_graph(graph, folder / "graph")
    (folder / "spec.json").write_text(task.model_dump_json())


def released(folder: Path) -> tuple[float, int]:
    """CPU seconds and peak bytes of one child. RuntimeError where it fails."""
    with Child("release", folder) as child:
        while (code := child.exit_code) is None:
            for message in child.messages(0.1):
                if message["type"] == "open":
                    child.answer({"opened": True})
                elif message["type"] == "meter":
                    child.answer({"recorded": message["entry"]["sequence"]})
    if code != 0:
        raise RuntimeError((folder / "output").read_text())
    return child.used["cpu_seconds"], child.used["peak_bytes"]


def main() -> None:
    """The table is printed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--children", type=int, default=20)
    asked = parser.parse_args()
    print("| server | CPU s a child | peak MiB of a child | private MiB of the server | CPU s of its start |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="gv-children-", dir="/tmp") as name:
        for title, options in (("nothing loaded", ()), ("loaded", ("--preload",))):
            with mock.patch.object(warm, "COMMAND", (*warm.COMMAND, *options)):
                found = []
                for number in range(asked.children + 1):
                    lay_out(Path(name) / f"{title}-{number}")
                    found.append(released(Path(name) / f"{title}-{number}"))
                seconds, peak = (statistics.median(each) for each in zip(*found[1:], strict=True))
                pid = warm.server().pid
                status = Path(f"/proc/{pid}/status").read_text()
                held = int(status.partition("RssAnon:")[2].split()[0]) / 1024
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                own = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
                print(f"| {title} | {seconds:.2f} | {peak / 2**20:.0f} | {held:.0f} | {own:.2f} |")
                warm.stop()
    print(f"load average {os.getloadavg()}, {os.cpu_count()} cores, {time.strftime('%H:%M', time.gmtime())}")


if __name__ == "__main__":
    main()
