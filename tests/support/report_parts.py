"""Reports made of plain numbers, without a graph behind them: what tests of their forms start from."""

from __future__ import annotations

from typing import Any

from core.reports.comparison import Comparison
from core.reports.evidence import Attacks, CuratorPart, Task
from core.reports.model import PublicPart, Report
from core.reports.scoring import curator_scores

NANO = 10**9
# Values of the original: none of them may ever stand in a public edition.
ORIGINAL = 314.15926535
METRICS = {
    "edges": ("Edges", "edges", None),
    "largest_component": ("Largest component", "components", None),
    "transitivity": ("Transitivity", "clustering", None),
    "density": ("Density", "edges", None),
}
ANCHORED_SCALARS = frozenset(
    {
        "density", "gini", "transitivity", "mean_local_clustering", "assortativity", "modularity",
        "largest_component_share",
    }
)  # fmt: skip
DISTANCES = {"degree_total_variation": ("Degree total variation", "degree", "lower")}


def described(metrics: dict[str, tuple[str, str, str | None]]) -> dict[str, Any]:
    """What the metrics mean."""
    return {
        name: {"title": title, "definition": f"What {name} is.", "family": family, "better": better}
        for name, (title, family, better) in metrics.items()
    }


def relation(name: str, steps: int | None, edges: int, **changes: Any) -> dict[str, Any]:
    """One relation of a synthetic graph; every metric is a function of ``edges``."""
    scalars: dict[str, float | None] = {
        "edges": edges,
        "largest_component": edges // 2,
        "transitivity": 0.125 if edges else None,
        "density": edges / 4950,
    }
    bins = [{"low": 0, "high": 0, "nodes": 100 - edges / 10}]
    bins += [{"low": 1, "high": 1, "nodes": edges / 10}] if edges else []
    return {
        "name": name,
        "source": "user",
        "target": "user",
        "directed": False,
        "copied": False,
        "edges": edges * (steps or 1),
        "rows": [{"step": t, "scalars": scalars} for t in (range(steps) if steps else (None,))],
        "means": scalars,
        "degrees": [
            {
                "side": "degree",
                "mean": edges / 50,
                "variance": 1.5,
                "median": 1.0,
                "maximum": float(min(edges, 1)),
                "isolated": 100 - edges / 10,
                "bins": bins,
            }
        ],
        **changes,
    }


def guarantee(**changes: Any) -> dict[str, Any]:
    """Pure epsilon 1 for one edge."""
    return {
        "kind": "pure",
        "epsilon": "1",
        "delta": "0",
        "unit": "edge",
        "window": None,
        "statement": "Graphs that differ in one edge only: P[S] <= e^1 P'[S] for every set S of releases.",
        "assurance": "proven",
        **changes,
    }


def purpose(
    mechanism: str, nano_epsilon: int | None, edge_type: str = "knows", **changes: Any
) -> dict[str, Any]:
    """One row of the transcript."""
    return {
        "purpose": mechanism,
        "mechanism": mechanism,
        "edge_type": edge_type,
        "operations": 1,
        "nano_epsilon": nano_epsilon,
        "within_group": False,
        **changes,
    }


