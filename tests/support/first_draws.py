"""The first block of every source of randomness that a child can draw from, as text, by source."""

from __future__ import annotations

import random
import secrets
import uuid
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import torch
from scipy import stats

from core import ids
from core.graphs.schema import EdgeType
from core.graphs.views.networkit import networkit as loaded
from core.privacy import entropy
from core.privacy.mechanisms import gradients, lazy_response, samplers
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms.randomised_response import Flips
from core.privacy.queries import Shape

WIDE = 1_000
"""A scale of noise at which two blocks of eight do not coincide by chance in our lifetime."""
_ZEROS = np.zeros(8, dtype=np.int64)
_MANY = np.zeros(20_000, dtype=np.int64)


@numba.njit
def _of_numba() -> float:
    return np.random.random() + np.random.random() * 2.0**-20


@numba.njit
def _of_a_kernel(rng: Any) -> int:
    return rng.integers(0, 2**62)


def _laplace() -> Any:
    return mechanisms.discrete_laplace(_ZEROS, 1, 10**9 // WIDE)


def _gaussian() -> Any:
    return mechanisms.discrete_gaussian(_ZEROS, 1, float(WIDE))


def _laplace_of_many() -> Any:
    return mechanisms.discrete_laplace(_MANY, 1, 10**9 // WIDE)[:8]


def _lazily_keyed() -> Any:
    shape = Shape(EdgeType(target="node"), 1 << 20, 1 << 20)
    none = np.empty(0, dtype=np.int64)
    return lazy_response.respond(none, none, shape, None, Flips.symmetric(10**9), 8).prf_key


SOURCES: dict[str, Callable[[], Any]] = {
    "ChaCha": lambda: entropy.noise_generator().bytes(16).hex(),
    "unseeded generator": lambda: entropy.public_generator(None).bytes(16).hex(),
    "OpenDP, Laplace": _laplace,
    "OpenDP, Gaussian": _gaussian,
    "compiled sampler, Laplace": _laplace_of_many,
    "compiled sampler by itself": lambda: samplers.add_discrete_laplace(
        entropy.noise_generator(), _ZEROS, WIDE, 1
    ),
    "kernel with a generator": lambda: _of_a_kernel(entropy.noise_generator()),
    "Numba's own": _of_numba,
    "lazily keyed coins": _lazily_keyed,
    "seeds of gradients": lambda: gradients._seed(entropy.noise_generator()),
    "torch": lambda: torch.randn(8, dtype=torch.float64).tolist(),
    "numpy, fresh": lambda: np.random.default_rng().bytes(16).hex(),
    "numpy, its own": lambda: np.random.bytes(16).hex(),
    "scipy": lambda: stats.norm.rvs(size=8).tolist(),
    "networkit": lambda: [_networkit.graphtools.randomNode(_NODES) for _ in range(8)],
    "Python": lambda: random.getrandbits(128),
    "Python, secrets": lambda: secrets.token_hex(16),
    "Python, uuid": lambda: uuid.uuid4().hex,
    "ids": lambda: ids.new_id("draw"),
}
_networkit = loaded()
_NODES = _networkit.Graph(1 << 20)


def draws() -> dict[str, str]:
    """Draw once from each of them."""
    return {name: repr(source()) for name, source in SOURCES.items()}
