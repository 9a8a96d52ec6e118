"""CPU seconds and peak memory of a step of keyframe (fit and sample), with and without a key frame, by size.

    python -m benchmarks.keyframe_scale                  all sizes, each in its own process
    python -m benchmarks.keyframe_scale 1000000 3000000  one size

Snapshots are generated: power-law degrees, planted communities. The stream is live: every step stores its
state, and the next one reads it. CPU time is user and system time of all threads, beyond imports and the
compilation of kernels (a small stream goes first). Peak memory is that of the whole process.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = ((5_000, 10_000), (20_000, 60_000), (200_000, 600_000), (1_000_000, 3_000_000))
BARS = {5_000: 0.1, 1_000_000: 60.0}  # CPU seconds of a step
WINDOW = 10


def ticks(nodes: int, edges: int, steps: int) -> list[float]:
    """CPU seconds of each step, of which the first has a key frame."""
    from benchmarks.graphs import community_graph
    from core.graphs.graph import EdgeTable, Graph, NodeTable
    from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
    from core.methods.base import PublicFacts, no_progress
    from core.methods.keyframe import GENERATOR, KeyframeParams
    from core.privacy.accounting.meter import MemoryRecorder, Meter
    from core.privacy.entropy import noise_generator
    from core.privacy.session.private_graph import Before, PrivateGraph
    from core.privacy.units import Unit

    ends = community_graph(nodes, edges).edges["edge"]
    schema = GraphSchema(
        node_types=(NodeType(count=nodes),), edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=1)
    )
    table = EdgeTable(ends.source, ends.target, ends.source * 0)
    graph = Graph.build(schema, {"node": NodeTable(nodes)}, {"edge": table})
    params, found, folder = KeyframeParams(), [], None
    before: Before | None = None
    with tempfile.TemporaryDirectory() as scratch:
        for tick in range(steps):
            started = time.process_time()
            facts = PublicFacts(schema, Unit.W_EVENT, WINDOW, 1_000_000_000, 0, ("edge",), tick)
            plan = GENERATOR.plan(params, facts)
            session = PrivateGraph(graph, Meter(plan, MemoryRecorder()), before=before)
            model, state = GENERATOR.step(session, plan, params, folder, no_progress)
            model.sample(noise_generator(), no_progress)
            folder = Path(scratch, str(tick))
            assert state is not None
            state.save(folder)
            before = Before(graph, session.aside.left(0))
            found.append(time.process_time() - started)
    return found


def measure(nodes: int, edges: int) -> None:
    """One line for that size, after a warm-up."""
    ticks(2_000, 5_000, 2)
    idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    first, *others = ticks(nodes, edges, 3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    bar = BARS.get(nodes)
    print(
        f"{nodes:>9} nodes {edges:>9} edges  key frame {first:7.3f} s  other step {sum(others) / 2:7.3f} s"
        f"  peak {peak:6.0f} MB (before: {idle:.0f})" + ("" if bar is None else f"  bar {bar} s")
    )


def main() -> None:
    if len(sys.argv) == 3:
        measure(int(sys.argv[1]), int(sys.argv[2]))
        return
    for nodes, edges in SIZES:
        command = [sys.executable, "-m", "benchmarks.keyframe_scale", str(nodes), str(edges)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
