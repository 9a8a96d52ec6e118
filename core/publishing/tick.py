"""One snapshot of a live stream. Here stands what it takes over from the last published one, and what it
leaves.

A folder ``previous`` holds ``state/``, where the generator left one, and ``alignment.parquet``. The first is
output already paid for, with what the snapshot's charge set aside for a read of it and the next one; the
second keeps the nodes' names, so that a reader can follow them from step to step. The names are drawn once
for a stream and do not depend on any edge. Where the plan reads both snapshots together and the one before
this was published, ``graph/`` is that snapshot as it was received.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import NotAccepted
from core.methods.base import FittedModel, Method, Progress, StreamState
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.session.private_graph import Before, PrivateGraph
from core.publishing import bundle
from core.publishing.original import read_original
from core.publishing.spec import ReleaseSpec, Tick

ALIGNMENT = "alignment.parquet"
STATE = "state"
GRAPH = "graph"
ASIDE = "set_aside.json"


def fitted(
    spec: ReleaseSpec,
    generator: Method,
    graph: PrivateGraph,
    plan: PrivacyPlan,
    params: Any,
    previous: Path | None,
    progress: Progress,
) -> tuple[FittedModel, StreamState | None]:
    """Fit a whole graph, or one snapshot. The latter comes with what the next one may know. At the plan's
    cost."""
    if not isinstance(spec, Tick):
        return generator.fit(graph, plan, params, progress), None
    if generator.step is None:
        raise NotAccepted(f"{generator.name} does not publish live streams", field="method")
    # The first snapshot has nothing before it; a method may leave nothing.
    state = None if previous is None else previous / STATE
    carried = state if state is not None and state.is_dir() else None
    return generator.step(graph, plan, params, carried, progress)


def kept_order(previous: Path | None) -> dict[str, np.ndarray] | None:
    """Read the last snapshot's order of nodes. The last published one gave it; None where there is none
    yet."""
    if previous is None or not (previous / ALIGNMENT).is_file():
        return None
    return bundle.read_alignment(previous / ALIGNMENT)


def before_of(previous: Path | None, plan: PrivacyPlan) -> Before | None:
    """Open the snapshot before this one, and what it set aside. None where the plan does not look back, or
    that one was not published: public facts, whatever either holds.
    """
    if previous is None or not plan.looks_back or not (previous / GRAPH).is_dir():
        return None
    held = previous / STATE / ASIDE
    aside = json.loads(held.read_text(encoding="utf-8")) if held.is_file() else {}
    return Before(read_original(previous / GRAPH, snapshot=True, protected_values=False), aside)


def save_state(state: StreamState | None, aside: Mapping[str, int], folder: Path) -> None:
    """Write what the next snapshot may know. Where that is anything, it goes to ``folder/state``.

    ``aside``: what the snapshot was charged for a read with the next, by relation.
    """
    if state is not None:
        # Made anew: a folder that is there already would be another snapshot's.
        (folder / STATE).mkdir(parents=True)
        state.save(folder / STATE)
        (folder / STATE / ASIDE).write_text(json.dumps(dict(aside)) + "\n", encoding="utf-8")
