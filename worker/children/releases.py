"""Releases: of a graph in memory, of a model that was fitted before, and from declared facts alone."""

from __future__ import annotations

from pathlib import Path

from core.graphs.schema import GraphSchema
from core.publishing.declared import run_declared
from core.publishing.release import run_release
from core.publishing.sample import run_sample
from core.publishing.spec import ReleaseTask
from worker.sandbox import Channel


def release(folder: Path, channel: Channel) -> None:
    """Write the release bundle to ``folder/out``. It is that of ``folder/spec.json`` and ``folder/graph``."""
    task = ReleaseTask.model_validate_json((folder / "spec.json").read_bytes())
    previous = folder / "previous"
    run_release(
        graph_folder=folder / "graph",
        task=task,
        out=folder / "out",
        recorder=channel,
        progress=channel.progress,
        previous=previous if previous.is_dir() else None,
    )


def sample(folder: Path, channel: Channel) -> None:
    """Write the release bundle of a further sample. It is that of ``folder/spec.json``, sampled from
    ``folder/source``, to ``folder/out``."""
    task = ReleaseTask.model_validate_json((folder / "spec.json").read_bytes())
    run_sample(source=folder / "source", task=task, out=folder / "out", progress=channel.progress)


def declared(folder: Path, channel: Channel) -> None:
    """Write the bundle of a graph from declared facts to ``folder/out``. They are ``folder/spec.json`` and
    ``folder/schema.json``: the folder holds nothing else."""
    task = ReleaseTask.model_validate_json((folder / "spec.json").read_bytes())
    schema = GraphSchema.model_validate_json((folder / "schema.json").read_bytes())
    run_declared(schema=schema, task=task, out=folder / "out", progress=channel.progress)
