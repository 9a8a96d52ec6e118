"""The reads of ``thepuff``, and the networks trained on them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.methods._shared.degrees.counts import noisy_count
from core.methods._shared.degrees.sides import summing_to
from core.methods._shared.flips.balanced import balanced_about
from core.methods._shared.frame.model import same_columns
from core.methods._shared.relations.budget import evidence_of, is_static
from core.methods._shared.relations.draw import Relation as Base
from core.methods._shared.relations.fit import fit_relation
from core.methods._shared.relations.params import AnchoredParams
from core.methods._shared.slots.evidence import MAX_MATERIALISED, additions
from core.methods.base import Progress
from core.privacy.accounting.plan import CellKey, PrivacyPlan
from core.privacy.entropy import Generator as Rng
from core.privacy.entropy import noise_generator
from core.privacy.queries import Shape
from papers._shared.progress import Ticks
from papers._shared.walks.layout import Layout, keys_of
from papers.thepuff import paper
from papers.thepuff.budget import UTILITY, Granted, granted
from papers.thepuff.model import ThepuffModel
from papers.thepuff.paid import KEYS, TRAINING, Paid, load
from papers.thepuff.params import ThepuffParams
from papers.thepuff.schedule import Settings, batches_an_epoch
from papers.thepuff.snapshots import Snapshots
from papers.thepuff.training import Trained, train
from papers.thepuff.utility import Metered, Raw

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns
    from core.privacy.session.private_graph import PrivateCell, PrivateGraph

NO_TAILS = AnchoredParams(tail_share=0)  # the split of epsilon over this method's reads was chosen without


def fit_sound(
    method: str,
    graph: PrivateGraph,
    plan: PrivacyPlan,
    params: ThepuffParams,
    progress: Progress,
    checkpoint: Path | None,
) -> ThepuffModel:
    """Fit variant sound, at the plan's cost at most.

    Read are: in learned cells the number of edges, degrees (``bias="paid"``), every slot by a coin, and edges
    by DP-SGD; in the others what :mod:`core.methods.anchored` reads. All else follows from these answers.
    """
    grants, rng = granted(plan), noise_generator()
    names = tuple(dict.fromkeys(allotment.edge_type for allotment in plan.allotments))
    layout = Layout.of(graph.schema, _sizes(graph), names)
    columns: dict[CellKey, Columns] = {}
    keys: dict[CellKey, np.ndarray] = {}
    for done, relation in enumerate(layout.relations):
        progress("perturb", done, len(layout.relations))
        steps = layout.schema.steps_of(relation.name)
        cells = {(relation.name, step): graph.cell(relation.name, step) for step in steps}
        read = partial(_learned, params=params) if relation.learned else _untimed
        columns |= read(cells, grants, layout.shape(relation), keys, rng)
    progress("perturb", len(layout.relations), len(layout.relations))
    utility = None
    if grants.training is not None:
        learned = tuple(cell for cell, _ in layout.cells(learned=True))
        session = partial(graph.dp_sgd, grants.training, cells=learned, purpose=UTILITY)
        utility = Metered(session, learned, grants.training)
    paid = _paid(method, layout, params, columns, keys, rng, ())
    return _model(paid, utility, rng, progress, checkpoint)


def fit_paper(
    method: str, graph: PrivateGraph, params: ThepuffParams, progress: Progress, checkpoint: Path | None
) -> ThepuffModel:
    """Fit variant paper, Algorithms 1 to 3.

    They run on the raw graph, under no guarantee. Every relation that is not public is perturbed, learned and
    generated. The perturbed graph gives the generator its candidates, their degrees and the number of edges
    of every cell; the utility discriminator learns from walks of the raw graph.
    """
    raw, rng = graph.unprotected(paper.TRAINING_REASON), noise_generator()
    names = tuple(relation.name for relation in graph.schema.edge_types if not relation.public)
    layout = Layout.of(graph.schema, _sizes(graph), names)
    progress("perturb", 0, 1)
    published = paper.perturbed(raw, names, params.epsilon_minus)
    keys = {cell: found.keys for cell, found in published.items()}
    progress("perturb", 1, 1)
    columns = {
        cell: _counted(keys[cell], len(keys[cell]), layout.shape(relation), rng)
        for cell, relation in layout.cells()
    }
    coins = {cell: (found.add, found.drop) for cell, found in published.items()}
    notes = paper.cost_notes(coins, params.epsilon_minus)
    paid = _paid(method, layout, params, columns, keys, rng, notes)
    utility = None
    if params.trains_utility:
        true = keys_of(raw, layout)
        counts = {cell: len(true[cell]) for cell, _ in layout.cells(learned=True)}
        edges = int(paid.snapshots().step_counts.sum())
        batches = params.utility_epochs * batches_an_epoch(edges, params.way.batch)
        utility = Raw(Snapshots.of(layout, true, counts), min(batches, params.most_batches))
    return _model(paid, utility, rng, progress, checkpoint)


def resumed(method: str, folder: Path, progress: Progress) -> ThepuffModel:
    """Resume a fit from the state in ``folder``.

    It was cut short. No graph is read. Raises InvalidInput where the fit had not yet read all that it had to.
    """
    return _model(load(folder, method), None, noise_generator(), progress, folder)


def settings_of(params: ThepuffParams, edges: int) -> Settings:
    """Make the public schedule.

    It has as many batches as ``epochs`` passes over walks for ``edges`` ask for.
    """
    published = params.variant == "paper"
    batch = params.way.batch if published else Settings(0).batch
    settings = Settings(
        batches=min(params.most_batches, params.epochs * batches_an_epoch(edges, batch)),
        privacy_weight=1.0 if params.privacy else 0.0,
        learn_weights=params.bias == "hat",
    )
    if not published:
        return settings
    ours = params.way.attention == "ours"
    return replace(
        settings,
        batch=params.way.batch,
        dimensions=params.way.dimensions,
        hidden=params.way.hidden,
        width=params.way.width,
        utility_width=params.way.width // 2 if ours else params.way.width,
        utility_weight=params.way.utility_weight,
        learn_weights=params.way.node_choice == "degrees",
        generator_rate=params.way.generator_rate,
        discriminator_rate=params.way.discriminator_rate,
        exact_up_to=params.way.offered,
        dropout=params.way.dropout,
        published_attention=not ours,
        published_optimisers=params.way.optimisers == "paper",
        linear_losses=params.way.losses == "linear",
        degree_weights=params.way.node_choice == "degrees",
        across_steps=params.across_steps,
        just_walks=params.way.just_walks,
        just_length=params.way.just_length,
        generator_every=params.way.generator_every,
    )


def _sizes(graph: PrivateGraph) -> dict[str, int]:
    return {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}


def _learned(
    cells: dict[CellKey, PrivateCell],
    grants: Granted,
    shape: Shape,
    keys: dict[CellKey, np.ndarray],
    rng: Rng,
    *,
    params: ThepuffParams,
) -> dict[CellKey, Columns]:
    """Pay for count and degrees of a learned relation's cells; keys of flipped edges go to ``keys``."""
    share = min(grants.degrees[cell] for cell in cells)
    paid: dict[CellKey, Columns] = {}
    if params.bias == "paid":
        plain = NO_TAILS.model_copy(update={"evidence": "none"})
        base = fit_relation(list(cells.values()), share, plain, False, rng, steps_together=True)
        paid = dict(zip(cells, base, strict=True))
        counts = {name: int(columns["count"][0]) for name, columns in paid.items()}
    else:
        counts = {name: noisy_count(cell, share) for name, cell in cells.items()}
    for name, cell in cells.items():
        source, target = balanced_about(cell, counts[name], grants.flips[name]).ends
        keys[name] = source * shape.target_count + target
    return paid or {name: _counted(keys[name], counts[name], shape, rng) for name in cells}


