"""The fitted model of a composition: a model for each relation, and graphs drawn from them one by one.

A folder holds ``composed.json`` and the folder of each relation's own model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import GraphSchema
from core.methods import registry
from core.methods._shared.node_values.ends import Ends
from core.methods._shared.node_values.stage import CarriesNodeValues, Mixing
from core.methods.base import (
    FittedModel,
    Generator,
    Progress,
    StreamState,
    Training,
    no_progress,
    training_of,
)
from core.privacy.entropy import Generator as Rng

FORMAT = 1
INDEX = "composed.json"


@dataclass(frozen=True)
class Fitted:
    """A relation's model, and the method that fitted it."""

    generator: Generator
    model: FittedModel

    @property
    def mixing(self) -> Mixing | None:
        """How the model takes groups of nodes; None where its method does not."""
        return self.generator.mixing() if isinstance(self.generator, CarriesNodeValues) else None


@dataclass(frozen=True)
class ComposedModel:
    """Paid-for output only, by relation; ``nodes`` are the sizes of the universes."""

    schema: GraphSchema
    nodes: Mapping[str, int]
    fitted: Mapping[str, Fitted]

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Draw every relation's edges from its own model, and join them to one graph."""
        edges = {}
        for done, (name, each) in enumerate(self.fitted.items()):
            progress("sample", done, len(self.fitted))
            edges[name] = each.model.sample(rng, no_progress).edges[name]
        progress("sample", len(self.fitted), len(self.fitted))
        universes = {name: NodeTable(count) for name, count in self.nodes.items()}
        return Graph.build(self.schema, universes, edges)

    def training(self) -> Training:
        """Tell how each relation's model was learned, its name before each curve and note."""
        told = {name: training_of(each.model) for name, each in self.fitted.items()}
        return Training(
            {f"{name}: {curve}": y for name, each in told.items() for curve, y in each.curves.items()},
            tuple(f"{name}: {note}" for name, each in told.items() for note in each.notes),
            any(each.collapsed for each in told.values())
            if any(each.collapsed is not None for each in told.values())
            else None,
        )

    def save(self, folder: Path) -> None:
        """Write each relation's model to a folder of its own below ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        text = {
            "format": FORMAT,
            "schema": self.schema.model_dump(mode="json"),
            "nodes": dict(self.nodes),
            "relations": [
                {"name": name, "method": each.generator.name} for name, each in self.fitted.items()
            ],
        }
        (folder / INDEX).write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")
        for place, each in enumerate(self.fitted.values()):
            each.model.save(folder / folder_of(place))


def load(folder: Path) -> ComposedModel:
    """Read the model that :meth:`ComposedModel.save` wrote; ValueError where it is none."""
    text = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    if text.get("format") != FORMAT:
        raise ValueError("not a stored composition in a format that can be read")
    fitted = {}
    for place, row in enumerate(text["relations"]):
        generator = registry.get(row["method"])
        fitted[row["name"]] = Fitted(generator, generator.load(folder / folder_of(place)))
    return ComposedModel(GraphSchema.model_validate(text["schema"]), text["nodes"], fitted)


def folder_of(place: int) -> str:
    """Name the folder of the relation at that place."""
    return f"relation-{place}"


@dataclass(frozen=True)
class ComposedState:
    """What a snapshot of a live stream leaves of each relation, in the order of relations."""

    states: Sequence[StreamState | None]

    def save(self, folder: Path) -> None:
        """Write each to a folder of its own below ``folder``."""
        for place, state in enumerate(self.states):
            if state is not None:
                (folder / folder_of(place)).mkdir(parents=True)
                state.save(folder / folder_of(place))


class MixingOfParts:
    """Groups of nodes, handed to each relation's own model. Post-processing."""

    def ends(self, model: ComposedModel) -> dict[str, Ends]:
        """Return the paid degrees of every relation whose method tells them."""
        found: dict[str, Ends] = {}
        for name, each in model.fitted.items():
            if each.mixing is not None:
                found[name] = each.mixing.ends(each.model)[name]
        return found

    def communities(self, model: ComposedModel, relation: str) -> np.ndarray | None:
        """Return the labels that the relation's edges are drawn by; None where there are none."""
        own = model.fitted[relation]
        return None if own.mixing is None else own.mixing.communities(own.model, relation)

    def mixed(
        self, model: ComposedModel, groups: Mapping[str, np.ndarray], shares: Mapping[str, np.ndarray]
    ) -> ComposedModel:
        """Return the model whose relations are drawn by the same groups, each by its own shares."""
        fitted = dict(model.fitted)
        for name, share in shares.items():
            own = fitted[name]
            if own.mixing is not None:
                fitted[name] = replace(own, model=own.mixing.mixed(own.model, groups, {name: share}))
        return replace(model, fitted=fitted)
