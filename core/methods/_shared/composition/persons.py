"""Protected rows of persons under unit node.

They are paid for once for all relations, which meet by them. A person's row is part of the person: neighbours
differ in it and in all edges at once, every read names the whole graph, and what they cost adds up to the
share.

1. Persons by the values of each attribute (a row replaced: L1 2), by public groups where edges meet by some.
2. Of every relation of persons whose edges meet by no public group: edges inside each group of the first
   attribute's values, and across, a projection for each (L1 twice the theta inside, and that across).
Proofs: :meth:`core.privacy.reads.node_values.NodeValueReads.table`,
:func:`core.privacy.mechanisms.projection.pair_counts`. All else is post-processing: persons of a release are
nobody in particular, so that they are dealt values by 1, and relations of 2 are sampled by their groups. What
persons of a value have of things is not read. Vectors have half of the share, and are read by the groups of
the first attribute (:mod:`core.methods._shared.node_values.vectors`; a row replaced: L1 2 k).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, cast

import numpy as np

from core.graphs.schema.node_bins import synthesised, vectors
from core.methods._shared.composition.model import ComposedModel, Fitted
from core.methods._shared.frame.model import StoredCells, same_columns
from core.methods._shared.frame.plan import divide
from core.methods._shared.node_values.fit import Rows, dealt_alone
from core.methods._shared.node_values.model import LabelledModel
from core.methods._shared.node_values.share import granted_of
from core.methods._shared.node_values.vectors import paid_vectors
from core.methods._shared.values.model import ValuedModel
from core.methods.base import FittedModel, Progress
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.entropy import noise_generator
from core.privacy.reads.people import People
from core.privacy.session.private_graph import PrivateGraph

TABLES, TABLES_OF_SEVERAL = 0.15, 0.3
"""Of the share, for persons by value, of one attribute and of several; where no relation is read by values
they have all of it. A prototype's, on polblogs, lastfm and cora."""


class Meeting(Protocol):
    """A fitted relation of persons that can mix by groups. Its model is of a method that says so."""

    def public_labels(self) -> np.ndarray | None: ...

    def meets(self, people: People, attribute: str, labels: np.ndarray, nano_epsilon: int) -> Any: ...

    def grouped(self, labels: np.ndarray, met: Any) -> FittedModel: ...


def labelled(
    method: str, model: ComposedModel, graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Progress
) -> LabelledModel:
    """Measure persons' rows, at the cost of ``plan`` at most.

    Returned is the model that is sampled by them.
    """
    kind = graph.schema.protected_type
    assert kind is not None
    names = tuple(each.name for each in synthesised(kind))
    granted = granted_of([each.event for each in plan.allotments], kind)
    persons, rng = graph.node_count(kind.name), noise_generator()
    reads, structures, first = graph.node_values(kind.name), list(model.parts), None
    meetings = _meetings(model) if names else []
    cells: dict[tuple[str, int | None], Any] = {}
    progress("node attributes", 0, 1 + len(meetings))
    if names:
        tables = TABLES if len(names) == 1 else TABLES_OF_SEVERAL
        even = [(1 - tables) / len(meetings)] * (len(meetings) - 1) if meetings else []
        parts = divide(granted.nano_epsilon, tables, *even) if meetings else (granted.nano_epsilon,)
        rows = Rows(reads, names, np.zeros(persons), _public_labels(model, persons), parts[0])
        values, of_bin = dealt_alone(rows, rng)
        first = names[0], of_bin, values[names[0]]
        for done, (place, cost) in enumerate(zip(meetings, parts[1:], strict=True)):
            progress("node attributes", 1 + done, 1 + len(meetings))
            (name,) = structures[place].relations
            structures[place] = _meeting(
                structures[place], graph.people(name), names[0], of_bin, values[names[0]], cost
            )
        cells = {
            (kind.name, place): {"bins": values[name].astype(np.int32)} for place, name in enumerate(names)
        }
    laws = paid_vectors(reads, vectors(kind), granted.vectors, first, persons)
    cells |= {(kind.name, place): law for place, law in enumerate(laws, start=len(names))}
    progress("node attributes", 1 + len(meetings), 1 + len(meetings))
    counts = {each.name: graph.node_count(each.name) for each in graph.schema.node_types}
    stored = StoredCells(method, graph.schema, counts, params, same_columns(cells))
    return LabelledModel(replace(model, parts=tuple(structures)), stored)


def _structure(part: Fitted) -> Meeting | None:
    """The model of a part's edges, where they can meet by groups."""
    if not part.generator.meets_by_rows:
        return None
    return cast(Meeting, part.model.structure if isinstance(part.model, ValuedModel) else part.model)


def _meetings(model: ComposedModel) -> list[int]:
    """The places of the parts that are to meet by what persons carry. Public."""
    found = [(place, _structure(part)) for place, part in enumerate(model.parts)]
    return [place for place, own in found if own is not None and own.public_labels() is None]


def _public_labels(model: ComposedModel, persons: int) -> np.ndarray:
    """The first relation's public groups of persons, int64 (n,); one for all where no relation has some."""
    known: Sequence[Meeting] = [own for part in model.parts if (own := _structure(part)) is not None]
    labels = [found for own in known if (found := own.public_labels()) is not None]
    return labels[0] if labels else np.zeros(persons, dtype=np.int64)


def _meeting(
    part: Fitted, people: People, attribute: str, of_bin: np.ndarray, bins: np.ndarray, nano_epsilon: int
) -> Fitted:
    """The part with its edges drawn by the groups of values, which are paid for here."""
    own = _structure(part)
    assert own is not None
    drawn = own.grouped(of_bin[bins], own.meets(people, attribute, of_bin, nano_epsilon))
    if isinstance(part.model, ValuedModel):
        return replace(part, model=ValuedModel(drawn, part.model.tables))
    return replace(part, model=drawn)