def _untimed(
    cells: dict[CellKey, PrivateCell],
    grants: Granted,
    shape: Shape,
    keys: dict[CellKey, np.ndarray],
    rng: Rng,
) -> dict[CellKey, Columns]:
    """Pay for the columns of a relation that is not learned; put a graph drawn from them into ``keys``."""
    share = min(grants.static[cell] for cell in cells)
    params = NO_TAILS
    asked = evidence_of(shape, share, 1, params)
    if asked and not is_static(shape, params) and additions(shape, asked) > MAX_MATERIALISED:
        params = NO_TAILS.model_copy(update={"evidence": "none"})
    found = dict(zip(cells, fit_relation(list(cells.values()), share, params, False, rng), strict=True))
    full = same_columns({**found, ("", None): {"count": np.empty(0, dtype=np.int64)}})
    base = Base(shape, params)
    keys.update({name: base.draw(full[name], rng) for name in cells})
    return found


def _counted(keys: np.ndarray, count: int, shape: Shape, rng: Rng) -> Columns:
    """Count the degrees that ``keys`` have, and bring them to ``count``."""
    source, target = np.divmod(keys, shape.target_count)
    sides = [np.bincount(source, minlength=shape.source_count)]
    total, most = count, [shape.target_count, shape.source_count]
    if shape.undirected:
        sides[0] += np.bincount(target, minlength=shape.source_count)
        total, most = 2 * count, [max(shape.source_count - 1, 0)]
    else:
        sides.append(np.bincount(target, minlength=shape.target_count))
    if shape.edge_type.functional:
        most[0] = min(most[0], 1)
    whole = [summing_to(side, total, limit, rng) for side, limit in zip(sides, most, strict=True)]
    return {
        "count": np.array([count], dtype=np.int64),
        "source_degrees": whole[0],
        "target_degrees": whole[1] if len(whole) > 1 else np.empty(0, dtype=np.int64),
    }


