"""What the figures of the whole graph are called and mean."""

from __future__ import annotations

from core.evaluation.metric import Metric, Suite

FAMILY = "whole"
STANDARD = Suite.STANDARD

_KERNEL = (
    "Unbiased squared maximum mean discrepancy with kernel exp(-4(d^2 + 1e-5)); it may be negative, and "
    "equal samples do not score 0"
)
_STEP = "a step (Eq. 20)"
_ALIKE = "Counts that differ by more than 1 all look alike."
_SHARES = (
    "cross entropy between the original's shares, arcs directed as stored, and the synthetic graph's, "
    "symmetrised; mean over steps (Eq. 21). Not a distance: read it beside its _self value"
)

_PAPER = (
    *(
        Metric(f"thepuff_{name}_mmd", f"THEPUFF {title}", f"{_KERNEL}: {of}", FAMILY, STANDARD, "lower")
        for name, title, of in (
            ("degree", "Degree", "degrees of all nodes, mean over steps (Eq. 18)."),
            ("cluster", "Cluster", f"mean local clustering, one value {_STEP}. It sees only gross changes."),
            ("triangle", "TC", f"triangle counts, one {_STEP}. {_ALIKE}"),
            ("largest_component", "LCC", f"nodes of the largest component, one count {_STEP}. {_ALIKE}"),
        )
    ),
    Metric("thepuff_meta2", "THEPUFF Meta-2", f"Meta-paths of two nodes: {_SHARES}.", FAMILY, STANDARD),
    Metric("thepuff_meta3", "THEPUFF Meta-3", f"Meta-paths of three nodes: {_SHARES}.", FAMILY, STANDARD),
)
_SELF = tuple(
    Metric(
        f"{metric.name}_self",
        f"{metric.title}, original against itself",
        f"{metric.title} of the original against itself: the scale on which {metric.title} is read.",
        FAMILY,
        STANDARD,
    )
    for metric in _PAPER
)
_OVERLAP = (
    Metric(
        "edge_overlap_rate",
        "EO-Rate",
        "Pairs shared with the original / pairs of the synthetic graph, undirected and untyped, public "
        "relations included; mean over steps (THEPUFF, Eq. 22). It says nothing about epsilon.",
        FAMILY,
        STANDARD,
    ),
    Metric(
        "edge_overlap",
        "Edge overlap",
        "The same of protected edges only, told apart by relation, direction and step, untimed edges counted "
        "once.",
        FAMILY,
        STANDARD,
    ),
)
_PATHS = tuple(
    Metric(
        f"meta_path_total_variation_{length}",
        f"Meta-paths of {length} nodes, total variation",
        f"Half the sum of |differences| of meta-path shares along simple undirected paths of {length} nodes, "
        "both graphs counted alike; mean over steps.",
        FAMILY,
        STANDARD,
        "lower",
    )
    for length in (2, 3, 4)
)

# What is followed over time: name in the report, the scalar of a row, title.
SERIES = (
    ("triangles", "triangles", "Triangles"),
    ("clustering", "mean_local_clustering", "Mean local clustering"),
    ("largest_component", "largest_component_share", "Largest component, share"),
)
_SEQUENCES = tuple(
    metric
    for name, _, title in SERIES
    for metric in (
        Metric(
            f"{name}_sequence_error",
            f"{title} over time, error",
            "Mean over steps of |original - synthetic| / max(original, synthetic), 0 where both are 0.",
            FAMILY,
            better="lower",
        ),
        Metric(
            f"{name}_sequence_correlation",
            f"{title} over time, correlation",
            "Pearson's correlation of both sequences over steps; null below three steps, or for a constant.",
            FAMILY,
            better="higher",
        ),
    )
)

WHOLE: tuple[Metric, ...] = _SEQUENCES + _PATHS + _OVERLAP + _PAPER + _SELF

# What is followed from step to step; definitions that need numbers take them from here.
TIME = "time"
FEWEST = 10  # edges or nodes that an error of a step is at least a share of, and that a rise reaches
RISE, LOST = 5, 0.5  # a step of five times the one before, of which a release has less than half
BURSTY_STEPS = 4  # steps that a node is active in before its gaps say something
TOP = 0.1  # share of a step's active nodes

LASTING: tuple[Metric, ...] = (
    Metric(
        "timed_edges", "Edges of a step", "Edges of protected relations with time, mean over steps.", TIME
    ),
    Metric("active_nodes", "Active nodes", "Nodes with such an edge in a step, mean over steps.", TIME),
    Metric(
        "edge_persistence",
        "Edges that persist",
        "Edges of a step that the next one has too / edges of the step; mean over steps where both have some "
        "(per node: Tang et al. 2010, Nicosia et al. 2013).",
        TIME,
    ),
    Metric(
        "edge_novelty",
        "New edges",
        "Edges that no earlier step had / edges of the step; mean over steps but the first "
        "(Poursafaei et al. 2022).",
        TIME,
    ),
    Metric(
        "activity_persistence",
        "Nodes that stay active",
        "Active nodes of a step that are active in the next one / active nodes; mean over steps where both "
        "have edges.",
        TIME,
    ),
    Metric(
        "burstiness",
        "Burstiness",
        f"(s - m) / (s + m) of the steps between a node's active steps, of mean m and deviation s; mean over "
        f"nodes active in {BURSTY_STEPS} steps or more. -1 regular, 0 as by chance, 1 in bursts (Goh, "
        "Barabasi 2008).",
        TIME,
    ),
)
_COMPARED = (
    *(
        Metric(name, title, f"Kolmogorov-Smirnov distance between both graphs' {what}.", TIME, better="lower")
        for name, title, what in (
            ("active_steps_ks", "Active steps, KS", "numbers of steps in which a node is active, all nodes"),
            ("activity_gaps_ks", "Gaps, KS", "steps between the active steps of a node, all gaps together"),
        )
    ),
    *(
        Metric(f"{name}_{form}", f"{title}, {told}", definition, TIME, better="lower")
        for name, title in (("edge_series", "Edges over time"), ("active_series", "Active nodes over time"))
        for form, told, definition in (
            ("error", "error", "Sum over steps of |original - synthetic| / sum of the original."),
            (
                "step_error",
                "error of a step",
                f"Mean over steps of |original - synthetic| / the larger of the original and {FEWEST}.",
            ),
        )
    ),
    Metric(
        "lost_rises",
        "Lost rises",
        f"Of the steps that have {RISE} times the edges of the one before (or of 1) and {FEWEST} or more, "
        "the share in which the synthetic graph has less than half of them.",
        TIME,
        better="lower",
    ),
    Metric(
        "degree_correlation",
        "Degrees, correlation",
        "Pearson's correlation of both graphs' degrees over all nodes, mean over steps; undefined where a "
        "step's degrees are all alike.",
        TIME,
        better="higher",
    ),
    Metric(
        "top_degree_overlap",
        "Top 10 % overlap",
        "Share of the tenth of a step's active nodes with the highest degrees that both graphs have, mean "
        "over steps. Expected where ties are drawn: a graph with ties has less than 1 with itself.",
        TIME,
        better="higher",
    ),
)
OVER_TIME: tuple[Metric, ...] = LASTING + _COMPARED
