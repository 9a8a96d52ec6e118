"""A pytest plugin, ``-p tests.support.other_floats``: torch's sums and products end in other last bits.

Processors add the terms of a float32 sum in different orders, so a test that holds by a last bit passes on
one model and fails on the next. Here sums and products are reckoned in float64 and rounded, which no kernel
for float32 does: a processor that nobody has. Whatever fails with this plugin holds by luck.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

SUMS = frozenset(
    getattr(torch.ops.aten, name)
    for name in (
        *(
            "mm",
            "addmm",
            "bmm",
            "baddbmm",
            "mv",
            "dot",
            "sum",
            "mean",
            "cumsum",
            "norm",
            "linalg_vector_norm",
        ),
        *(
            "_embedding_bag",
            "_embedding_bag_forward_only",
            "index_add",
            "scatter_add",
            "_softmax",
            "logsumexp",
        ),
    )
)
"""Operations whose terms have no order of their own."""


class OtherFloats(TorchDispatchMode):
    """Reckons every operation of :data:`SUMS` on float32 in float64, and rounds what comes out."""

    def __init__(self) -> None:
        super().__init__()
        self.changed = 0

    def __torch_dispatch__(self, operation: Any, kinds: Any, given: tuple, named: dict | None = None) -> Any:
        named = named or {}
        if operation.overloadpacket not in SUMS or not any(
            isinstance(each, torch.Tensor) and each.dtype == torch.float32 for each in given
        ):
            return operation(*given, **named)
        self.changed += 1
        wide = tree_map_only(torch.Tensor, _widened, (given, named))
        return tree_map_only(torch.Tensor, _rounded, operation(*wide[0], **wide[1]))


def _widened(given: torch.Tensor) -> torch.Tensor:
    return given.double() if given.dtype == torch.float32 else given


def _rounded(given: torch.Tensor) -> torch.Tensor:
    return given.float() if given.dtype == torch.float64 else given


@pytest.fixture(autouse=True, scope="session")
def other_floats() -> Iterator[OtherFloats]:
    """All arithmetic is another processor's, that of fixtures too."""
    with OtherFloats() as mode:
        yield mode
