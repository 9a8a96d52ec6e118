"""The fitted model of a composition.

A model for each relation, and graphs sampled from them one by one. A folder holds ``composed.json`` and the
folder of each relation's own model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from core.errors import NotAccepted
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import GraphSchema
from core.methods import registry
from core.methods._shared.frame.resized import schema_of
from core.methods._shared.node_values.ends import Ends
from core.methods.base import (
    FittedModel,
    Method,
    Mixing,
    Progress,
    StreamState,
    Training,
    no_progress,
)
from core.privacy.entropy import Generator as Rng

FORMAT = 1
INDEX = "composed.json"


@dataclass(frozen=True)
class Fitted:
    """The model of some relations, and its method."""

    relations: tuple[str, ...]
    generator: Method
    model: FittedModel

    @property
    def mixing(self) -> Mixing | None:
        """Return how the model takes groups of nodes. None where its method does not."""
        return None if self.generator.mixing is None else self.generator.mixing()


@dataclass(frozen=True)
class ComposedModel(FittedModel):
    """Paid-for output of a composition, part by part.

    There is no other; ``nodes`` are the sizes of the universes.
    """

    schema: GraphSchema
    nodes: Mapping[str, int]
    parts: tuple[Fitted, ...]

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Sample each part's relations and join them to one graph. Each part has its own model."""
        edges: dict[str, EdgeTable] = {}
        for done, each in enumerate(self.parts):
            progress("sample", done, len(self.parts))
            drawn = each.model.sample(rng, no_progress)
            edges |= {name: drawn.edges[name] for name in each.relations}
        progress("sample", len(self.parts), len(self.parts))
        universes = {name: NodeTable(count) for name, count in self.nodes.items()}
        return Graph.build(self.schema, universes, edges)

    def training(self) -> Training:
        """Return what the parts say of how they were learned; curves stay with their methods."""
        return Training(notes=tuple(note for each in self.parts for note in each.model.training().notes))

    def save(self, folder: Path) -> None:
        """Write each part's model to its own folder below ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        text = {
            "format": FORMAT,
            "schema": self.schema.model_dump(mode="json"),
            "nodes": dict(self.nodes),
            "parts": [
                {"relations": list(each.relations), "method": each.generator.name} for each in self.parts
            ],
        }
        (folder / INDEX).write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")
        for place, each in enumerate(self.parts):
            each.model.save(folder / folder_of(place))


def resized(model: ComposedModel, origins: Mapping[str, np.ndarray]) -> ComposedModel:
    """Return the model over other nodes, the same for every part. NotAccepted where a part cannot."""
    parts = []
    for each in model.parts:
        if each.generator.resize is None:
            raise NotAccepted(
                f"{each.generator.name} draws over the nodes that it was fitted to", field="size"
            )
        parts.append(replace(each, model=each.generator.resize(each.model, origins)))
    nodes = {kind: len(rows) for kind, rows in origins.items()}
    return replace(model, schema=schema_of(model.schema, nodes), nodes=nodes, parts=tuple(parts))


def load(folder: Path) -> ComposedModel:
    """Read the model that :meth:`ComposedModel.save` wrote. ValueError where it is none."""
    text = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    if text.get("format") != FORMAT:
        raise ValueError("not a stored composition in a format that can be read")
    parts = []
    for place, row in enumerate(text["parts"]):
        generator = registry.get(row["method"])
        parts.append(Fitted(tuple(row["relations"]), generator, generator.load(folder / folder_of(place))))
    return ComposedModel(GraphSchema.model_validate(text["schema"]), text["nodes"], tuple(parts))


def folder_of(place: int) -> str:
    """Name the folder of the part at that place."""
    return f"part-{place}"


@dataclass(frozen=True)
class ComposedState:
    """A live stream's state after a snapshot, part by part."""

    states: Sequence[StreamState | None]

    def save(self, folder: Path) -> None:
        """Write each to a folder of its own below ``folder``."""
        for place, state in enumerate(self.states):
            if state is not None:
                (folder / folder_of(place)).mkdir(parents=True)
                state.save(folder / folder_of(place))


class MixingOfParts:
    """Groups of nodes, handed to each part's own model. Post-processing."""

    def ends(self, model: ComposedModel) -> dict[str, Ends]:
        """Return the paid degrees of every relation that has some. Not every method reads them."""
        found: dict[str, Ends] = {}
        for each in model.parts:
            if each.mixing is not None:
                own = each.mixing.ends(each.model)
                found |= {name: own[name] for name in each.relations}
        return found

    def communities(self, model: ComposedModel, relation: str) -> np.ndarray | None:
        """Return the labels that the relation's edges are sampled by. None where there are none."""
        (own,) = (each for each in model.parts if relation in each.relations)
        return None if own.mixing is None else own.mixing.communities(own.model, relation)

    def mixed(
        self, model: ComposedModel, groups: Mapping[str, np.ndarray], shares: Mapping[str, np.ndarray]
    ) -> ComposedModel:
        """Return the model with relations mixed by the same groups. Each has its own shares."""
        parts = []
        for each in model.parts:
            own = {name: share for name, share in shares.items() if name in each.relations}
            if own and each.mixing is not None:
                each = replace(each, model=each.mixing.mixed(each.model, groups, own))
            parts.append(each)
        return replace(model, parts=tuple(parts))
