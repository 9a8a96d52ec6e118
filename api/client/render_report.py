"""A report on a terminal: the guarantee in words, the charge, the statistics, the comparison for curators."""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from rich.panel import Panel

from api.client.console import out, table

_SCALARS = (
    ("edges", "edges"),
    ("density", "density"),
    ("triangles", "triangles"),
    ("transitivity", "transitivity"),
    ("mean_local_clustering", "mean local clustering"),
    ("assortativity", "degree assortativity"),
    ("modularity", "modularity"),
    ("components", "components"),
    ("largest_component_share", "largest component, share"),
)


def report(found: dict[str, Any]) -> None:
    """Both parts, as far as the caller was given them."""
    public = found["public"]
    _guarantee(public["guarantee"])
    _charge(public.get("charge"))
    for notice in public.get("notices", []):
        out.print(f"[yellow]note[/yellow] {escape(notice['text'])}")
    _statistics(public["statistics"])
    curator = found.get("curator")
    if curator is not None:
        _curator(curator)


def _guarantee(guarantee: dict[str, Any]) -> None:
    lines = [escape(guarantee["statement"])]
    lines += [f"[dim]{escape(reason)}[/dim]" for reason in guarantee.get("reasons", [])]
    lines.append(
        f"[dim]method {guarantee['assurance']}; kind {guarantee['kind']}; unit {guarantee['unit']}[/dim]"
    )
    style = "red" if guarantee["kind"] == "none" else "green"
    out.print(Panel("\n".join(lines), title="guarantee", title_align="left", border_style=style))


def _charge(charge: dict[str, Any] | None) -> None:
    if charge is None:
        return
    cost = charge.get("charged_epsilon") or "nothing"
    left = charge.get("remaining_epsilon")
    out.print(f"charged epsilon {cost} to {charge['account_id']}; {left} is left now", highlight=False)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.4g}"


def _statistics(statistics: dict[str, Any]) -> None:
    made = table("the synthetic graph", "", *(escape(one["name"]) for one in statistics["edge_types"]))
    for key, name in _SCALARS:
        made.add_row(name, *(_number(one["means"].get(key)) for one in statistics["edge_types"]))
    nodes = ", ".join(f"{count} {escape(name)}" for name, count in statistics["nodes"].items())
    steps = f", {statistics['steps']} steps (means over steps)" if statistics.get("steps") else ""
    out.print(f"\nnodes: {nodes}{steps}", highlight=False)
    out.print(made)


def _curator(curator: dict[str, Any]) -> None:
    """For curators: every figure is a function of the original."""
    if curator.get("comparison") is None:
        out.print(f"\n[dim]comparison with the original: {curator.get('status', 'none')}[/dim]")
        return
    for relation in curator["comparison"]["edge_types"]:
        title = f"{escape(relation['name'])}: compared with the original (curators only)"
        made = table(title, "", "original", "synthetic", "relative error")
        means = relation["means"]
        for key, name in _SCALARS:
            row = means["scalars"].get(key)
            if row:
                values = (row["original"], row["synthetic"], row["relative_error"])
                made.add_row(name, *(_number(value) for value in values))
        for key, value in means["distances"].items():
            made.add_row(key.replace("_", " "), "", "", _number(value))
        out.print(made)