def public_part(
    relations: list[dict[str, Any]],
    *,
    steps: int | None = None,
    promise: dict[str, Any] | None = None,
    purposes: list[dict[str, Any]] | None = None,
    **changes: Any,
) -> PublicPart:
    """The public part of a release with these relations."""
    rows = [purpose("discrete_laplace/edge_count", NANO // 10)] if purposes is None else purposes
    content: dict[str, Any] = {
        "guarantee": promise or guarantee(unit="event" if steps else "edge"),
        "transcript": {
            "operations": len(rows),
            "by_purpose": rows,
            "per_step_nano_epsilon": [NANO] * steps if steps else None,
            "untimed_nano_epsilon": 0,
        },
        "parameters": {"count_share": 0.3, "edge_types": [r["name"] for r in relations if not r["copied"]]},
        "precision": [precision(r["name"]) for r in relations if not r["copied"]],
        "statistics": {
            "nodes": {"user": 100},
            "steps": steps,
            "steps_evaluated": steps or 1,
            "metrics": described(METRICS),
            "edge_types": relations,
        },
        "provenance": {
            "job_id": "job_1",
            "dataset_id": "ds_1",
            "dataset_version": "ver_1",
            "method": "psgraph",
            "method_title": "PSGraph",
            "graphveil_version": "0.1.0",
            "plan_digest": "0" * 64,
            "randomness": "operating system",
            "artifacts": [
                {"name": "edges.parquet", "media_type": "x/y", "size_bytes": 12345, "sha256": "a" * 64}
            ],
            "libraries": {"numpy": "2.0"},
        },
        "caveats": [{"code": "node_privacy_not_offered", "text": "Nodes are public."}],
        **changes,
    }
    return PublicPart.model_validate(content)


def precision(edge_type: str, **changes: Any) -> dict[str, Any]:
    """Edge counts under noise of scale 10."""
    return {
        "edge_type": edge_type,
        "query": "edge_count",
        "quantity": "edges",
        "within": 30,
        "confidence": 0.95,
        "snapshots": None,
        "released": 100.0,
        **changes,
    }


def anchors(**distances: tuple[float, float]) -> dict[str, Any]:
    """The ends of the scale: for every named metric how far a uniform graph and a resample are off."""

    def row(place: int) -> dict[str, Any]:
        scalars = {
            name: {
                "original": 0.5,
                "synthetic": 0.5 - ends[place] * (0.5 if name == "density" else 1),
                "absolute_error": ends[place] * (0.5 if name == "density" else 1),
                "relative_error": 2 * ends[place],
            }
            for name, ends in distances.items()
            if name in ANCHORED_SCALARS
        }
        far = {name: ends[place] for name, ends in distances.items() if name not in ANCHORED_SCALARS}
        return {"step": None, "scalars": scalars, "distances": far}

    return {"draws": 1, "uniform": row(0), "resampled": row(1)}


def compared_row(step: int | None, public: dict[str, float | None]) -> dict[str, Any]:
    """A row of a comparison whose original values are all ``ORIGINAL``, apart from the density."""
    scalars: dict[str, Any] = {}
    for name, value in public.items():
        truth = 0.02 if name == "density" else ORIGINAL
        error = None if value is None else abs(value - truth)
        scalars[name] = {
            "original": truth,
            "synthetic": value,
            "absolute_error": error,
            "relative_error": None if error is None else error / truth,
        }
    return {"step": step, "scalars": scalars, "distances": {"degree_total_variation": 0.25}}


def comparison(public: PublicPart, **changes: Any) -> Comparison:
    """A comparison of every relation that was not copied."""
    found = []
    for of in public.statistics.edge_types:
        if of.copied:
            continue
        bins = [
            {"low": b.low, "high": b.high, "original": ORIGINAL, "synthetic": b.nodes}
            for b in of.degrees[0].bins
        ]
        found.append(
            {
                "name": of.name,
                "rows": [compared_row(row.step, row.scalars) for row in of.rows],
                "means": compared_row(None, of.means),
                "degrees": [{"side": "degree", "bins": bins}],
            }
        )
    content = {
        "suite": "standard",
        "steps_evaluated": public.statistics.steps_evaluated,
        "metrics": described(METRICS | DISTANCES),
        "edge_types": found,
        "overall": found[0]["means"] if found else None,
        "anchors": anchors(degree_total_variation=(0.75, 0.05), density=(0.0, 0.01)) if found else None,
    }
    return Comparison.model_validate(content | changes)


def attack(auc: float, **changes: Any) -> dict[str, Any]:
    """An attack with this AUC on the release, and 0.95 on the original."""

    def score(value: float) -> dict[str, Any]:
        rate = {"value": 0.1, "low": 0.05, "high": 0.2}
        around = {"value": value, "low": max(0.0, value - 0.02), "high": min(1.0, value + 0.02)}
        return {"auc": around, "tpr_at_fpr_1e3": None, "tpr_at_fpr_1e2": rate}

    return {
        "name": "common_neighbours",
        "title": "Common neighbours",
        "knowledge": "Counts shared neighbours.",
        "edge_type": "knows",
        "positives": 1000,
        "negatives": 1000,
        "published": score(auc),
        "reference": score(0.95),
        **changes,
    }


def attacks(*inference: dict[str, Any], per_step: float = 0.02, sequence: float = 0.03) -> Attacks:
    """A degree signature beside these attacks."""
    return Attacks.model_validate(
        {
            "degree_signature": {
                "steps": 1,
                "per_step": per_step,
                "sequence": sequence,
                "reference_per_step": 0.5,
                "reference_sequence": 0.75,
                "per_type": {"user": per_step},
                "reference_per_type": {"user": 0.5},
            },
            "inference": inference,
        }
    )


def task(original: float | None, synthetic: float | None, **changes: Any) -> Task:
    """Link prediction whose guessing scores 0.5."""
    content = {
        "name": "link_prediction",
        "title": "Link prediction",
        "definition": "AUC of a model.",
        "subject": "knows",
        "measure": "auc",
        "trained_on_original": original,
        "trained_on_synthetic": synthetic,
        "baseline": 0.5,
        "repetitions": 3,
    }
    return Task.model_validate(content | changes)


def curator_part(
    public: PublicPart,
    compared: Comparison | None = None,
    attacked: Attacks | None = None,
    done: tuple[Task, ...] = (),
    **changes: Any,
) -> CuratorPart:
    """The curators' part that belongs to ``public``."""
    compared = compared or comparison(public)
    attacked = attacked or attacks(attack(0.6))
    scores = curator_scores(public.guarantee, compared, attacked, done)
    content = {"suite": "standard", "comparison": compared, "attacks": attacked, "tasks": done}
    return CuratorPart(**{**content, "scores": scores, **changes})


def report(part: PublicPart, curator: CuratorPart | None = None) -> Report:
    """Both parts as they are served."""
    return Report(public=part, curator=curator)
