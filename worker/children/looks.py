"""What is measured of releases and methods: comparisons with the original, and audits."""

from __future__ import annotations

from pathlib import Path

from core.privacy.accounting.audited import AuditSpec
from core.publishing.audit import run_audit
from core.publishing.evaluate import run_evaluation
from core.publishing.spec import EvaluationSpec
from worker.sandbox import Channel


def evaluate(folder: Path, channel: Channel) -> None:
    """Compare ``folder/bundle`` with ``folder/graph`` in ``folder/out/curator.json``."""
    run_evaluation(
        graph_folder=folder / "graph",
        release_folder=folder / "bundle",
        spec=EvaluationSpec.model_validate_json((folder / "spec.json").read_bytes()),
        out=folder / "out",
        progress=channel.progress,
    )


def audit(folder: Path, channel: Channel) -> None:
    """Run the audit, and write its result. ``folder/spec.json`` describes it; the result goes to
    ``folder/out/audit.json``."""
    spec = AuditSpec.model_validate_json((folder / "spec.json").read_bytes())
    run_audit(spec, folder / "out", channel.progress)
