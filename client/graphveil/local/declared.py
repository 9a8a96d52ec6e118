"""A graph made from a public schema. It takes no data and no budget."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphveil.amounts import plain
from graphveil.local import engine
from graphveil.local.progress import shown
from graphveil.local.release import Release
from graphveil.local.synthesis import Schema, schema_of
from graphveil.problems import InvalidInput


def declared(
    schema: Schema,
    *,
    nodes: Mapping[str, int] | None = None,
    parameters: Mapping[str, Any] | None = None,
    formats: Sequence[str] = (),
    seed: int | None = None,
    progress: bool = True,
) -> Release:
    """Make a graph from declared facts, at epsilon 0.

    It serves to write programs before data are approved.

    ``schema``: as the service shows it, a mapping or the path of a JSON file. ``nodes``: how many of each
    node type, where the schema does not say. ``parameters``: by relation (``*``: every other)
    ``mean_degree``, ``degrees`` (``poisson``, ``exponential`` or ``power_law``), and ``mixing``:
    ``{"relations": {"knows": {"mean_degree": 8, "degrees": "power_law"}}}``. Protected attributes with
    declared values are uniform over them. Public relations and attributes are left out: only the data say
    them.

        >>> schema = {"node_types": [{"name": "node", "count": 50}], "edge_types": [{"name": "knows"}]}
        >>> made = declared(schema, progress=False)
        >>> made.report["guarantee"]["epsilon"]
        '0'

    Raises EngineMissing, and InvalidInput, NotAccepted and UnknownFormat with the field to mend.
    """
    found = schema_of(schema)
    if found is None:
        raise InvalidInput("a schema is what the graph is made from", field="schema")
    said = dict(parameters or {})
    if nodes:
        said["nodes"] = {**said.get("nodes", {}), **nodes}
    make = engine.part("publishing.declared").make_declared
    kept = tempfile.TemporaryDirectory(prefix="graphveil-release-")
    target = Path(kept.name) / "release"
    with shown(progress) as tell:
        make(
            found,
            plain(said),
            target,
            tell,
            formats=list(formats),
            seed=seed,
        )
    return Release(target, temporary=kept)
