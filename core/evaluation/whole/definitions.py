"""Names and meanings of the whole graph's figures."""

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
