"""Parts of reports of every kind, without a graph behind them: what tests of a report's forms start from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.privacy.accounting.guarantee import MARK
from core.reports.base import Notice
from core.reports.evidence import CuratorPart
from core.reports.model import Charge, PublicPart
from tests.support import report_parts

# Markup of every form that a report takes, and a line break.
HOSTILE = '<script>alert(1)</script> |a|b| `c` [x](http://h.example) **d** "e"\n# f'
# Figures of the original: they may stand in a curators' edition only.
CURATORS_ONLY = (0.7071, 0.3183, 0.5772, 0.6931, 0.015)
NANO = 10**9


def _file(name: str, size_bytes: int) -> dict[str, Any]:
    kinds = {"csv": "text/csv", "json": "application/json", "parquet": "application/vnd.apache.parquet"}
    digest = f"{sum(name.encode()):064x}"
    return {
        "name": name,
        "media_type": kinds[name.rsplit(".", 1)[1]],
        "size_bytes": size_bytes,
        "sha256": digest,
    }


def _provenance(**changes: Any) -> dict[str, Any]:
    names = ("edges.parquet", "graph.csv", "nodes.parquet", "schema.json")
    return {
        "job_id": "job_01k8zv2v9h6t0h3r6b8mkx2n4e",
        "dataset_id": "ds_01k8zv2v9h6t0h3r6b8mkx2n4f",
        "dataset_version": "ver_01k8zv2v9h6t0h3r6b8mkx2n4g",
        "method": "psgraph",
        "chosen_because": "A static graph: it suits.",
        "method_title": "PSGraph",
        "graphveil_version": "0.1.0",
        "plan_digest": "0" * 64,
        "randomness": "operating system",
        "artifacts": [_file(name, 1000 + index) for index, name in enumerate(names)],
        "libraries": {"numpy": "2.0"},
        **changes,
    }


def _guarantee(**changes: Any) -> dict[str, Any]:
    return report_parts.guarantee(epsilon="1.5", **changes)


def _caveat(code: str, text: str, edge_type: str | None = None) -> dict[str, Any]:
    return {"code": code, "text": text, "edge_type": edge_type}


_NODES = _caveat("node_privacy_not_offered", "Node-level privacy is not offered: the set of nodes is public.")


def _part(relations: list[dict[str, Any]], **changes: Any) -> PublicPart:
    asked = [relation["name"] for relation in relations if not relation["copied"]]
    given = {
        "purposes": [report_parts.purpose("discrete_laplace/edge_count", NANO, asked[0])],
        "parameters": {"chain": 16, "edge_types": asked, "speed": "fast"},
        "provenance": _provenance(),
        "caveats": [_NODES],
    }
    return report_parts.public_part(relations, **(given | changes))


def static() -> PublicPart:
    """One relation without time, pure epsilon 1.5."""
    caveats = [_NODES, _caveat("unit_edge", "The guarantee covers one edge.")]
    return _part([report_parts.relation("mail", None, 100)], promise=_guarantee(), caveats=caveats)


def temporal() -> PublicPart:
    """Twelve snapshots under approximate w-event privacy, and a public relation that was copied."""
    copied = report_parts.relation("is_a", None, 30, target="kind", copied=True)
    ends = [copied["degrees"][0] | {"side": side} for side in ("source", "target")]
    caveats = [
        _NODES,
        _caveat("unit_w_event", "The guarantee covers changes within 4 consecutive snapshots."),
        _caveat("public_relation_copied", "It is copied as it is.", "is_a"),
    ]
    return _part(
        [report_parts.relation("mail", 12, 100), copied | {"degrees": ends}],
        steps=12,
        promise=_guarantee(kind="approximate", delta="0.000001", unit="w-event", window=4),
        caveats=caveats,
    )


def unbounded() -> PublicPart:
    """No guarantee; the paper claims one."""
    promise = _guarantee() | {
        "kind": "none",
        "epsilon": None,
        "delta": None,
        "statement": "No privacy guarantee: the method read the raw graph.",
        "assurance": "experimental",
        "reasons": ["The walks are drawn from the raw graph."],
        "claimed": {"epsilon": "1", "delta": "0", "source": "The paper, Theorem 4.1"},
    }
    caveats = [_NODES, _caveat("no_guarantee", "This release carries no privacy guarantee.")]
    return _part([report_parts.relation("mail", None, 100)], promise=promise, caveats=caveats)


def unread() -> PublicPart:
    """Made from declarations: the plan had no read."""
    promise = _guarantee() | {"kind": "unread", "epsilon": "0", "delta": "0", "statement": MARK}
    return _part(
        [report_parts.relation("mail", None, 100)],
        promise=promise,
        purposes=[],
        caveats=[_caveat("from_declarations", f"{MARK} Conclude nothing from it.")],
    )


def hostile() -> PublicPart:
    """Every name that somebody chose is markup."""
    relation = report_parts.relation(HOSTILE, None, 100, source=HOSTILE, target=HOSTILE)
    return _part(
        [relation],
        promise=_guarantee(kind="approximate", delta="0.000001", statement=f"Said of {HOSTILE}."),
        provenance=_provenance(dataset_id=HOSTILE, method_title=HOSTILE),
        caveats=[_NODES, _caveat("public_relation_copied", f"Copied: {HOSTILE}", HOSTILE)],
    )


EVERY_PART: dict[str, Callable[[], PublicPart]] = {
    "static": static,
    "temporal": temporal,
    "none": unbounded,
    "unread": unread,
}


def charge() -> Charge:
    """What a release cost. What remains must stand in no form that everybody reads."""
    return Charge.model_validate(
        {
            "account_id": "acc_1",
            "filter": "basic",
            "charged": {"epsilon": 1_500_000_000, "delta": 0},
            "remaining": {"epsilon": 987654321, "delta": 0},
            "charged_epsilon": "1.5",
            "remaining_epsilon": "0.987654321",
        }
    )


def curator(name: str = "mail") -> CuratorPart:
    """The curators' part about one relation and one node type of this name."""
    public = _part([report_parts.relation(name, None, 100)], promise=_guarantee())
    values = dict(zip(("transitivity", "density"), CURATORS_ONLY[1:3], strict=True))
    row = {
        "step": None,
        "scalars": {
            metric: {
                "original": value,
                "synthetic": 0.25,
                "absolute_error": abs(value - 0.25),
                "relative_error": abs(value - 0.25) / value,
            }
            for metric, value in values.items()
        },
        "distances": {"degree_total_variation": CURATORS_ONLY[3]},
    }
    relation = {"name": name, "rows": [row], "means": row, "degrees": []}
    whole = {
        "rows": [row],
        "means": row,
        "sequences": {"degree_total_variation": 0.125},
        "node_types": [{"name": name, "distances": {"degree_total_variation": 0.375}}],
        "meta_paths": [{"path": f"{name}-{name}", "length": 2, "original": 0.625, "synthetic": 0.5}],
    }
    compared = report_parts.comparison(public, edge_types=[relation], overall=row, whole=whole)
    found = report_parts.attack(CURATORS_ONLY[0], edge_type=name)
    found["published"]["auc"] |= {"low": 0.6, "high": 0.8}
    idle = report_parts.attack(0.5, title="SEAL", edge_type=name, published=None, reference=None)
    idle["not_run"] = "The relation is too small."
    return report_parts.curator_part(
        public,
        compared,
        report_parts.attacks(found, idle, per_step=CURATORS_ONLY[4], sequence=0.25),
        (report_parts.task(0.9, 0.7, subject=name),),
        warnings=(
            Notice(
                code="small_denominator",
                text="Read the absolute error.",
                edge_type=name,
                metric="density",
            ),
        ),
    )
