"""Releases of small graphs of every sort of relation, made without a service: for tests of publishing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeIds, NodeType, Protection, TimeGrid
from core.graphs.stored.whole import write_graph
from core.methods.base import GraphKinds, Parameters, PublicFacts
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder
from core.privacy.accounting.plan import Allotment, GuaranteeKind, PrivacyPlan
from core.privacy.units import EDGE_WISE, Unit
from core.publishing import release
from core.publishing.spec import EvaluationSpec, ReleaseTask
from tests.support.methods import MadeUp

NANO = 10**9
USERS, GROUPS, STEPS = 40, 5, 3
SECRET = "withheld-diagnosis"


def schema(node_ids: NodeIds = NodeIds.PSEUDONYMOUS) -> GraphSchema:
    attributes = (
        Attribute(name="region", protection=Protection.PUBLIC),
        Attribute(name="diagnosis", protection=Protection.WITHHELD),
        Attribute(name="income", protection=Protection.PROTECTED),
    )
    return GraphSchema(
        node_types=(
            NodeType(name="user", count=USERS, attributes=attributes),
            NodeType(name="group", count=GROUPS),
        ),
        edge_types=(
            EdgeType(name="talks", source="user", target="user", temporal=True, once=True),
            EdgeType(name="knows", source="user", target="user"),
            EdgeType(name="near", source="user", target="user", public=True),
            EdgeType(name="joins", source="user", target="group"),
        ),
        time=TimeGrid(count=STEPS),
        node_ids=node_ids,
    )


def graph(seed: int, node_ids: NodeIds = NodeIds.PSEUDONYMOUS) -> Graph:
    """A random graph of every sort of relation; ``near`` and ``region`` are the same for all seeds."""
    rng, fixed = np.random.default_rng(seed), np.random.default_rng(0)
    people = NodeTable(
        USERS,
        pa.array([f"person-{i:02}@example.org" for i in range(USERS)]),
        {
            "region": pa.array([f"region-{i}" for i in range(USERS)]),
            "diagnosis": pa.array([SECRET] * USERS),
            "income": np.full(USERS, 123456789.25),
        },
    )
    edges = {
        "talks": EdgeTable(*rng.integers(0, USERS, (2, 150)), rng.integers(0, STEPS, 150)),
        "knows": EdgeTable(*rng.integers(0, USERS, (2, 80))),
        "near": EdgeTable(*fixed.integers(0, USERS, (2, 60))),
        "joins": EdgeTable(rng.integers(0, USERS, 50), rng.integers(0, GROUPS, 50)),
    }
    return Graph.build(schema(node_ids), {"user": people, "group": NodeTable(GROUPS)}, edges)


class Params(Parameters):
    extra_reads: int = 0


class Fixed(MadeUp):
    """Pays for one edge count per cell, and gives out a graph that was fixed beforehand."""

    name, title, summary, assurance = "fixed", "Fixed", "A test's generator.", "experimental"
    Params = Params
    accepts = GraphKinds(static=True, temporal=True, heterogeneous=True, bipartite=True)
    units = EDGE_WISE
    kinds = frozenset({GuaranteeKind.PURE})

    def __init__(self, sample: Graph, *, metered: bool = True) -> None:
        self._sample, self._metered = sample, metered

    def plan(self, params: Params, public: PublicFacts) -> PrivacyPlan:
        cells = [(name, step) for name in public.edge_types for step in public.schema.steps_of(name)]
        event = Pure(public.nano_epsilon, "laplace")
        allotments = tuple(Allotment(name, step, event, "edge count") for name, step in cells)
        return PrivacyPlan(self.name, public.unit, public.window, public.schema.steps, allotments)

    def fit(self, private, plan, params, progress):
        progress("fit", 0, 1)
        for allotment in plan.allotments * (self._metered + params.extra_reads):
            private.cell(allotment.edge_type, allotment.step).laplace(
                "edge_count", nano_epsilon=plan.cost().nano_epsilon, purpose="edge count"
            )
        return self

    def sample(self, rng, progress):
        progress("sample", 0, 1)
        return self._sample

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "model.json").write_text("{}")

    def load(self, folder: Path) -> Fixed:
        return self


def spec(generator: Any, of: GraphSchema, **changes: Any) -> ReleaseTask:
    values: dict[str, Any] = {
        "job_id": "job-1",
        "dataset_id": "dataset-1",
        "dataset_version": "version-1",
        "method": generator.name,
        "unit": Unit.EVENT,
        "nano_epsilon": NANO,
        "edge_types": ("talks", "knows"),
        "formats": ("csv", "graphml"),
        **changes,
    }
    if "plan" not in values:
        facts = PublicFacts(
            of,
            Unit(values["unit"]),
            values.get("window"),
            values["nano_epsilon"],
            values.get("delta_atto", 0),
            tuple(values["edge_types"]),
        )
        values["plan"] = generator.plan(generator.Params(**values.get("params", {})), facts).to_json()
    plan = values.pop("plan")
    values = {name: value for name, value in values.items() if value is not None}
    return ReleaseTask.model_validate({"release": values, "plan": plan})


def evaluation(**changes: Any) -> EvaluationSpec:
    """Of a release that is asked to be what is said."""
    own = {name: changes.pop(name) for name in EvaluationSpec.model_fields if name in changes}
    ids = {"job_id": "job-1", "dataset_id": "dataset-1", "dataset_version": "version-1"}
    return EvaluationSpec.model_validate(own | {"release": ids | changes})


def publish(generator: Any, original: Graph, out: Path, **changes: Any) -> list[tuple[str, int, int]]:
    write_graph(original, out / "original")
    calls: list[tuple[str, int, int]] = []
    release.publish(
        generator,
        out / "original",
        spec(generator, original.schema, **changes),
        out / "job",
        MemoryRecorder(),
        lambda *call: calls.append(call),
    )
    return calls


def public_of(out: Path) -> dict[str, Any]:
    return json.loads((out / "job" / "release" / "public.json").read_text())
