"""A report on a terminal: the guarantee in words, precision, charge, statistics, and for curators scores.

A screen or two, which is why it is not the served Markdown: that is the whole report (``--format markdown``),
ten times as long at 80 columns.
"""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from rich.panel import Panel

from graphveil.cli.console import out, table
from graphveil.cli.render_risk import learned
from graphveil.models.reports import ROWS
from graphveil.risk import SPENT, THIS, WHOLE, rows


def report(found: dict[str, Any]) -> None:
    """Print both parts, as far as the caller was given them."""
    public = found["public"]
    _guarantee(public["guarantee"])
    _risk(public["guarantee"], public.get("charge"))
    _precision(public["precision"])
    _charge(public.get("charge"))
    _notices("note", public["caveats"])
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
    out.print(
        Panel("\n".join(lines), title="guarantee", title_align="left", border_style=style, expand=False)
    )


def _risk(guarantee: dict[str, Any], charge: dict[str, Any] | None) -> None:
    """Print what somebody can learn of one unit, from the guarantee alone."""
    if guarantee["kind"] == "none":
        return
    costs = [(THIS, guarantee["epsilon"], guarantee["delta"])]
    told = charge or {}
    if told.get("spent_epsilon") and not told.get("exposed"):
        costs.append((SPENT, told["spent_epsilon"], told.get("spent_delta")))
        costs.append((WHOLE, told.get("capacity_epsilon"), told.get("capacity_delta")))
    learned(rows(costs))


def _precision(found: list[dict[str, Any]]) -> None:
    """Print how near the paid figures are to the truth, in their units."""
    if not found:
        return
    made = table(
        "predicted precision, each figure by itself", "relation", "quantity", "within", "in the release"
    )
    for each in found:
        bound = f"± {each['within']} ({each['confidence']:.0%})"
        made.add_row(
            escape(each["edge_type"].removeprefix(ROWS)),
            each["quantity"],
            bound,
            _number(each["released"]),
        )
    out.print(made)


def _scores(title: str, scores: dict[str, Any]) -> None:
    shown = (f"{name} {_score(scores.get(name))}" for name in ("protection", "utility"))
    out.print(f"{title}: {', '.join(shown)}")


def _score(score: dict[str, Any] | None) -> str:
    return "not scored" if score is None else f"{score['value']:.1f} of 10"


def _charge(charge: dict[str, Any] | None) -> None:
    if charge is None:
        return
    cost = charge.get("charged_epsilon") or "nothing"
    left = charge.get("remaining_epsilon")
    out.print(f"charged epsilon {cost} to {charge['account_id']}; {left} is left now")
    if charge.get("exposed"):
        out.print("[red]The account is exposed: no epsilon can be claimed for its datasets.[/red]")


def _notices(word: str, notices: list[dict[str, Any]]) -> None:
    for notice in notices:
        where = ", ".join(escape(notice[key]) for key in ("edge_type", "metric") if notice.get(key))
        about = f" ({where})" if where else ""
        out.print(f"[yellow]{word}[/yellow]{about} {escape(notice['text'])}")


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    whole = float(value).is_integer() or abs(value) >= 1_000
    return f"{value:.0f}" if whole else f"{value:.4g}"


def _titles(metrics: dict[str, Any], names: list[str]) -> list[tuple[str, str]]:
    """Pair the names with their titles, each once, in the order of their first use."""
    return [(name, escape(metrics.get(name, {}).get("title", name))) for name in dict.fromkeys(names)]


def _statistics(statistics: dict[str, Any]) -> None:
    relations = statistics["edge_types"]
    made = table("the synthetic graph", "", *(escape(one["name"]) for one in relations))
    names = [name for one in relations for name in one["means"]]
    for name, title in _titles(statistics["metrics"], names):
        made.add_row(title, *(_number(one["means"].get(name)) for one in relations))
    nodes = ", ".join(f"{count} {escape(name)}" for name, count in statistics["nodes"].items())
    steps = f", {statistics['steps']} steps (means over steps)" if statistics.get("steps") else ""
    out.print(f"\nnodes: {nodes}{steps}")
    out.print(made)


def _curator(curator: dict[str, Any]) -> None:
    """Print what is for curators only, since every figure is a function of the original."""
    if curator.get("comparison") is None:
        out.print(f"\n[dim]comparison with the original: {curator.get('status', 'none')}[/dim]")
        return
    out.print("")
    _scores("as measured and attacked (curators only)", curator["scores"])
    _notices("warning", curator["warnings"])
    metrics = curator["comparison"]["metrics"]
    for relation in curator["comparison"]["edge_types"]:
        title = f"{escape(relation['name'])}: compared with the original (curators only)"
        made = table(title, "", "original", "synthetic", "relative error")
        means = relation["means"]
        for name, shown in _titles(metrics, list(means["scalars"])):
            row = means["scalars"][name]
            values = (row["original"], row["synthetic"], row["relative_error"])
            made.add_row(shown, *(_number(value) for value in values))
        for name, shown in _titles(metrics, list(means["distances"])):
            made.add_row(shown, "", "", _number(means["distances"][name]))
        out.print(made)
    _hidden(curator["attacks"].get("sensitive"))
    _attacks(curator["attacks"]["inference"])


def _hidden(found: dict[str, Any] | None) -> None:
    """Print what attackers find of the links that the release hides."""
    run = [attack for attack in (found or {}).get("attacks", ()) if attack.get("not_run") is None]
    if not run:
        return
    made = table(
        "hidden links, max(AUC, 1 - AUC); worst first (curators only)", "", "on", "release", "AUC before"
    )
    for attack in run:
        before = attack.get("before")
        shown = (f"{attack['figure']:.3f}", "-" if before is None else f"{before['value']:.3f}")
        made.add_row(escape(attack["title"]), escape(attack["edge_type"]), *shown)
    out.print(made)


def _attacks(attacks: list[dict[str, Any]]) -> None:
    run = [attack for attack in attacks if attack.get("not_run") is None]
    if not run:
        return
    made = table("attacks, AUC; 0.5 is guessing (curators only)", "", "on", "release", "original")
    for attack in run:
        scores = (attack.get("published"), attack.get("reference"))
        shown = ("-" if score is None else f"{score['auc']['value']:.3f}" for score in scores)
        made.add_row(escape(attack["title"]), escape(attack.get("edge_type") or "features"), *shown)
    out.print(made)
