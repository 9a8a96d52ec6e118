"""The division of epsilon over relations and types.

Also inside a relation. Public facts only.

Unit edge: relations hold disjoint edges, and a node's row lies in no relation, so every relation and every
node type's rows have all of epsilon and delta. Inside a relation the reads compose in sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from core import errors
from core.methods._shared.frame.plan import SMALLEST_STEP_NANO_EPSILON, besides, divide, plan_of
from core.methods.base import PublicFacts
from core.privacy import limits
from core.privacy.accounting.dp_sgd import DpSgd, noise_multiplier
from core.privacy.accounting.events import (
    Event,
    GaussianEvent,
    PoissonSampled,
    Pure,
    Repeated,
    pure_nano_epsilon,
)
from core.privacy.accounting.plan import Allotment, PrivacyPlan, rows_of
from graphveil.models.reports import ROWS
from papers.hetesdg.params import HeteParams
from papers.hetesdg.sides import SMALL, Sides, has_protected_rows, paths_of

if TYPE_CHECKING:
    from core.graphs.schema import GraphSchema

TABLES, NOISY_ROWS = "degrees and neighbour histograms", "protected rows"
PREDICTOR, SUMS = "link predictor", "neighbour sums"
SECOND_HOP_NANO_EPSILON = 2_000_000_000
SEQUENCE_SHARE = 0.25
"""Of epsilon for each side's degree sequence, where split is measured."""
HOP_SHARE = 0.5
"""Of a relation's epsilon for the meta-paths that end with it, where split is measured."""


DIRECTIONS = 4
"""Coordinates of a row that is summed over neighbours, beside a constant. More split a node's length among
more entries of noise: 4 told most at epsilon 1."""


@dataclass(frozen=True)
class Granted:
    """What a plan grants.

    Nano-epsilon by relation for its tables, the noise of protected rows by node type, the training that every
    relation pays for by itself, and, by relation, the noise of each sum; ``followed``: sums along meta-paths
    are granted too.
    """

    relations: Mapping[str, int]
    rows: Mapping[str, Fraction]
    training: DpSgd | None
    sums: Mapping[str, Fraction]
    followed: bool


@dataclass(frozen=True)
class Shares:
    """A relation's spending by read, in nano-epsilon.

    What is not read has 0. ``hop`` is for each meta-path.
    """

    grouped: int
    counted: int
    histogram: int
    hop: int


def make_plan(method: str, params: HeteParams, public: PublicFacts) -> PrivacyPlan:
    """Plan variant sound. Raises ``errors.NotAccepted`` where what is requested does not fit."""
    if public.nano_epsilon < SMALLEST_STEP_NANO_EPSILON:
        raise errors.NotAccepted("epsilon is too small to be divided", field="epsilon")
    paths = paths_of(public.schema, public.edge_types, params.meta_paths, params.rows)
    events: list[tuple[Event, str]] = [(Pure(public.nano_epsilon, "laplace"), TABLES)]
    if params.learn == "link-sgd":
        events = _with_training(params, public)
    grants = [
        Allotment(name, None, event, purpose) for name in public.edge_types for event, purpose in events
    ]
    if params.mechanism == "gaussian-sums":
        grants = _sums(params, public, paths)
    kinds = protected_types(params, public)
    if kinds:
        if not public.delta_atto:
            raise errors.NotAccepted("protected rows need a delta", field="delta")
        # A row lies in no relation: what is set aside for other reads of edges is its own too.
        multiplier = noise_multiplier(
            public.whole_nano_epsilon, public.delta_atto, 1, 1, (), public.accountant
        )
        grants += [Allotment(rows_of(name), None, GaussianEvent(multiplier), NOISY_ROWS) for name in kinds]
    elif "features" in params.release:
        raise errors.NotAccepted("no node type of the job has protected numbers", field="release")
    # Link training and Gaussian sums need a delta for a relation's own reads.
    approximate = kinds or params.learn == "link-sgd" or params.mechanism == "gaussian-sums"
    return plan_of(method, public, grants, public.delta_atto if approximate else 0)


def _sums(params: HeteParams, public: PublicFacts, paths: tuple[tuple[str, str], ...]) -> list[Allotment]:
    """Allot a relation's sums, one and one more for each meta-path that ends with it, of one noise; together
    they cost epsilon and delta at most."""
    if not public.delta_atto:
        raise errors.NotAccepted("mechanism=gaussian-sums needs a delta", field="delta")
    grants = []
    for name in public.edge_types:
        back = sum(last == name for _, last in paths) if follows_back(params, public.nano_epsilon) else 0
        multiplier = noise_multiplier(
            public.nano_epsilon, public.delta_atto, 1, 1 + back, (), public.accountant
        )
        grants += [Allotment(name, None, GaussianEvent(multiplier), SUMS)] * (1 + back)
    return grants


