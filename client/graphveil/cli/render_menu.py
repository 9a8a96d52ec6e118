"""A menu of plans on a terminal. There is a row for each method, epsilon and relation."""

from __future__ import annotations

from rich.markup import escape

from graphveil.cli.console import out, table
from graphveil.cli.render import answer_of, divided
from graphveil.models.plans import Menu, MenuItem


def menu(found: Menu) -> None:
    """Print what plans cost, leave and tell. Then comes why those that are refused are."""
    asked = list(dict.fromkeys(each.question for item in found.items for each in item.expected))
    made = table(None, "method", "epsilon", "left", "relation", *asked)
    for item in found.items:
        for relation in relations(item):
            told = {each.question: each for each in item.expected if each.edge_type == relation}
            left = "refused" if item.refused else item.remaining or ""
            cells = [_short(told[name].value, told[name].unit) if name in told else "" for name in asked]
            made.add_row(item.method, item.epsilon, left, escape(relation), *cells)
    unit = f"{found.unit} ({found.window} steps)" if found.window else found.unit
    out.print(f"Epsilon {found.budget.remaining.epsilon} remains; unit {unit}. Nothing was reserved.")
    out.print(made)
    shares = {item.method: item.shares for item in found.items if item.shares}
    for name, own in shares.items():
        out.print(f"[dim]{name} divides epsilon: {divided(own)}[/dim]")
    for name, method in {each.question: each.method for i in found.items for each in i.expected}.items():
        out.print(f"[dim]{name}: {escape(method)}[/dim]")
    for assumed in dict.fromkeys(each.assumed for i in found.items for each in i.expected if each.assumed):
        out.print(f"[dim]assumed: {escape(assumed)}[/dim]")
    for item in found.items:
        if item.refused:
            why = f"{item.method} at epsilon {item.epsilon}: {item.refused.detail}"
            out.print(f"[yellow]{escape(why)}[/yellow]")


def relations(item: MenuItem) -> list[str]:
    """List the relations that a plan says something of. One is nameless where it says nothing."""
    return list(dict.fromkeys(each.edge_type for each in item.expected)) or [""]


def _short(value: float, unit: str) -> str:
    """Write an answer without its unit, which the question's method says."""
    return answer_of(value, unit).split(" ")[0]
