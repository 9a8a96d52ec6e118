"""One audit of a method and its half-noise copy. Both are run many times on two neighbouring canary graphs.

No private data is touched, and nothing is spent. What passing means, and what not: docs/audits.md.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from core.graphs.graph import Graph
from core.methods.base import Progress
from core.privacy.accounting.audit import CONFIDENCE, AuditResult, audit_epsilon
from core.privacy.accounting.audited import AuditSpec
from core.privacy.accounting.events import NANO
from core.privacy.accounting.plan import ATTO, PrivacyPlan
from core.publishing import bundle
from core.publishing.audit_targets import AuditTarget, target_of

RESULT = "audit.json"
CHUNK = 200
"""Runs between two reports of progress."""


def run_audit(spec: AuditSpec, out: Path, progress: Progress) -> dict[str, Any]:
    """Run the audit; write and return its result. It goes to ``out/audit.json``: see docs/audits.md for its
    fields.

    Stages ``audit`` and ``control``, in runs. Time is that of 4 * runs runs.
    """
    target = target_of(spec)
    found = judged(spec, target, progress)
    out.mkdir(parents=True, exist_ok=True)
    bundle.write_json(out / RESULT, found)
    return found


def judged(spec: AuditSpec, target: AuditTarget, progress: Progress) -> dict[str, Any]:
    """Judge one target. The promise is the plan's cost, for the method and for its copy alike."""
    cost = target.plan.cost()
    promised = (cost.nano_epsilon or 0) / NANO
    delta = cost.delta_atto / ATTO
    result = _measured(target, target.plan, spec.runs, delta, "audit", progress)
    control = _measured(target, target.control, spec.runs, delta, "control", progress)
    # A lower bound above the promise refutes it; the copy has half the noise, so that its bound should.
    passed, caught = result.lower_bound <= promised, control.lower_bound > promised
    return {
        "method": spec.method,
        "parameters": spec.params,
        "unit": str(target.plan.unit),
        "window": target.plan.window,
        "nano_epsilon": cost.nano_epsilon,
        "delta_atto": cost.delta_atto,
        "runs": spec.runs,
        "confidence": CONFIDENCE,
        "lower_bound": result.lower_bound,
        "event": result.event,
        "passed": passed,
        "control": {"lower_bound": control.lower_bound, "caught": caught},
        # An audit that does not see half the noise says nothing by passing.
        "verdict": "failed" if not passed else "passed" if caught else "inconclusive",
    }


def _measured(
    target: AuditTarget, plan: PrivacyPlan, runs: int, delta: float, stage: str, progress: Progress
) -> AuditResult:
    run = _counting(lambda graph: target.once(graph, plan), stage, 2 * runs, progress)
    return audit_epsilon(run, target.graph, target.neighbour, runs=runs, delta=delta)


def _counting(
    once: Callable[[Graph], np.ndarray], stage: str, total: int, progress: Progress
) -> Callable[[Graph, int], np.ndarray]:
    """Wrap ``once`` as the harness takes it, one row for each run; progress counts over both worlds."""
    done = 0
    progress(stage, 0, total)

    def run(graph: Graph, count: int) -> np.ndarray:
        nonlocal done
        rows = []
        for _ in range(count):
            rows.append(np.atleast_1d(once(graph)))
            done += 1
            # Not at each run: a report costs more than a small run does.
            if done % CHUNK == 0 or done == total:
                progress(stage, done, total)
        return np.stack(rows)

    return run
