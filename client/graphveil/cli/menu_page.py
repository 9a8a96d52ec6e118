"""A menu of plans as one self-contained page. It has predictions against epsilon, a line for each method."""

from __future__ import annotations

from graphveil.models.plans import Menu
from graphveil.pages.against import Panel, Planned, Spread, menu_page


def page(menu: Menu) -> str:
    """Render a chart for each answered question and relation. Any of the plans may answer it."""
    epsilons = list(dict.fromkeys(item.epsilon for item in menu.items))
    methods = list(dict.fromkeys(item.method for item in menu.items))
    asked = {(each.question, each.edge_type): each for item in menu.items for each in item.expected}
    told = {
        (item.method, item.epsilon, each.question, each.edge_type): each.value
        for item in menu.items
        for each in item.expected
    }
    panels = []
    for (question, relation), first in asked.items():
        spreads = {
            method: [
                None if value is None else Spread(value, None, 0)
                for value in (told.get((method, epsilon, question, relation)) for epsilon in epsilons)
            ]
            for method in methods
        }
        assumed = f" Assumed: {first.assumed}." if first.assumed else ""
        panels.append(
            Panel(f"{question}, {relation}", f"In {first.unit}. {first.method}{assumed}", "", None, spreads)
        )
    unit = f"{menu.unit}, window {menu.window}" if menu.window else menu.unit
    facts = [
        ("Methods", ", ".join(methods)),
        ("Epsilons", ", ".join(epsilons)),
        ("Unit", unit),
        ("Remaining epsilon", menu.budget.remaining.epsilon),
    ]
    refused = [
        f"{item.method} at epsilon {item.epsilon}: {item.refused.detail}"
        for item in menu.items
        if item.refused
    ]
    return menu_page(Planned(menu.dataset_id, facts, epsilons, methods, panels, refused))
