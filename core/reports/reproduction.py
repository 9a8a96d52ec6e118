"""The command that requests a release again. It comes from public provenance and parameters only."""

from __future__ import annotations

import json
import shlex

from core.reports.model import PublicPart


def command(public: PublicPart) -> str:
    """Write a ``graphveil submit`` command line. It comes with every argument quoted for a POSIX shell.

    It asks for the same method, parameters and relations at the price that was charged. A second release
    draws new noise and is charged again, which is why it says ``--repeat``. Where there was no guarantee,
    epsilon is left for the caller to say.
    A snapshot of a live stream is published once: its command shows the stream. A further sample's command
    draws one more from the same model, which costs nothing, as another graph from declarations does.
    """
    provenance, guarantee = public.provenance, public.guarantee
    if provenance.sample_of is not None:
        return " ".join(("graphveil", "sample", shlex.quote(provenance.sample_of)))
    if provenance.stream_id is not None:
        return " ".join(("graphveil", "stream", "show", shlex.quote(provenance.stream_id)))
    words = ["graphveil", "submit", provenance.dataset_id]
    unread = guarantee.kind == "unread"
    if not unread:
        # Without a guarantee the release has no epsilon, but the request takes one: a word to fill in.
        words += ["--epsilon", guarantee.epsilon or "EPSILON"]
    if guarantee.delta not in (None, "0"):
        words += ["--delta", str(guarantee.delta)]
    words += ["--method", provenance.method]
    for name, value in public.parameters.items():
        if name == "edge_types" and isinstance(value, list):
            for relation in value:
                words += ["--edge-type", str(relation)]
        elif value is not None:
            words += ["--parameter", f"{name}={json.dumps(value, allow_nan=False)}"]
    if provenance.seed is not None:
        words += ["--seed", str(provenance.seed)]
    # Otherwise the same request is refused, and names this job.
    if not unread:
        words.append("--repeat")
    return " ".join(shlex.quote(word) for word in words)


def again(public: PublicPart) -> str:
    """Say what the command does and costs. What would cost nothing is said, too, in plain words."""
    if public.provenance.sample_of is not None:
        return (
            "That draws one more graph from the same model, under the same promise, and is charged nothing."
        )
    if public.guarantee.kind == "unread":
        return "That draws another graph from the same declarations, and is charged nothing."
    price = (
        "A second release draws new noise, and is charged again. `graphveil plan` with the same arguments "
        "shows the price and spends nothing."
    )
    if public.provenance.stream_id is not None:
        return price
    return f"{price} `graphveil sample` with this job's id draws from the same model again, at no charge."
