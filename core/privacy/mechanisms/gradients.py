"""DP-SGD over edges. One edge is one example, and what leaves a step is one noisy sum of clipped gradients.

Sampling coins, clipped gradients, their sum and the noise are integers; only the gradients themselves are
floating-point. What a training costs is planned in :mod:`core.privacy.accounting.dp_sgd`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.func import functional_call, grad, vmap

from core.errors import InvalidInput, MeterClosed, PrivacyViolation
from core.graphs.graph import Cell
from core.privacy import entropy
from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.mechanisms import samplers
from core.privacy.queries import Shape
from core.privacy.rounding import place_slack, radius_of, require_covered

CHUNK_VALUES = 2**24
"""Gradient values held at once, about: 64 MiB of float32."""

MAX_CHUNK = 512
BLOCK_VALUES = 2**17
"""Gradient values put onto the grid at once, about: 1 MiB of float64, which stays in a processor's cache."""

MAX_PARAMETERS = 2**27


def require_float32(device: torch.device) -> None:
    """Refuse CUDA that computes below float32. Its products round their factors to TF32's 10 bits, or sum in
    half precision."""
    if device.type == "cpu":
        return
    allowed = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    if any(allowed) or torch.get_float32_matmul_precision() != "highest":
        raise PrivacyViolation(
            "gradients are computed in TF32: what a row's place adds to one is not bounded"
        )


_WORD = 2**64

Loss = Callable[..., Any]
"""``loss(call, *example) -> scalar``; ``call(...)`` is the module at the parameters of the moment."""


@dataclass(frozen=True)
class Gradient:
    """The gradient of a loss in closed form. It stands in the place of a loss: ``of(values, *example)``, by
    parameter's name.

    ``values`` are the parameters of the moment. It is asked of one example at a time (by vmap), as a loss is:
    what it computes decides what is learned, and nothing about privacy.
    """

    of: Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class Sampled:
    """The edges that a step sampled. ``cell`` counts into the session's cells, ``source`` and ``target`` are
    ends.

    int64, of one length. Raw data: it stays inside the callback that receives it.
    """

    cell: np.ndarray
    source: np.ndarray
    target: np.ndarray

    def __len__(self) -> int:
        return len(self.source)


Examples = Callable[[Sampled], Sequence[Any]]
"""Tensors with a row for each edge: row i a function of edge i and of public or paid-for values."""


