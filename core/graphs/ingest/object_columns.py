"""Columns of what an object's edges and nodes carry. Here stands too what is not said of its edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from core.graphs.schema.names import column_names


def carried_columns(
    given: Mapping[str, Sequence[Any]], structural: Iterable[str]
) -> tuple[dict[str, pa.Array], dict[str, str]]:
    """Make a column of each attribute. Its name is one that no structure has; said is of which there is
    none."""
    found, unread = {}, {}
    for name, values in zip(column_names(list(given), frozenset(structural)), given.values(), strict=True):
        try:
            found[name] = pa.array(values)
        except (pa.ArrowException, TypeError, OverflowError) as error:
            unread[name] = str(error)
    return found, unread


def told_one_way(source: np.ndarray, target: np.ndarray, directed: bool | None, what: str) -> tuple[str, ...]:
    """Warn where some edge stands in one direction only. Nobody said whether that means something."""
    if directed is not None or not len(source):
        return ()
    pairs = np.unique(np.stack([source, target], axis=1), axis=0)
    turned = np.unique(pairs[:, ::-1], axis=0)
    if np.array_equal(pairs, turned):
        return ()
    return (
        f"{what}, and nobody said whether its edges have a direction: they were taken as having none. Give "
        "directed=True where they have one, directed=False where they have none.",
    )
