"""The paper's own form: each part against its equation, the presets, and what the decoder's noise hides."""

import pytest
import torch

from core.methods import registry
from core.methods.base import no_progress
from core.privacy.entropy import public_generator
from papers import dpggan
from papers.dpggan.algorithm1 import Settings, _losses, _noisy_step
from papers.dpggan.networks import LATENT, Decoder, Discriminator, Encoder, Smoothed
from papers.dpggan.params import GanParams, LinkParams
from papers.dpggan.tests.test_model import GRAPH, fit
from tests.support.generating import rows_of

U, V = torch.tensor([0, 0, 1]), torch.tensor([1, 2, 2])
ADJACENCY = torch.tensor([[0.0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
"""A triangle, and a node by itself."""


def test_the_encoder_is_eq_2_as_printed():
    torch.manual_seed(0)
    encoder = Encoder(4, start=0.0)
    scale = torch.tensor([0.5**0.5, 0.5**0.5, 0.5**0.5, 0.0])
    smooth = scale[:, None] * ADJACENCY * scale[None, :]
    hidden = smooth @ torch.relu(smooth @ encoder.table)
    mean, spread = encoder(Smoothed(U, V, 4, loops=False))
    torch.testing.assert_close(mean, hidden @ encoder.mean.weight.T)
    torch.testing.assert_close(spread, hidden @ encoder.spread.weight.T)
    assert not mean[3].any()


@pytest.mark.parametrize("loops", [False, True])
def test_the_discriminator_sums_its_nodes_and_sees_a_graph_and_its_matrix_alike(loops):
    torch.manual_seed(0)
    rival, every = Discriminator(4, total=True, loops=loops), torch.arange(4)
    known = rival.known(Smoothed(U, V, 4, loops=loops))
    torch.testing.assert_close(known, rival.dense(ADJACENCY, every))
    torch.testing.assert_close(known, rival.soft(U, V, torch.ones(3)))
    rival.total = False
    torch.testing.assert_close(rival.dense(ADJACENCY, every), known / 4)


def test_losses_are_eq_4_and_6():
    torch.manual_seed(0)
    rows, shift, at = torch.randn(4, 32), torch.zeros(4), torch.arange(4)
    graph, rival = Smoothed(U, V, 4, loops=False), Discriminator(4, total=True, loops=False)
    chance = torch.sigmoid(rows @ rows.T).fill_diagonal_(0)
    settings = Settings(1, adversarial=0.1, links=False, views=True, printed=True, total=True)
    rebuilt, told, own = _losses(rows, shift, ADJACENCY, graph, at, rival, settings)
    real, fake = rival.known(graph), rival.dense(chance, at)
    torch.testing.assert_close(rebuilt, (real - fake).square().sum())
    judged = [torch.sigmoid(rival.judge(each))[0] for each in (real, fake)]
    torch.testing.assert_close(told, (1 - judged[1]).log())
    torch.testing.assert_close(own, -(judged[0].log() + (1 - judged[1]).log()))
    bare = _losses(rows, shift, ADJACENCY, graph, at, rival, Settings(1, printed=True))[0]
    off = ~torch.eye(4, dtype=torch.bool)
    entropy = -(ADJACENCY * chance.log() + (1 - ADJACENCY) * (1 - chance).log())[off].sum()
    torch.testing.assert_close(bare, entropy)


def test_the_decoder_moves_by_eq_5():
    """Without noise a plain step is the sum of the nodes' gradients, each cut to C, over their number."""
    torch.manual_seed(0)
    decoder, latent, along = Decoder(scale=1.0), torch.randn(3, LATENT), torch.randn(3, 32)
    before = decoder.second.bias.detach().clone()
    parameters = [each for name, each in decoder.named_parameters() if name != "offset"]
    cut = []
    for z, by in zip(latent, along, strict=True):
        found = torch.autograd.grad((decoder.rows(z) * by).sum(), parameters)
        length = torch.sqrt(sum((each**2).sum() for each in found))
        cut.append(found[-1] / max(1.0, float(length) / 2.0))
    decoder.offset.requires_grad_(False)
    optimiser = torch.optim.SGD(parameters, lr=0.5)
    _noisy_step(decoder, latent, (along, torch.zeros(3)), 2.0, 0.0, optimiser)
    torch.testing.assert_close(decoder.second.bias.detach(), before - 0.5 * torch.stack(cut).sum(0) / 3)


def test_a_decoder_of_another_scale_is_kept_as_one_of_the_usual():
    decoder, latent = Decoder(scale=1.0), torch.randn(5, LATENT)
    torch.testing.assert_close(decoder.folded().rows(latent), decoder.rows(latent))


def test_plain_steps_are_the_gradient_times_eta():
    parameter = torch.nn.Parameter(torch.zeros(1))
    parameter.grad = torch.full((1,), 3.0)
    Settings(1, plain=True, learning_rate=0.5).optimiser([parameter]).step()
    assert parameter.item() == -1.5


def test_presets_are_forms_of_variant_paper():
    for model in (GanParams, LinkParams):
        for preset in ("paper", "decoder"):
            assert model(preset=preset).variant == "paper"
            with pytest.raises(ValueError, match="leave one of them out"):
                model(preset=preset, variant="sound")
    assert GanParams(preset="paper").way.graph_vector == "sum"
    assert GanParams(preset="decoder").way.reconstruction == "both"
    generator = registry.get("dpggan")
    assert generator.claim(GanParams(preset="paper"), None) is not None
    assert generator.claim(GanParams(preset="decoder"), None) is None


@pytest.mark.parametrize("method", ["dpggan", "dpgvae"])
def test_noise_on_the_decoder_alone_hides_no_edge_and_says_so(method):
    """Sigma is 5, and the encoder, which has no noise, brings most true edges out."""
    model = fit(registry.get(method), GRAPH, 1, preset="decoder")
    drawn, true = (
        {tuple(row) for row in rows_of(each).tolist()}
        for each in (model.sample(public_generator(1), no_progress), GRAPH)
    )
    assert len(drawn & true) > 0.5 * len(true)  # by chance .15
    assert "200 steps were made" in model.notes[0]
    assert "edges of the original" in model.notes[1]
    assert not any(letter.isdigit() for letter in model.notes[1])  # how many is for curators: they compare


def test_the_paper_s_preset_makes_all_steps_of_its_calibration():
    model = fit(dpggan.GENERATOR, GRAPH, 1, preset="paper", claimed_epsilon=0.1)
    assert len(model.training().curves["reconstruction"]) == 54
    assert model.notes[0].endswith("54 were made.")


def test_the_largest_scores_of_a_backbone_are_the_same_pairs_but_for_its_latent_noise():
    shared = {}
    for draw in ("sampled", "largest"):
        model = fit(registry.get("gvae"), GRAPH, 1, draw=draw, epochs=100)
        one, other = (
            {tuple(row) for row in rows_of(model.sample(public_generator(seed), no_progress)).tolist()}
            for seed in (1, 2)
        )
        shared[draw] = len(one & other) / len(one)
    assert shared["largest"] > shared["sampled"] + 0.1
