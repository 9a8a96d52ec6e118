"""Adam over a list of tensors, by torch's own update.

``torch.optim.Adam`` does the same. This stays because the first object of that class imports torch's
compiler, which nothing here uses: 70 MB, and seconds of a fit that takes some ten.
Source: Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.optim.adam import adam

BETAS, EPSILON = (0.9, 0.999), 1e-8


class Adam:
    """Moves ``parameters`` against their gradients."""

    def __init__(self, parameters: Iterable[torch.Tensor], rate: float) -> None:
        self._parameters = list(parameters)
        self._rate = rate
        self._means = [torch.zeros_like(each) for each in self._parameters]
        self._squares = [torch.zeros_like(each) for each in self._parameters]
        self._steps = [torch.zeros((), device=each.device) for each in self._parameters]

    def step(self) -> None:
        """Move every parameter by its gradient. The gradient is gone afterwards; each must have one."""
        gradients = [each.grad for each in self._parameters]
        with torch.no_grad():
            adam(
                self._parameters,
                gradients,  # type: ignore[arg-type]
                self._means,
                self._squares,
                [],
                self._steps,
                fused=True,
                amsgrad=False,
                beta1=BETAS[0],
                beta2=BETAS[1],
                lr=self._rate,
                weight_decay=0.0,
                eps=EPSILON,
                maximize=False,
            )
        for each in self._parameters:
            each.grad = None
