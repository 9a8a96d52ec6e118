"""What a reader must know besides figures. It has public caveats and the curators' warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from core.graphs.schema import Derived, EdgeType, GraphSchema, Presence
from core.privacy.accounting.guarantee import MARK, node_prices, rounded_up
from core.privacy.units import Unit
from core.reports.base import Notice
from core.reports.comparison import Compared, Comparison, EdgeTypeComparison
from core.reports.evidence import Attack, Attacks
from core.reports.model import GuaranteePart

# Above this one outcome may be over 20 000 times as likely as before: hardly a promise.
LARGE_EPSILON = Decimal(10)
# Below this true value a relative error is dominated by its denominator.
SMALL_DENOMINATOR = 0.05
# Snapshots with fewer edges than this: their metrics jump with single edges.
TINY_SNAPSHOT_EDGES = 50
# Fewer nodes than this, over all types: noise outweighs what so small a graph can show.
FEW_NODES = 100
# An attack's AUC this far from guessing, its interval included, is worth a warning.
NOTABLE_ADVANTAGE = 0.1
# Relations that a notice names; a schema may have many.
MOST_NAMES = 20
EVERY_GRAPH = "every graph"
_RATIOS = ("transitivity", "mean_local_clustering", "assortativity", "modularity")


def caveats(
    guarantee: GuaranteePart,
    schema: GraphSchema,
    *,
    protected_attributes: bool,
    seeded: bool,
    derived: Sequence[Derived] = (),
    nodes: int | None = None,
    snapshot: bool = False,
    sample_of: str | None = None,
) -> tuple[Notice, ...]:
    """List the public caveats. They follow from the guarantee and what is declared public, never from data.

    ``nodes`` is the size of the (public) universe; ``snapshot``: the release is one of a live stream's;
    ``sample_of``: the job whose model it was drawn from again.
    """
    # In the enumeration's order: the same facts make the same report.
    read_off = tuple(_DERIVED[part] for part in Derived if part in derived)
    # Nothing was read, so that neither unit nor noise has a caveat; what was read off at the upload has.
    if guarantee.kind == "unread":
        return (_FROM_DECLARATIONS, *read_off)
    notices = [_NODE_SET if guarantee.unit is Unit.NODE else _NO_NODES]
    if guarantee.kind == "none":
        notices.append(
            Notice(
                code="no_guarantee",
                text="This release carries no privacy guarantee. What its method claims was not proven here, "
                "and no epsilon can be claimed any more for the dataset as a whole.",
            )
        )
    else:
        notices.extend(_unit_caveats(guarantee, schema))
        notices.extend(lasting_relations(schema, guarantee.unit, guarantee.window))
        notices.extend(_node_prices(guarantee, schema))
        if snapshot:
            notices.append(_SNAPSHOT)
        if sample_of is not None:
            notices.append(_further_sample(sample_of))
        notices.append(_SELECTION)
        if guarantee.epsilon is not None and Decimal(guarantee.epsilon) > LARGE_EPSILON:
            notices.append(_large_epsilon(guarantee))
    if nodes is not None and nodes < FEW_NODES:
        notices.append(
            Notice(
                code="few_nodes",
                text=f"The graph has {nodes} nodes. Noise weighs more in a graph of fewer than {FEW_NODES}; "
                "its figures say little about the original.",
            )
        )
    notices.extend(read_off)
    public = [edge_type.name for edge_type in schema.edge_types if edge_type.public]
    notices.extend(
        Notice(
            code="public_relation_copied",
            text="This relation was declared public: it is copied as it is and is not protected. Nodes may "
            "be recognised by it.",
            edge_type=name,
        )
        for name in public
    )
    if protected_attributes:
        notices.append(
            Notice(
                code="attributes_left_out",
                text="Node attributes that were not declared public are not part of this release.",
            )
        )
    if seeded:
        notices.append(
            Notice(
                code="seeded_sampling",
                text="The caller seeded the sampling draws, which is allowed for public datasets only.",
            )
        )
    return tuple(notices)


_FROM_DECLARATIONS = Notice(
    code="from_declarations",
    text=f"{MARK} Its sizes, degrees and mixing are what somebody said, not what the data are: use it to "
    "write and try programs, and conclude nothing from it.",
)

_SNAPSHOT = Notice(
    code="one_snapshot_of_a_stream",
    text="Epsilon is that of any window of the stream's steps: this release follows from the snapshots "
    "before it too, and all of them together are bounded by it. What this step was charged is its charge.",
)


def without_accelerator() -> Notice:
    """Say that a fit which gains from a GPU had none."""
    return Notice(
        code="without_accelerator",
        text="The method gains from a GPU at this size, and no worker had one: it was computed on a CPU. "
        "That takes longer and changes neither the guarantee nor the law of what is published.",
    )


def drawn_at(nodes: int, of: int) -> Notice:
    """Say what stays and grows at another size. The graph has another number of nodes."""
    return Notice(
        code="another_size",
        text=f"The graph was drawn with {nodes} nodes, from a law that was fitted to {of}. Degrees and "
        "clustering are the original's, as they were told; counts of edges and triangles are "
        f"{nodes / of:.4g} times as many, and the density is as many times lower. No node stands for one of "
        "the original.",
    )


def _further_sample(job_id: str) -> Notice:
    return Notice(
        code="further_sample",
        text=f"This is a further sample of the model that job {job_id} fitted. It follows from that model "
        "alone, so that it was charged nothing: epsilon covers the model and all samples of it together.",
    )


_SELECTION = Notice(
    code="selection_not_covered",
    text="The guarantee covers this release, not a choice among several: a curator who publishes the one of "
    "many that came closest to the original reveals more than epsilon bounds.",
)

_DERIVED = {
    Derived.NODE_LIST: Notice(
        code="universe_from_edges",
        text="The list of nodes was not declared: it was taken from the uploaded edges, or from a graph that "
        "lists its nodes itself, and may have been made of its edges. Where it holds exactly the nodes that "
        "have an edge, the release tells who has one. This is outside the guarantee: epsilon does not bound "
        "it.",
    ),
    Derived.TIME_GRID: Notice(
        code="grid_from_data",
        text="The time grid was not declared: it was read off the times of the uploaded edges, and the "
        "curator confirmed it as public. It tells when the first and the last edge lie. This is outside the "
        "guarantee: epsilon does not bound it.",
    ),
    **{
        mark: Notice(
            code=code,
            text=f"{what} read off the uploaded rows and confirmed as public. One edge more or less may have "
            "changed that. This is outside the guarantee: epsilon does not bound it. Declare what may occur, "
            "instead of what did, and it lies within.",
        )
        for mark, code, what in (
            (Derived.NODE_TYPES, "node_types_from_data", "The names of the node types were"),
            (Derived.EDGE_TYPES, "edge_types_from_data", "The names of the relations were"),
            (Derived.NODE_ATTRIBUTES, "node_attributes_from_data", "Which attributes nodes have was"),
            (Derived.EDGE_VALUES, "edge_values_from_data", "Categories and bounds of what edges carry were"),
            (Derived.CAPS, "caps_from_data", "How many edges or records there are at most was"),
        )
    },
}
READ_OFF = frozenset(notice.code for notice in _DERIVED.values())
"""Codes of the caveats about what was read off the data."""


_NO_NODES = Notice(
    code="node_privacy_not_offered",
    text="Whole nodes are not protected here: the set of nodes is public, and the guarantee covers relations "
    "between nodes, not whether a node exists or all of its relations at once. Datasets under the unit node "
    "protect those.",
)
_NODE_SET = Notice(
    code="node_set_public",
    text="That a node is in the graph is public, and so is its type: the guarantee covers what its edges "
    "are, not whether it is listed.",
)


def _node_prices(guarantee: GuaranteePart, schema: GraphSchema) -> Iterator[Notice]:
    epsilon, delta = Decimal(guarantee.epsilon or "0"), Decimal(guarantee.delta or "0")
    for price in node_prices(schema, guarantee.unit, epsilon, delta):
        together = f"epsilon {price.epsilon.normalize():f}"
        if price.delta:
            together += f" and delta {rounded_up(price.delta)}"
        yield Notice(
            code="node_at_a_bound",
            text=f"It is declared that no node of type {price.node_type} has more than {price.edges} "
            "protected edges. So all edges of one such node, replaced by any others, are covered together "
            f"at {together} (2 x {price.edges} edges).",
        )


def _unit_caveats(guarantee: GuaranteePart, schema: GraphSchema) -> Iterator[Notice]:
    apart = sorted(each.name for each in schema.edge_types if each.records_apart)
    if apart:
        yield Notice(
            code="unit_record",
            text=f"Of {', '.join(apart)} the guarantee covers one record of one edge. An edge with k records "
            "is covered at k times epsilon only, and all rows of somebody at as many times as they are.",
        )
    if guarantee.unit is Unit.EDGE:
        yield Notice(
            code="unit_edge",
            text="The guarantee covers one edge. k edges together, for instance all edges of one node, are "
            "covered at k times epsilon only.",
        )
    elif guarantee.unit is Unit.EVENT:
        yield Notice(
            code="unit_event",
            text="The guarantee covers one event: one relation in one snapshot. A relation that is present "
            "in k snapshots is covered at k times epsilon only.",
        )
    elif guarantee.unit is Unit.W_EVENT:
        yield Notice(
            code="unit_w_event",
            text=f"The guarantee covers changes within {guarantee.window} consecutive snapshots, one edge in "
            f"each. A relation that is present in more than {guarantee.window} consecutive snapshots is not "
            "protected at this epsilon.",
        )
    elif guarantee.unit is Unit.NODE:
        person = schema.protected_type
        kind = f"the protected type, {person.name}" if person else "the protected type"
        yield Notice(
            code="unit_node",
            text=f"The guarantee covers all edges of one node of {kind}, in every relation and "
            "snapshot that is not public, with what they carry, and the node's row of protected attributes, "
            "all of it replaced at once. Several such nodes, for instance a family whose edges tell of one "
            "another, are covered at a multiple of epsilon only. Nodes of the other types, public relations "
            "and public attributes are not protected.",
        )
    else:
        yield Notice(
            code="unit_pair",
            text="The guarantee covers all occurrences of one pair of nodes. Several pairs, for instance all "
            "relations of one node, are covered at a multiple of epsilon only.",
        )


def values_left_out(
    schema: GraphSchema, edge_types: Sequence[str] | None = None, *, synthesised: Sequence[str] = ()
) -> tuple[Notice, ...]:
    """Say which protected values a release leaves out. Edges of protected relations carry them; often
    nothing.

    ``edge_types``: those of interest, all unless given; without those that are ``synthesised``. Follows from
    the schema alone.
    """
    left = [
        each
        for each in schema.edge_types
        if each.attributes
        and not each.public
        and each.name not in synthesised
        and (edge_types is None or each.name in edge_types)
    ]
    carried = what_edges_carry(schema, left)
    if not carried:
        return ()
    text = f"What edges carry is not synthesised, and is not part of this release: {'; '.join(carried)}."
    return (Notice(code="edge_attributes_left_out", text=text),)


def what_edges_carry(schema: GraphSchema, relations: Sequence[EdgeType]) -> list[str]:
    """Name the attributes of each of the relations. Those of a collection come once, as all graphs have the
    same."""
    several = relations[:1] if schema.collection is not None else relations
    return [
        f"{', '.join(attribute.name for attribute in each.attributes)} of "
        + (each.name if schema.collection is None else EVERY_GRAPH)
        for each in several
    ]


def lasting_relations(
    schema: GraphSchema, unit: Unit, window: int | None, edge_types: Sequence[str] | None = None
) -> tuple[Notice, ...]:
    """Say what lasting relations leave open. A promise per snapshot or window leaves it open where they are
    declared to last.

    ``edge_types``: those of interest, all unless given. Follows from the schema alone. See docs/w_event.md.
    """
    if unit not in (Unit.EVENT, Unit.W_EVENT):
        return ()
    # So many windows of the promise does it take to hold L snapshots in a row.
    count = "L" if unit is Unit.EVENT or window is None else f"ceil(L / {window})"
    notices = []
    for presence, meaning in _LASTING.items():
        names = [
            each.name
            for each in schema.edge_types
            if each.presence is presence
            and not each.public
            and (edge_types is None or each.name in edge_types)
        ]
        if names:
            notices.append(
                Notice(
                    code=f"relation_{presence}",
                    text=f"Declared as {presence}: {', '.join(names)}. {meaning} An edge that is present in "
                    f"L snapshots in a row is covered at {count} times epsilon only.",
                    edge_type=names[0] if len(names) == 1 else None,
                )
            )
    return tuple(notices)


_LASTING = {
    Presence.STATE: "Such an edge stays from one snapshot to the next while the relation holds.",
    Presence.CUMULATIVE: "Such an edge stays in every snapshot from its first on, so that with every window "
    "the promise for it becomes weaker, without end: send what is new in a step instead.",
}


def _large_epsilon(guarantee: GuaranteePart) -> Notice:
    return Notice(
        code="large_epsilon",
        text=f"Epsilon is {guarantee.epsilon}, above {LARGE_EPSILON}: the bound on what an attacker learns "
        "is too weak to be called protection.",
    )


def warnings(
    guarantee: GuaranteePart, comparison: Comparison, attacks: Attacks, reduced_from: str | None = None
) -> tuple[Notice, ...]:
    """List what curators must know when they read the comparison. Depends on the original: not public."""
    notices = []
    if comparison.scaled is not None:
        notices.append(_scaled(comparison.scaled))
    if reduced_from is not None:
        notices.append(_reduced(reduced_from, comparison.suite))
    if guarantee.epsilon is not None and Decimal(guarantee.epsilon) > LARGE_EPSILON:
        notices.append(_large_epsilon(guarantee))
    for relation in comparison.edge_types:
        notices.extend(_relation_warnings(relation))
    notices.extend(_successes(attacks))
    return tuple(notices)


def _scaled(factor: float) -> Notice:
    return Notice(
        code="scaled_comparison",
        text=f"The release has {factor:.4g} times the original's nodes. Beside its counts of edges, "
        "triangles, motifs, components and nodes of a degree stand the original's times that factor, beside "
        "its density the original's divided by it; all else is compared as it is. What needs the same nodes "
        "in both graphs (shared communities and central nodes, attacks, tasks) was not measured.",
    )


def _reduced(asked: str, suite: str) -> Notice:
    return Notice(
        code="suite_reduced",
        text=f"The suite {asked} was asked for and did not end well: it took more time or memory than a "
        f"comparison may, or failed. These are the figures of the suite {suite}.",
    )


def _successes(attacks: Attacks) -> Iterator[Notice]:
    """Warn once a relation, naming every attack that found something."""
    by_relation: dict[str | None, list[str]] = {}
    # What the control reaches by degrees alone, the choice of targets gives away: no merit of an attack.
    given = {
        control.edge_type: abs(control.published.auc.value - 0.5)
        for control in attacks.inference
        if control.control and control.published is not None
    }
    for attack in attacks.inference:
        if _found_links(attack, given.get(attack.edge_type, 0.0)):
            by_relation.setdefault(attack.edge_type, []).append(attack.title)
    for edge_type, titles in by_relation.items():
        yield Notice(
            code="attack_succeeds",
            text="Better than guessing, and than degrees alone, these attacks tell what is in the original "
            f"from what is not: {', '.join(titles)}. Part of that is structure the release keeps on purpose, "
            "such as communities, which no guarantee for single edges hides: look at the figures.",
            edge_type=edge_type,
        )


def _found_links(attack: Attack, given: float) -> bool:
    """Tell whether it beats guessing beyond doubt, either way, by more than a little and than ``given``.

    ``given``: how far from 0.5 the control comes: the choice of targets gives that away, not the release.
    """
    if attack.published is None or attack.control:
        return False
    auc = attack.published.auc
    margin = max(NOTABLE_ADVANTAGE, given)
    return auc.low > 0.5 + margin or auc.high < 0.5 - margin


def _relation_warnings(relation: EdgeTypeComparison) -> Iterator[Notice]:
    total = len(relation.rows)
    tiny = sum((row.scalars["edges"].original or 0) < TINY_SNAPSHOT_EDGES for row in relation.rows)
    if tiny:
        yield Notice(
            code="tiny_snapshot",
            text=f"The original has fewer than {TINY_SNAPSHOT_EDGES} edges in {tiny} of {total} evaluated "
            "snapshots: single edges move every metric there.",
            edge_type=relation.name,
        )
    for metric in _RATIOS:
        small = sum(_small(row.scalars.get(metric)) for row in relation.rows)
        if small:
            yield Notice(
                code="small_denominator",
                text=f"The original value lies below {SMALL_DENOMINATOR} in {small} of {total} evaluated "
                "snapshots: read the absolute error, the relative one is dominated by its denominator.",
                edge_type=relation.name,
                metric=metric,
            )


def _small(compared: Compared | None) -> bool:
    value = None if compared is None else compared.original
    return value is not None and abs(value) < SMALL_DENOMINATOR
