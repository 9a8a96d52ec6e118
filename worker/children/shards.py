"""Releases in parts: the fit, one shard, and the bundle that all of them make."""

from __future__ import annotations

import json
from pathlib import Path

from core.publishing.sharded import run_fit, run_join, run_shard
from core.publishing.spec import ReleaseTask
from worker.sandbox import Channel


def fit(folder: Path, channel: Channel) -> None:
    """Fit the graph in parts in ``folder/graph``. ``folder/spec.json`` says how; it goes to
    ``folder/out``."""
    task = ReleaseTask.model_validate_json((folder / "spec.json").read_bytes())
    run_fit(
        graph_folder=folder / "graph",
        task=task,
        out=folder / "out",
        recorder=channel,
        progress=channel.progress,
    )


def shard(folder: Path, channel: Channel) -> None:
    """Sample the shard of ``folder/spec.json``. It comes from ``folder/law``; ``result.json`` describes the
    part."""
    spec = json.loads((folder / "spec.json").read_bytes())
    part = run_shard(
        law=folder / "law",
        method=spec["method"],
        number=spec["number"],
        shards=spec["shards"],
        out=folder / "out",
        degrees=folder / "out" / "degrees",
    )
    (folder / "result.json").write_text(json.dumps({"report": vars(part)}), encoding="utf-8")


def join(folder: Path, channel: Channel) -> None:
    """Complete the release bundle in ``folder/out``. Its parts are there, as ``folder/spec.json`` says."""
    task = ReleaseTask.model_validate_json((folder / "spec.json").read_bytes())
    parts = json.loads((folder / "kept" / "parts.json").read_bytes())
    run_join(kept=folder / "kept", parts=parts, task=task, out=folder / "out", progress=channel.progress)
