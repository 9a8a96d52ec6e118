"""DP-SGD on the device: what a row's place adds stays within the slack, and its sums are those of the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from core.errors import PrivacyViolation
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.privacy import rounding
from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.mechanisms import gradients
from core.privacy.mechanisms.gradients import Gradient
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.dpggan.link_decoder import Bilinear
from papers.dpggan.networks import LATENT, Decoder
from papers.hetesdg.sound.topo import Predictor
from papers.thepuff import utility
from papers.thepuff.networks import Discriminator

NODES = 96
TRAINING = DpSgd(Fraction(1, 2), Fraction(2), 8)
Case = tuple[torch.nn.Module, Any, Sequence[torch.Tensor]]


def session(module: torch.nn.Module, clip: float, divisor: float = 512.0) -> gradients.DpSgdSession:
    """A training over a ring, of a module wherever it is."""
    around = np.arange(NODES)
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(EdgeType(),))
    table = EdgeTable(around, (around + 1) % NODES)
    graph = Graph.build(schema, {"node": NodeTable(NODES)}, {"edge": table})
    plan = PrivacyPlan("t", Unit.EDGE, None, 1, (Allotment("edge", None, TRAINING.event, "x"),), 10**12)
    return PrivateGraph(graph, Meter(plan, MemoryRecorder())).dp_sgd(
        TRAINING,
        cells=[("edge", None)],
        module=module,
        optimiser=torch.optim.SGD(module.parameters(), lr=0.1),
        clip=clip,
        divisor=divisor,
        purpose="train",
    )


def bilinear(rows: int) -> Case:
    pairs = functional.normalize(torch.randn(2, rows, LATENT), dim=2)
    return Bilinear(LATENT), lambda call, u, v: -call(u, v), pairs.unbind()


def decoder(rows: int) -> Case:
    return Decoder(), Gradient(Decoder.gradient), torch.randn(2, rows, LATENT).unbind()


def predictor(rows: int) -> Case:
    """With the noise of latent vectors given: it goes by place, and is one law for all."""
    module = Predictor(60, 40, 0.001, 0.01)

    def of(values: Any, u: torch.Tensor, v: torch.Tensor, noise: torch.Tensor) -> dict[str, torch.Tensor]:
        from papers.hetesdg.sound.pair_gradient import pair_gradient

        return pair_gradient(values, (u, v), torch.ones((), device=u.device), noise, module.weights)

    noise = torch.randn(rows, 2, len(module.form))
    return module, Gradient(of), (torch.randn(rows, 2, 60), torch.randn(rows, 2, 40), noise)


def discriminator(rows: int) -> Case:
    module, length = Discriminator(types=3, steps=4, dimensions=32, width=64), 8
    walks = (
        torch.randn(rows, length, 32),
        torch.randn(rows, length, 32),
        functional.one_hot(torch.randint(3, (rows, length)), 3).float(),
        torch.arange(length) < torch.randint(2, length + 1, (rows, 1)),
        torch.randint(4, (rows,)),
    )
    return module, utility._loss, (*walks, torch.ones(rows))


CASES: list[Callable[[int], Case]] = [bilinear, decoder, predictor, discriminator]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_rows_place_moves_its_gradient_by_less_than_the_slack(
    place: torch.device, case: Callable[[int], Case]
) -> None:
    """Every row of a chunk, computed at its place and at another, on the grid of what is summed."""
    torch.manual_seed(0)
    module, loss, rows = case(512)
    opened = session(module.to(place), clip=1e-3)
    count = opened._chunk
    parts = [part[:count].to(place) for part in rows]
    order = torch.randperm(count, device=place)
    here = opened._gradients(loss, parts, coins="same")
    there = opened._gradients(loss, [part[order] for part in parts], coins="same")
    moved = (opened._on_grid(here[order]) - opened._on_grid(there)).norm(dim=1)
    assert float(here.norm(dim=1).median()) > 1e-3  # most rows are clipped, as those that matter are
    assert float(moved.max()) <= rounding.place_slack(opened._radius, place.type, opened._size)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_gradients_are_those_of_double_precision_but_for_their_rounding(
    place: torch.device, case: Callable[[int], Case]
) -> None:
    """The bound that the slack is made of: none is further from the exact one than it allows."""
    torch.manual_seed(1)
    module, loss, rows = case(64)
    found = session(module.to(place), clip=1.0)._gradients(loss, [part.to(place) for part in rows])
    exact_rows = [part.double() if part.is_floating_point() else part for part in rows]
    exact = session(module.cpu().double(), clip=1.0)._gradients(loss, exact_rows)
    off = (found.cpu().double() - exact).norm(dim=1) / exact.norm(dim=1)
    chain = rounding.LONGEST_CHAIN * rounding.ROUNDOFF
    assert float(off.max()) <= chain / (1 - chain) * rounding.MOST_CANCELLING


def test_sums_on_the_grid_are_exact_on_every_device(place: torch.device) -> None:
    torch.manual_seed(2)
    module, loss, rows = decoder(700)
    opened = session(module.to(place), clip=0.5)
    points = []
    for first in range(0, 700, opened._chunk):
        parts = [part[first : first + opened._chunk].to(place) for part in rows]
        filled = len(parts[0])
        parts = [torch.cat([p, p[-1:].expand(opened._chunk - filled, *p.shape[1:])]) for p in parts]
        flat = opened._gradients(loss, parts)
        blocks = [opened._on_grid(flat[at : at + opened._block]) for at in range(0, len(flat), opened._block)]
        points.append(torch.cat(blocks)[:filled].cpu().to(torch.int64))
    assert torch.equal(opened._sum(loss, rows, 700).cpu(), torch.cat(points).sum(0))


def test_noise_moves_parameters_on_the_device_by_the_law_of_the_cpu(place: torch.device) -> None:
    """No public example, and edges without a gradient: what is left is the noise, of the planned scale."""
    module = torch.nn.Embedding(4, 500).to(place)
    opened = session(module, clip=1.0, divisor=1.0)
    before = module.weight.detach().clone()
    none = torch.zeros(NODES, dtype=torch.int64)
    opened.step(lambda call, u: 0.0 * call(u).sum(), lambda edges: (none[: len(edges)],))
    moved = (module.weight.detach() - before).cpu().double().flatten() / 0.1
    assert moved.mean().abs() < 0.3
    assert 1.85 < float(moved.std()) < 2.15


def test_gradients_in_tf32_are_refused_where_a_gpu_would_compute_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cuda = torch.device("cuda")
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    gradients.require_float32(cuda)
    with monkeypatch.context() as loose:
        loose.setattr(torch.backends.cudnn, "allow_tf32", True)
        with pytest.raises(PrivacyViolation, match="TF32"):
            gradients.require_float32(cuda)
        gradients.require_float32(torch.device("cpu"))
    torch.set_float32_matmul_precision("high")
    try:
        with pytest.raises(PrivacyViolation, match="TF32"):
            gradients.require_float32(cuda)
    finally:
        torch.set_float32_matmul_precision("highest")


def tf32(values: torch.Tensor) -> torch.Tensor:
    """Round to 10 bits, as products in TF32 do to their factors; the low 13 of float32 are cut off."""
    return (values.contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32)


def test_what_tf32_would_add_is_far_beyond_the_slack() -> None:
    """Had a row's place decided whether its products are in TF32: the largest slack would not pay for it."""
    torch.manual_seed(3)
    module, loss, rows = decoder(256)
    opened = session(module, clip=1e-3)
    here = opened._gradients(loss, list(rows))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(tf32(parameter.reshape(-1)).view_as(parameter))
    there = opened._gradients(loss, [tf32(part) for part in rows])
    moved = (opened._on_grid(here) - opened._on_grid(there)).norm(dim=1)
    assert float(moved.median()) > rounding.place_slack(opened._radius, "cuda", opened._size) / 4
    assert float(moved.max()) > rounding.place_slack(opened._radius, "cuda", opened._size)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_networks_that_were_measured_are_those_that_are_allowed_for(case: Callable[[int], Case]) -> None:
    """No method's network is refused, and none of their number of tensors was left unmeasured."""
    module = case(2)[0]
    shapes = [tuple(each.shape) for each in module.parameters()]
    rounding.require_covered(shapes)
    assert max(len(list(each(2)[0].parameters())) for each in CASES) == rounding.MOST_TENSORS


@pytest.mark.parametrize("radius", [1_000, 2**15, rounding.MAX_RADIUS])
def test_the_slack_of_cuda_is_the_bound_and_the_cuts(radius: int) -> None:
    cut = min(rounding.SLACK, radius // 512)
    assert rounding.place_slack(radius, "cpu", 2**20) == cut
    beyond = rounding.place_slack(radius, "cuda", 1) - cut
    assert 2 * 1024 * 2**-24 * 8 * radius <= beyond <= 2 * 1024 * 2**-24 * 8 * radius * 1.001 + 1
    assert rounding.place_slack(radius, "cuda", 2**20) == beyond + 1024  # every entry may cross a number