def _with_training(params: HeteParams, public: PublicFacts) -> list[tuple[Event, str]]:
    """Allot a relation's tables and its training, which together cost epsilon and delta at most."""
    if not public.delta_atto:
        raise errors.NotAccepted("learn=link-sgd needs a delta", field="delta")
    tables = int(public.nano_epsilon * (1 - params.sgd_share))
    if tables < SMALLEST_STEP_NANO_EPSILON:
        raise errors.NotAccepted("epsilon is too small to be divided", field="epsilon")
    paid = Pure(tables, "laplace")
    training = DpSgd.within(
        public.whole_nano_epsilon,
        public.delta_atto,
        params.rate,
        params.steps,
        besides(public, paid),
        public.accountant,
    )
    return [(paid, TABLES), (training.event, PREDICTOR)]


def protected_types(params: HeteParams, public: PublicFacts) -> list[str]:
    """List end types whose protected rows are read.

    They are node types of a relation of the job, as declared.
    """
    if not params.rows:
        return []
    relations = [public.schema.edge_type(name) for name in public.edge_types]
    ends = {end for relation in relations for end in (relation.source, relation.target)}
    return [
        kind.name
        for kind in public.schema.node_types
        if kind.name in ends and has_protected_rows(public.schema, kind.name)
    ]


def granted(plan: PrivacyPlan) -> Granted:
    """Read back what :func:`make_plan` put into a plan."""
    relations: dict[str, int] = {}
    rows: dict[str, Fraction] = {}
    sums: dict[str, Fraction] = {}
    training = None
    for each in plan.allotments:
        match each.event:
            case Repeated(PoissonSampled(rate, GaussianEvent(sigma)), times):
                training = DpSgd(rate, sigma, times)
            case GaussianEvent(sigma) if each.edge_type.startswith(ROWS):
                rows[each.edge_type.removeprefix(ROWS)] = Fraction(sigma)
            case GaussianEvent(sigma):
                sums[each.edge_type] = Fraction(sigma)
            case event:
                relations[each.edge_type] = pure_nano_epsilon(event) or 0
    reads = sum(each.purpose == SUMS for each in plan.allotments)
    return Granted(relations, rows, training, sums, reads > len(sums))


def follows_back(params: HeteParams, nano_epsilon: int) -> bool:
    """Tell whether meta-paths are followed to their end."""
    if "embedding" not in params.release or params.second_hop == "off":
        return False
    return params.second_hop == "on" or nano_epsilon >= SECOND_HOP_NANO_EPSILON


def require_room(
    params: HeteParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> None:
    """Raise NotAccepted where a read returns too much.

    It is tables of neighbours, sums or noisy rows that are more than a read may return. A type that carries
    nothing is one cluster. ``nodes``: the sizes of the universes.
    """
    from core.methods.room import require_nodes

    carry = any(each.attributes for each in schema.node_types)
    grants = granted(plan)
    for name in grants.relations:
        require_nodes(schema, name, nodes, params.clusters if carry else 1)
    for name in grants.sums:
        require_nodes(schema, name, nodes, DIRECTIONS + 1)  # and the constant
    for name in grants.rows:
        limits.check_values(
            nodes[name] * params.row_width,
            f"noisy rows of {name!r}",
            field="row_width",
            mend="; ask for a smaller row_width, or set rows to false",
        )


def sequences_of(params: HeteParams, sides: Sides, counted: int) -> int:
    """Count the degree sequences that are read of a relation. There are none without a graph."""
    if "graph" not in params.release:
        return 0
    return 1 if sides.undirected or counted < SMALL else 2


def shares(
    params: HeteParams, nano_epsilon: int, sides: Sides, counted: int, paths: int, table: float | None = None
) -> Shares:
    """Divide ``nano_epsilon`` among one relation's reads.

    Their sum is that at most.

    ``counted``: the number of counted nodes; ``paths``: how many meta-paths end with this relation, 0 where
    none is followed; ``table``: the histogram's share, where a noisy number of edges has settled it.
    """
    hop_share = 0.0 if not paths else HOP_SHARE
    sequences = sequences_of(params, sides, counted)
    rest = 0.0 if not (sequences or paths) else 1 - table if table is not None else None
    if rest is None and params.split == "equal":
        rest = 0.5
    if rest is None:
        hop, sequence = hop_share, sequences * SEQUENCE_SHARE * (1 - hop_share)
    else:
        whole = sequences * SEQUENCE_SHARE + hop_share
        hop, sequence = (rest * part / max(whole, 1e-9) for part in (hop_share, sequences * SEQUENCE_SHARE))
    both, back, histogram = divide(nano_epsilon, sequence, hop)
    each = both // max(sequences, 1)
    return Shares(
        grouped=each if sequences and not sides.undirected else 0,
        counted=each if sequences == 2 or (sequences and sides.undirected) else 0,
        histogram=histogram,
        hop=back // paths if paths else 0,
    )
