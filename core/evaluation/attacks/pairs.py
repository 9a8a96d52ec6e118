"""Pairs of a view's nodes as sorted keys. They tell whether pairs are linked, at O(log m) a pair."""

from __future__ import annotations

import numpy as np

from core.evaluation.view import UndirectedView

Pairs = tuple[np.ndarray, np.ndarray]


def pair_keys(node_count: int, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Pack each unordered pair into one int64."""
    keys: np.ndarray = np.minimum(source, target) * node_count + np.maximum(source, target)
    return keys


def link_keys(view: UndirectedView) -> np.ndarray:
    """Sort the keys of the view's links. O(m log m). Ask through :meth:`UndirectedView.once`."""
    return np.sort(pair_keys(view.node_count, view.u, view.v))


def contains(ordered: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Tell whether each key stands in the sorted array, bool."""
    if not len(ordered):
        return np.zeros(len(keys), dtype=bool)
    among: np.ndarray = ordered[np.searchsorted(ordered, keys).clip(max=len(ordered) - 1)] == keys
    return among


def are_linked(view: UndirectedView, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Tell whether each pair is a link of the view.

    The result is bool; O(log m) a pair after one sort of the links.
    """
    return contains(view.once(link_keys), pair_keys(view.node_count, source, target))
