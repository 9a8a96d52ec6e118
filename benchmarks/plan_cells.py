"""What planning costs as relations times steps grow: CPU seconds and peak memory of a dry run's own part.

    python -m benchmarks.plan_cells --relations 100 --steps 1000

Plan, cost, amounts and digest, as a dry run asks for them; each size in a process of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time

from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods import registry
from core.methods.base import PublicFacts
from core.privacy.units import Unit

EPSILON_NANO = 10**12


def _facts(relations: int, steps: int, unit: Unit) -> PublicFacts:
    names = tuple(f"r{number}" for number in range(relations))
    schema = GraphSchema(
        node_types=(NodeType(name="node", count=100),),
        edge_types=tuple(EdgeType(name=name, source="node", target="node", temporal=True) for name in names),
        time=TimeGrid(start=0, width=1, count=steps),
    )
    return PublicFacts(schema, unit, 10 if unit is Unit.W_EVENT else None, EPSILON_NANO, 0, names)


def _dry_run(method: str, relations: int, steps: int, unit: Unit) -> None:
    generator, facts = registry.get(method), _facts(relations, steps, unit)
    params = generator.Params()
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    plan = generator.plan(params, facts)
    planned = time.process_time()
    plan.cost()
    plan.spend("basic")
    digest = plan.digest()
    ended = time.process_time()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident
    print(
        f"{method:9} {unit:8} {relations:5} x {steps:5}  plan {planned - begun:6.2f} s"
        f"  all {ended - begun:6.2f} s  {grown / 1024:7.1f} MiB  {digest[:12]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--relations", type=int, default=100)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--methods", nargs="+", default=["edgerand", "keyframe"])
    chosen = parser.parse_args()
    for method in chosen.methods:
        work = (method, chosen.relations, chosen.steps, Unit.W_EVENT)
        child = multiprocessing.get_context("spawn").Process(target=_dry_run, args=work)
        child.start()
        child.join()


if __name__ == "__main__":
    main()