def _paid(
    method: str,
    layout: Layout,
    params: ThepuffParams,
    columns: dict[CellKey, Columns],
    keys: dict[CellKey, np.ndarray],
    rng: Rng,
    notes: tuple[str, ...],
) -> Paid:
    ordered = same_columns({cell: columns[cell] for cell, _ in layout.cells()})
    seed = int(rng.integers(2**63))
    return Paid(method, layout.schema, layout.counts, params, ordered, layout.edge_types, keys, seed, notes)


def _trained(
    paid: Paid, utility: Metered | Raw | None, progress: Progress, checkpoint: Path | None
) -> Trained:
    """Train the generator on the perturbed graph and on what ``utility`` opens."""
    stages = {name: Ticks(progress, name) for name in (("utility",) if utility else ()) + ("adversarial",)}

    def passed_on(stage: str, done: int, total: int) -> None:
        if stage in stages:
            stages[stage](stage, done, total)

    hat = paid.snapshots()
    settings = settings_of(paid.params, int(hat.step_counts.sum()))
    file = None if checkpoint is None else checkpoint / TRAINING
    trained = train(hat, settings, paid.seed, utility=utility, progress=passed_on, checkpoint=file)
    for ticks in stages.values():
        ticks.finish()
    return trained


def _model(
    paid: Paid, utility: Metered | Raw | None, rng: Rng, progress: Progress, checkpoint: Path | None
) -> ThepuffModel:
    """Train the model and look it over for a collapse: one draw of walks, compared with the counts."""
    if checkpoint is not None and not (checkpoint / KEYS).exists():
        paid.save(checkpoint)
    trained = _trained(paid, utility, progress, checkpoint)
    facts = paid.method, paid.schema, paid.nodes, paid.params, paid.cells, paid.edge_types
    ticks = Ticks(progress, "look over")
    model = ThepuffModel(*facts, trained)
    seen = model.collapse(rng, ticks)
    ticks.finish()
    return ThepuffModel(*facts, trained, (*paid.notes, *seen.notes()), seen.collapsed)
