"""Figures of what edges and nodes carry. They are synthetic; what was paid for stands next to them."""

from __future__ import annotations

from collections.abc import Iterator

from core.reports.carried import Carried, CarriedTable
from core.reports.html import banded
from core.reports.html.banded import Counted, Crossed
from graphveil.pages.figure import Figure

UNORDERED, VECTOR = "category", "vector"
BAND = "line: where the true number lies, 95 %"


def carried_figures(uid: str, found: Carried) -> list[Figure]:
    """Draw the figures of one attribute. They say how frequent values are, over time, and which values
    meet."""
    figures = [_histogram(uid, found)]
    if found.by_step is not None:
        figures.append(_by_step(f"{uid}-steps", found, found.by_step))
    if found.by_place is not None:
        figures.append(_by_place(f"{uid}-places", found, found.by_place))
    figures += [_mixing(f"{uid}-mixing-{k}", found, table) for k, table in enumerate(found.mixing)]
    return [figure for figure in figures if figure is not None]


def _histogram(uid: str, found: Carried) -> Figure | None:
    paid = found.paid or (None,) * len(found.bins)
    counts = [
        Counted(*each, found.within or 0) for each in zip(found.bins, found.released, paid, strict=True)
    ]
    counted = found.what.capitalize()
    if found.kind == VECTOR:
        counted = "Numbers of all places of nodes' vectors, but for the bin of 0,"
    text = f"{counted} of the release by {found.attribute}, in {len(counts)} bins."
    if found.paid is not None:
        text += f" Lines: paid numbers, each within {found.within} of the truth with probability 95 %."
    # Of a vector the bin of 0 is always left out, and named above.
    if found.left_out > (found.kind == VECTOR):
        text += f" The most frequent; {found.left_out} more bins are not shown."
    note = BAND if found.paid is not None else ""
    title = f"{found.attribute}: how frequent values are"
    ordered, axis = found.kind != UNORDERED, "Numbers" if found.kind == VECTOR else found.what.capitalize()
    return banded.histogram(uid, title, text, counts, ordered, axis, note)


def _by_step(uid: str, found: Carried, table: CarriedTable) -> Figure | None:
    text = f"Edges of the release by period and {found.attribute}"
    ends = "Snapshots", found.attribute
    return _shares(uid, table, f"{found.attribute} by snapshot", text, "period's edges", ends)


def _by_place(uid: str, found: Carried, table: CarriedTable) -> Figure | None:
    text = f"Numbers of {found.attribute} in the release by place and bin, but for the bin of 0"
    ends = "Places", found.attribute
    return _shares(uid, table, f"{found.attribute}, number by number", text, "place's numbers", ends)


def _mixing(uid: str, found: Carried, table: CarriedTable) -> Figure | None:
    columns = table.column_attribute or found.attribute
    ends = "both ends" if table.column_attribute is None else f"the source and {columns}"
    text = f"Edges of {table.edge_type} in the release by {found.attribute} of {ends}"
    title = f"{found.attribute}: who meets whom in {table.edge_type}"
    return _shares(uid, table, title, text, "row's edges", (found.attribute, columns))


def _shares(
    uid: str, table: CarriedTable, title: str, text: str, of: str, ends: tuple[str, str]
) -> Figure | None:
    """Draw a table by its shares: ``of`` says what each is a share of, ``ends`` names rows and columns."""
    stronger = f"{text}; the stronger a colour, the larger the share of the {of}.{_bound(table)}"
    note = f"stronger: a larger share of the {of}{_paid(table)}"
    return banded.heat(uid, title, stronger, _crossed(table, *ends), note)


def _paid(table: CarriedTable) -> str:
    return "" if table.within is None else f"; paid numbers are within {table.within:,}"


def _bound(table: CarriedTable) -> str:
    if table.within is None:
        return ""
    few, ends = table.most_edges_of_a_node, "both ends"
    if table.most_edges_of_a_target is not None:
        ends = f"their source and {table.most_edges_of_a_target} of their target"
    of = "" if few is None else f", which count edges among the first {few} of {ends} only"
    return f" The paid numbers{of}, are each within {table.within} of the truth with probability 95 %."


def _crossed(table: CarriedTable, one: str, other: str) -> Crossed:
    return Crossed(table.rows, table.columns, table.released, (one, other), list(_ends(table)))


def _ends(table: CarriedTable) -> Iterator[tuple[str, float, float, float]]:
    """Name each cell, with its count in the release and the ends of what its paid number says."""
    if table.paid is None or table.within is None:
        return
    for row, counts, paid in zip(table.rows, table.released, table.paid, strict=True):
        for column, released, number in zip(table.columns, counts, paid, strict=True):
            # Paid numbers may be negative, true ones never.
            low, high = max(0, number - table.within), max(0, number + table.within)
            yield f"{row}, {column}", float(released), float(low), float(high)
