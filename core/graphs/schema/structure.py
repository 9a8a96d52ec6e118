"""Columns of a list that are named as structure. They are kept apart from it, by names of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.graphs.schema import GRAPH_ID
from core.graphs.schema.names import column_names, renamed

_STRUCTURE = {"edges": ("source", "target", "time", "type", GRAPH_ID), "nodes": ("id", "type", GRAPH_ID)}
_TAKEN = {"edges": ("id", "key", "step", "source_type", "target_type"), "nodes": ("node_id",)}
"""Names that mean something to us, and nothing in a list: a column of that name is an attribute."""


def columns_apart(
    names: Sequence[str],
    part: str,
    wanted: Sequence[str],
    remark: Callable[[str], None] = lambda text: None,
) -> list[str]:
    """Rename columns that would read as structure. A schema can then hold them, and none is taken for
    structure.

    ``remark`` is told which are called otherwise than in their file.
    """
    made = list(names)
    places = [place for place, name in enumerate(names) if name and name not in _STRUCTURE[part]]
    given = [names[place] for place in places]
    plain = column_names(given, set(_TAKEN[part]) - set(wanted))
    if renaming := renamed(given, plain):
        remark(renaming)
    for place, name in zip(places, plain, strict=True):
        made[place] = name
    return made