class DpSgdSession:
    """A training of ``module`` for a planned number of steps. Made by ``PrivateGraph.dp_sgd``, which has
    paid.

    Sensitivity: each edge's gradient is scaled to the clipping norm C, then cut towards zero onto a grid of
    C / R: an integer vector of L2 norm below R by some slack, checked in integers; what is not finite or
    still too long becomes zero. One edge more changes the integer sum by one such vector, where it was
    sampled. The integers of a chunk are whole float64 numbers (:meth:`_on_grid`), the sum over chunks is
    int64. Unit: one edge of one of the cells.
    Proof: a step releases sum + discrete Gaussian noise of scale sigma R (rounded up), the edges sampled
    by independent coins of probability q (rounded down). At an integer order a the divergence of the mixture
    from the unsampled law is a sum of C(a, k) (1-q)^(a-k) q^k E[(ratio)^k] with positive terms, and
    E[(ratio)^k] <= exp(k (k-1) / (2 sigma^2)) for the discrete Gaussian as for the continuous one (Canonne,
    Kamath, Steinke 2020, Proposition 5): at most what the accountant adds up for PoissonSampled(q,
    Gaussian(sigma)). The other direction is no larger, since x -> shift - x exchanges the two laws
    (Mironov, Talwar, Zhang 2019, Theorem 5). Of privacy losses :mod:`core.privacy.accounting.losses` bounds
    both directions: the noise has 2^15 grid steps and more; the other edges' coins are common to both worlds
    (quasi-convexity); other orders are chords of the integer ones. Steps compose adaptively. Public
    examples, the divisor and the optimiser are post-processing. What torch draws in a step (dropout) has a
    seed of the operating system: one law for an edge, whatever rows stand beside it.

    Assurance: the noise and the sum are exact. Assumed: that a row's gradient, computed in floating point
    inside batches of one fixed shape, does not depend on the other rows, and on its own place among them by
    no more than :func:`place_slack` of its device says (matrix products reckon their last rows apart; about
    one step was measured on a CPU; no GPU was there to be measured). Rows stand in a secret, uniform order:
    put in at a uniform place, whose row goes to the end,
    one edge more moves one other row at most, and its own vector is that much shorter than the radius.

    Spot check: in one step, drawn beforehand, a chunk of pairs of nodes is drawn uniformly from the public
    universe, and each pair's gradient is computed at two places. One that moves by more than that ends the
    training with PrivacyViolation. It costs nothing, because no edge goes into it: the pairs follow from
    the schema and entropy, the parameters from earlier steps' noisy outputs, so that whether it ends the
    training is post-processing; it is made even where there is no edge. A check of drawn edges would be a
    branch on private gradients, which no noise covers. It finds losses that cancel for some of the pairs in a
    chunk; one that cancels for edges alone stays assumed away. What a loss draws (dropout, latent noise) goes
    by place, but independent of the data and of one law everywhere: exchanged with the rows, it is common to
    both worlds. The check draws it once for all rows.
    """

    def __init__(
        self,
        training: DpSgd,
        module: torch.nn.Module,
        optimiser: torch.optim.Optimizer,
        *,
        clip: float,
        divisor: float,
    ) -> None:
        """Check the arguments; read no data yet. ``clip`` and ``divisor`` are public or already paid for."""
        for value, name in ((clip, "clip"), (divisor, "divisor")):
            if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
                raise InvalidInput(f"{name} is a positive number", field=name)
        self._module, self._optimiser = module, optimiser
        self._clip, self._divisor = float(clip), float(divisor)
        self._trained = {name: p for name, p in module.named_parameters() if p.requires_grad}
        self._size = sum(p.numel() for p in self._trained.values())
        if not 1 <= self._size <= MAX_PARAMETERS:
            raise InvalidInput(f"a module has 1 to {MAX_PARAMETERS} trainable values", field="module")
        # A parameter that it does not hold would never move; another would move by what no noise covers.
        held = {id(p) for group in optimiser.param_groups for p in group["params"]}
        if held != {id(p) for p in self._trained.values()}:
            raise InvalidInput("the optimiser holds the module's trainable parameters", field="optimiser")
        sigma = training.noise_multiplier
        self._radius = radius_of(sigma)
        self._device = next(iter(self._trained.values())).device
        require_float32(self._device)
        if self._device.type != "cpu":
            require_covered([tuple(p.shape) for p in self._trained.values()])
        # Cut shorter than the radius by what a row's place in the batch may add.
        self._longest = self._radius - place_slack(self._radius, self._device.type, self._size)
        if self._longest < 1:
            raise PrivacyViolation("the noise is so large for so many parameters that no gradient has room")
        # Rounded up: no less noise than is paid for.
        self._scale = math.ceil(sigma * self._radius)
        # Rounded down, and exactly, since the rate is a fraction: no edge is kept oftener than is paid for.
        self._threshold = np.uint64(min(_WORD - 1, int(training.rate * _WORD)))
        self._all = training.rate == 1
        self._block = max(1, min(MAX_CHUNK, BLOCK_VALUES // self._size))
        # Whole blocks: a row's place must not decide the shape in which it is reckoned.
        self._chunk = max(1, min(MAX_CHUNK, CHUNK_VALUES // self._size)) // self._block * self._block
        # No larger than what a step is expected to draw, of which the divisor is a public figure.
        self._chunk = min(self._chunk, math.ceil(max(1.0, self._divisor) / self._block) * self._block)
        self.remaining = training.steps
        self._edges: Sampled | None = None
        self._sides: tuple[tuple[int, int, bool], ...] = ()
        # After the first steps parameters are no longer what they were set to.
        self._checked_at = int(entropy.noise_generator().integers(1, training.steps + 1))

    def _open(self, cells: Sequence[Cell], shapes: Sequence[Shape]) -> None:
        """Let the session sample from these cells, which have paid. ``shapes`` are public."""
        self._sides = tuple((s.source_count, s.target_count, s.edge_type.homogeneous) for s in shapes)
        counts = [cell.count for cell in cells]
        self._edges = Sampled(
            np.repeat(np.arange(len(cells)), counts),
            np.concatenate([cell.source for cell in cells]).astype(np.int64),
            np.concatenate([cell.target for cell in cells]).astype(np.int64),
        )

    def step(self, loss: Loss | Gradient, examples: Examples, public: Sequence[Any] | None = None) -> None:
        """Move the parameters by one noisy gradient. One of the planned steps is used up.

        ``public`` are examples that no edge of the cells went into, drawn from the schema or from what is
        paid for (negatives, say): they pass the same clip and divisor and cost nothing. Raises MeterClosed
        after the planned number of steps, PrivacyViolation where the spot check fails (before an edge is
        drawn). O(examples * parameters), in chunks.
        """
        if self.remaining < 1 or self._edges is None:
            raise MeterClosed("the planned steps of this training are over")
        due = self.remaining == self._checked_at
        self.remaining -= 1  # first: a step that fails half-way may have read
        rng = entropy.noise_generator()
        if due:
            self._spot_check(loss, examples, rng)
        batch = self._drawn(rng)
        with self._seeded(_seed(rng)):
            total = self._sum(loss, examples(batch), len(batch)) if len(batch) else None
            if public is not None:
                extra = self._sum(loss, public, len(public[0]))
                total = extra if total is None else total + extra
        # Where nothing was sampled the noise goes out by itself: a step without edges looks like any other.
        start = np.zeros(self._size, np.int64) if total is None else total.cpu().numpy()
        self._apply(samplers.add_discrete_gaussian_wide(rng, start, self._scale))
        # The raw edges are let go with the last step.
        if self.remaining == 0:
            self._edges = None

    @contextmanager
    def _seeded(self, seed: int) -> Iterator[None]:
        """Seed torch inside with a number that nobody knows; restore its generators afterwards.

        Dropout masks go by a row's place in the batch. Independent of the data they are common to both
        worlds, edge by edge; known in advance, one edge more would move the masks of all rows after it.
        """
        device = self._device
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.default_generator.manual_seed(seed)
            if device.type == "cuda":
                torch.cuda.manual_seed(seed)
            yield

    def _drawn(self, rng: entropy.Generator) -> Sampled:
        edges = self._edges
        assert edges is not None
        if self._all:
            kept = np.arange(len(edges))
        else:
            kept = np.flatnonzero(rng.integers(0, _WORD, size=len(edges), dtype=np.uint64) < self._threshold)
        # A secret, uniform order: one edge more moves one other row's place at most.
        kept = rng.permutation(kept)
        return Sampled(edges.cell[kept], edges.source[kept], edges.target[kept])

    def _spot_check(self, loss: Loss | Gradient, examples: Examples, rng: entropy.Generator) -> None:
        """End the training, with PrivacyViolation, where a public pair's gradient moves by its place."""
        pairs = self._public_pairs(rng)
        if len(pairs) < 2:
            return  # a row has no other place
        device = self._device
        order = torch.from_numpy(rng.permutation(len(pairs))).to(device)
        seed = _seed(rng)
        with self._seeded(_seed(rng)):
            rows = [part.to(device) for part in _tensors(examples(pairs), len(pairs))]
        # Both times with the same seed, and the same coins for all rows: only the places differ.
        with self._seeded(seed):
            here = self._gradients(loss, rows, coins="same")
        with self._seeded(seed):
            there = self._gradients(loss, [part[order] for part in rows], coins="same")
        furthest = 0.0
        for begin in range(0, len(pairs), self._block):
            end = begin + self._block
            moved = self._on_grid(here[order[begin:end]]) - self._on_grid(there[begin:end])
            furthest = max(furthest, float(torch.linalg.vector_norm(moved, dim=1).max()))
        allowed = self._radius - self._longest
        if furthest > allowed:
            self.remaining, self._edges = 0, None
            raise PrivacyViolation(
                f"a pair's gradient moves by {furthest:.0f} steps of the grid with its place in a batch; "
                f"{allowed} are reckoned with: the loss cancels"
            )

    def _public_pairs(self, rng: entropy.Generator) -> Sampled:
        """Draw a chunk of pairs, uniform over the cells and over the pairs of each: no edge enters them."""
        # Inside one type a pair needs two nodes, between two types one of each.
        sides = [side for side in enumerate(self._sides) if min(side[1][:2]) > side[1][2]]
        if not sides:
            return Sampled(*(np.empty(0, np.int64) for _ in range(3)))
        cells = np.array([sides[k][0] for k in rng.integers(0, len(sides), self._chunk)])
        sources, targets, same = np.array(self._sides, dtype=np.int64)[cells].T
        source = rng.integers(0, sources)
        target = rng.integers(0, targets - same)
        target += same * (target >= source)  # no loops
        return Sampled(cells, source, target)

    def _sum(self, loss: Loss | Gradient, batch: Sequence[Any], count: int) -> torch.Tensor:
        """Sum the clipped gradients in integers; int64 (parameters,)."""
        tensors = _tensors(batch, count)
        device = self._device
        total = torch.zeros(self._size, dtype=torch.int64, device=device)
        for first in range(0, count, self._chunk):
            rows = [part[first : first + self._chunk].to(device) for part in tensors]
            filled = len(rows[0])
            if filled < self._chunk:  # every batch has one shape, so that kernels do not change with its size
                rows = [torch.cat([r, r[-1:].expand(self._chunk - filled, *r.shape[1:])]) for r in rows]
            flat = self._gradients(loss, rows)
            for begin in range(0, filled, self._block):
                points = self._on_grid(flat[begin : begin + self._block])
                # Without the rows that only fill the batch.
                total += points[: filled - begin].sum(0).to(torch.int64)
        return total

    def _gradients(
        self, loss: Loss | Gradient, rows: Sequence[torch.Tensor], coins: str = "different"
    ) -> torch.Tensor:
        """Compute the gradients of a chunk's rows at the parameters of the moment; (chunk, parameters).

        ``coins``: what the loss draws is ``different`` for each row, or the ``same`` for all.
        """
        values = {name: p.detach() for name, p in self._trained.items()}
        found = self._per_example(loss, len(rows), coins)(values, *rows)
        return torch.cat([found[name].reshape(len(rows[0]), -1) for name in values], dim=1)

    def _per_example(
        self, loss: Loss | Gradient, parts: int, coins: str = "different"
    ) -> Callable[..., dict[str, torch.Tensor]]:
        module = self._module
        fixed = {
            name: value.detach()
            for name, value in (*module.named_parameters(), *module.named_buffers())
            if name not in self._trained
        }

        def one(values: dict[str, torch.Tensor], *example: torch.Tensor) -> torch.Tensor:
            assert not isinstance(loss, Gradient)
            value: torch.Tensor = loss(
                lambda *a, **k: functional_call(module, {**fixed, **values}, a, k), *example
            )
            return value

        of = loss.of if isinstance(loss, Gradient) else grad(one)
        return vmap(of, in_dims=(None, *([0] * parts)), randomness=coins)

    def _on_grid(self, flat: torch.Tensor) -> torch.Tensor:
        """Cut every row to the integer grid, its L2 norm at most the radius less the slack; zero the rows
        that cannot be cut so.

        Whole numbers of at most MAX_RADIUS in float64, so that squares and sums are exact, in any order, up
        to 2^53. A sum of squares that passes 2^53 is rounded, but to no less than 2^53: the check against
        the squared length is as exact as in integers. A sum over MAX_CHUNK rows stays below 2^30.
        """
        points = flat.to(torch.float64, copy=True)
        norms = torch.linalg.vector_norm(points, dim=1)
        finite = torch.isfinite(norms)
        # In grid steps: the clip is ``_longest`` long, a row
        # beyond it is cut to that, a shorter one keeps its share.
        scale = torch.where(finite, self._longest / norms.clamp(min=self._clip), 0.0)
        points.mul_(scale.unsqueeze(1)).trunc_().nan_to_num_(0.0).clamp_(-self._radius, self._radius)
        # Once more in whole numbers, which decide: a row that floats left too long becomes zero.
        fits = (torch.linalg.vecdot(points, points) <= self._longest**2) & finite
        return points.mul_(fits.unsqueeze(1))

    def _apply(self, noisy: np.ndarray) -> None:
        step = torch.from_numpy(noisy.astype(np.float64) * (self._clip / self._radius / self._divisor))
        first = 0
        for parameter in self._trained.values():
            piece = step[first : first + parameter.numel()].reshape(parameter.shape)
            parameter.grad = piece.to(parameter)
            first += parameter.numel()
        self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)


def _seed(rng: entropy.Generator) -> int:
    return int(rng.integers(0, 2**63))


def _tensors(examples: Sequence[Any], count: int) -> list[torch.Tensor]:
    tensors = [torch.as_tensor(part) for part in examples]
    if not tensors or any(part.shape[:1] != (count,) for part in tensors):
        raise InvalidInput("examples are tensors with one row for each edge", field="examples")
    return tensors
