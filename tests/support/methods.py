"""Methods that tests make up, and answers of registered ones that tests replace."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

import pytest

from core.methods import base, registry
from core.methods.base import FittedModel, Method


class MadeUp:
    """A method, and its own fitted model; what it says nothing of it answers as any of both does."""

    module: ClassVar[str] = __name__
    needs: tuple[str, ...] = ()
    hides_links = False
    accelerator = step = resume = sharding = mixing = resize = None
    claim: Any = staticmethod(base.no_claim)
    planned_reads: Any = staticmethod(base.no_reads)
    require_room: Any = staticmethod(base.no_more)
    true_shares: Any = staticmethod(base.no_evidence)
    cautions: Any = staticmethod(base.no_cautions)
    carries: Any = staticmethod(base.never)
    values_plan: Any = staticmethod(base.nothing_of)
    carries_nodes: Any = staticmethod(base.never)
    carries_vectors: Any = staticmethod(base.never)
    node_values_plan: Any = staticmethod(base.nothing_of)
    accelerated: Any = Method.accelerated
    synthesised: Any = Method.synthesised
    training: Any = FittedModel.training
    vectors: Any = FittedModel.vectors
    edge_weights: Any = FittedModel.edge_weights
    hidden_links: Any = FittedModel.hidden_links


def answering(monkeypatch: pytest.MonkeyPatch, name: str, **answers: Any) -> None:
    """Let the method of that name give other answers."""
    known = registry.generators() | {name: replace(registry.get(name), **answers)}
    monkeypatch.setattr(registry, "_discovered", lambda: MappingProxyType(known))
