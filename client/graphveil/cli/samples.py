"""The command that draws again from a published job's model."""

from __future__ import annotations

import typer

from graphveil.cli.console import service
from graphveil.cli.jobs import (
    Format,
    JobId,
    Key,
    Label,
    Nodes,
    Seed,
    Suite,
    Timeout,
    Wait,
    followed,
    size,
)
from graphveil.sdk.transport import given


def sample(
    context: typer.Context,
    job_id: JobId,
    format: Format = None,
    seed: Seed = None,
    suite: Suite = None,
    label: Label = None,
    nodes: Nodes = None,
    key: Key = None,
    wait: Wait = False,
    timeout: Timeout = None,
) -> None:
    """Draw one more graph from the model of a published job. It is charged nothing."""
    request = given({"formats": format or None, "seed": seed, "suite": suite, "label": label})
    request |= given({"size": size(nodes)})
    with service(context) as graphveil:
        made = graphveil.sample(job_id, idempotency_key=key, **request)
        followed(context, graphveil, made, wait, timeout)
