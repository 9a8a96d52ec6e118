"""Sessions that charge as ever and answer about a decoy: what still differs was read elsewhere."""

import numpy as np

from core.graphs.graph import Graph
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.session.private_graph import PrivateCell, PrivateGraph
from tests.support.generating import NANO


def answer_about(monkeypatch, answered: Graph, fit_module: str) -> None:
    """Every metered operation answers about that graph, whatever the session's is; chance repeats itself.

    ``fit_module``: where the method's fit finds its noise generator.
    """
    true_sgd = PrivateGraph.dp_sgd

    def cell(self, edge_type, step):
        meter = self._meter
        return PrivateCell(
            self._shape(edge_type, step),
            step,
            meter,
            lambda event, purpose: meter.charge(edge_type, step, event, purpose),
            None,
            lambda: answered.cell(edge_type, step),
        )

    def dp_sgd(self, *arguments, **named):
        return true_sgd(PrivateGraph(answered, self._meter), *arguments, **named)

    monkeypatch.setattr(PrivateGraph, "cell", cell)
    monkeypatch.setattr(PrivateGraph, "dp_sgd", dp_sgd)
    repeat_chance(monkeypatch)
    monkeypatch.setattr(f"{fit_module}.noise_generator", lambda: np.random.default_rng(5))


def repeat_chance(monkeypatch) -> None:
    """Noise and the generators' own choices come from seeds."""

    def laplace(values, l1_sensitivity, nano_epsilon, **options):
        rng = np.random.default_rng(len(values))
        scale = float(l1_sensitivity) * NANO / nano_epsilon
        return values + np.rint(rng.laplace(scale=scale, size=len(values))).astype(np.int64)

    for module in ("core.privacy.entropy", "core.methods.keyframe.fit"):
        monkeypatch.setattr(f"{module}.noise_generator", lambda: np.random.default_rng(5))
    monkeypatch.setattr(mechanisms, "discrete_laplace", laplace)
