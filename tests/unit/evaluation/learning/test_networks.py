"""The networks against their formulas, and that runs repeat."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from core.evaluation.learning import dgcnn, gin
from core.evaluation.learning.features import Features
from core.evaluation.learning.gcn import Autoencoder, Encoder, trained_classifier
from core.evaluation.learning.subgraphs import enclosing
from core.evaluation.learning.tensors import feature_tensor, propagation
from core.evaluation.view import UndirectedView
from core.learning.devices import seeded
from core.learning.sparse import Sparse
from core.privacy.entropy import public_generator

CPU = torch.device("cpu")


def graph(seed: int = 0, n: int = 30, m: int = 60) -> UndirectedView:
    rng = np.random.default_rng(seed)
    return UndirectedView.of_pairs(n, rng.integers(0, n, m), rng.integers(0, n, m))


def dense_step(view: UndirectedView) -> np.ndarray:
    looped = view.adjacency.toarray() + np.eye(view.node_count)
    scale = np.diag(looped.sum(axis=1) ** -0.5)
    return scale @ looped @ scale


def test_propagation_is_the_symmetric_normalisation_with_self_loops():
    view = graph()
    assert np.allclose(propagation(view).toarray(), dense_step(view))


def test_a_sparse_product_and_its_gradient_are_those_of_the_dense_matrix():
    matrix = sp.random_array((20, 30), density=0.1, format="csr", rng=np.random.default_rng(3))
    rows, dense = (torch.randn(30, 4, requires_grad=True) for _ in range(2))
    dense.data = rows.data.clone()
    weight = torch.randn(20, 4)
    found = Sparse(matrix, CPU) @ rows
    wanted = torch.from_numpy(matrix.toarray()).float() @ dense
    assert torch.allclose(found, wanted, atol=1e-5)
    (found * weight).sum().backward()
    (wanted * weight).sum().backward()
    assert torch.allclose(rows.grad, dense.grad, atol=1e-5)
    assert rows.grad.abs().sum() > 0


def test_the_encoder_is_two_convolutions_and_sparse_features_change_nothing():
    view = graph()
    features = (np.random.default_rng(1).random((30, 40)) < 0.05).astype(np.float32)
    step = Sparse(propagation(view), CPU)
    model = Encoder(30, 40, 8, 5)
    sparse = feature_tensor(features, CPU)
    assert isinstance(sparse, Sparse)
    assert isinstance(feature_tensor(features + 1, CPU), torch.Tensor)
    dense = dense_step(view)
    with torch.no_grad():
        found = model(step, sparse).numpy()
        first, shift = model.first.numpy(), model.shift.numpy()
        weight, bias = model.second.weight.numpy(), model.second.bias.numpy()
    hidden = np.maximum(dense @ features @ first + shift, 0)
    assert np.allclose(found, dense @ (hidden @ weight.T + bias), atol=1e-5)


def test_runs_repeat_and_leave_the_global_generator_alone():
    view, features = graph(), Features(np.random.default_rng(2).random((30, 6), dtype=np.float32))
    torch.manual_seed(11)
    expected = torch.rand(1)
    torch.manual_seed(11)
    one, two = Autoencoder(4, features)(view), Autoencoder(4, features)(view)
    assert torch.equal(torch.rand(1), expected)
    assert np.array_equal(one, two)
    assert not np.array_equal(one, Autoencoder(5, features)(view))
    assert view.once(Autoencoder(4, features)) is view.once(Autoencoder(4, features))


def test_a_classifier_learns_two_cliques_from_one_label_each():
    u, v = np.triu_indices(8, 1)
    view = UndirectedView.of_pairs(16, np.append(u, u + 8), np.append(v, v + 8))
    label = np.repeat([0, 1], 8)
    model = trained_classifier(view, None, label, np.array([0, 8]), 0)
    assert model.predict(view).tolist() == label.tolist()


def test_sort_pooling_keeps_the_greatest_rows_of_each_graph():
    model = dgcnn.Dgcnn(10)
    last = torch.tensor([3.0, 5.0, 4.0, *range(12)])
    values = torch.stack([torch.arange(15.0), last], dim=1)
    owner = torch.tensor([0] * 3 + [1] * 12)
    pooled = model._sort_pooled(values, owner, torch.tensor([0, 3]))
    assert pooled.shape == (2, 10, 2)
    assert pooled[0, :, 0].tolist() == [1, 2, 0] + [0] * 7
    assert pooled[1, :, 1].tolist() == [11, 10, 9, 8, 7, 6, 5, 4, 3, 2]


def test_a_subgraph_scores_the_same_alone_and_in_a_batch():
    view = graph(3)
    source, target = np.arange(12), np.arange(12, 24)
    with seeded(0):
        model = dgcnn.Dgcnn(10).eval()
    together = dgcnn.scores(model, enclosing(view, source, target, 1, 30, public_generator(0)))
    for i in range(12):
        part = enclosing(view, source[i : i + 1], target[i : i + 1], 1, 30, public_generator(0))
        assert np.allclose(dgcnn.scores(model, part), together[i], atol=1e-5)
    assert np.ptp(together) > 0


def test_a_gin_batch_is_block_diagonal_and_pools_each_graph_alone():
    views = [graph(1, 5, 6), graph(2, 7, 9)]
    batch = gin.Batch.of(views, CPU)
    adjacency = (batch.adjacency @ torch.eye(12)).numpy()
    assert np.array_equal(adjacency[:5, :5], views[0].adjacency.toarray())
    assert np.array_equal(adjacency[5:, 5:], views[1].adjacency.toarray())
    assert not adjacency[:5, 5:].any()
    assert (batch.pool @ torch.ones(12, 1)).ravel().tolist() == [5, 7]
    with seeded(0):
        model = gin.Gin(3).eval()
    with torch.no_grad():
        alone = [model(gin.Batch.of([view], CPU)) for view in views]
        assert torch.allclose(model(batch), torch.cat(alone), atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_embeddings_do_not_depend_on_the_number_of_threads(threads: int):
    view = graph(3, 140, 900)
    features = Features(np.random.default_rng(2).random((140, 16), dtype=np.float32))
    expected = Autoencoder(4, features)(view)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = Autoencoder(4, features)(view)
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(found, expected)
