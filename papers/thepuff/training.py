"""Algorithm 2, the training.

Embeddings, then the utility discriminator, then generator against privacy discriminator. The schedule is
public. Losses are logistic, with a gradient penalty on real walks (R1: Mescheder, Geiger and Nowozin, ICML
2018) at every fourth step; nothing stops early. Every batch draws from a seed of its own, made of the
training's seed and the batch's number: a counter is all that has to be kept of the random state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from core.learning.devices import reseed, seeded
from core.methods.base import Progress, no_progress
from core.privacy.entropy import Generator as Rng
from core.privacy.entropy import public_generator
from papers._shared import tensor_files as files
from papers.thepuff.embedding import timestamped
from papers.thepuff.networks import Shown
from papers.thepuff.schedule import Settings, seed_of
from papers.thepuff.snapshots import Snapshots
from papers.thepuff.state import ADVERSARIAL, State, generator_of, vocabulary_of
from papers.thepuff.utility import Metered, Raw, passing, separating, steps_drawn
from papers.thepuff.walks import edge_started

STEPS_A_BATCH = 1  # two cost a quarter more, and on MovieLens-100k gave nothing for it
PENALTY = 1.0
PENALTY_EVERY = 4
LONGEST_GRADIENT = 5.0
CHECKPOINT_EVERY = 100
GENERATED_AT_ONCE = 2048
SAMPLED_AT_ONCE = 256
OFFERED_AT_ONCE = 2**25
"""Distances that a choice of all walks at hand takes at once, at most; 128 MiB."""


@dataclass(frozen=True)
class Trained:
    """A generator that draws walks, and how it was trained. Paid-for output only.

    ``weights`` are the generator's and the vocabulary's tensors; ``curves`` name their values step by step.
    """

    settings: Settings
    step_counts: np.ndarray
    weights: Mapping[str, torch.Tensor]
    curves: Mapping[str, list[float]]

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return the tensors that :meth:`of` needs, by name. It needs the settings and curves too."""
        return {**self.weights, "step_counts": torch.from_numpy(self.step_counts)}

    @classmethod
    def of(
        cls, settings: Settings, tensors: Mapping[str, torch.Tensor], curves: Mapping[str, list[float]]
    ) -> Trained:
        """Make the model whose :meth:`tensors` these are."""
        rest = {name: value for name, value in tensors.items() if name != "step_counts"}
        return cls(settings, tensors["step_counts"].numpy(), rest, curves)

    def generate(
        self, count: int, rng: Rng, progress: Progress = no_progress
    ) -> tuple[np.ndarray, np.ndarray]:
        """Generate ``count`` walks, sorted by step.

        Returned are their steps (count,) and global nodes (count, length), int64. Steps go by the edges to be
        made; of walks across steps they are (count, length), as they were chosen. On the CPU, whatever the
        model was trained on; the same state of ``rng`` draws the same walks. O(count * length * offered
        candidates * d).
        """
        shares = self.step_counts / max(self.step_counts.sum(), 1)
        if not shares.sum():
            return np.empty(0, np.int64), np.empty((0, self.settings.length), np.int64)
        stride = self.settings.stride(len(self.step_counts))
        wanted = rng.multinomial(count, shares / shares.sum()) if stride == 1 else np.array([count])
        place = torch.device("cpu")
        vocabulary = vocabulary_of(files.part("vocabulary", self.weights), self.settings, place)
        generator = generator_of(self.settings, self.weights["generator.type_weights"], vocabulary, stride)
        generator.load_state_dict(files.part("generator", self.weights))
        steps, nodes, done = [], [], 0
        with seeded(int(rng.integers(2**63)), place), torch.no_grad():
            for step, times in enumerate(wanted.tolist()):
                large = any(vocabulary.large(step, kind) for kind in range(generator.types))
                widest = max(vocabulary.offers(step, kind) for kind in range(generator.types))
                most = SAMPLED_AT_ONCE if large else min(GENERATED_AT_ONCE, max(1, OFFERED_AT_ONCE // widest))
                for first in range(0, times, most):
                    each = min(most, times - first)
                    nodes.append(generator(vocabulary, [step], each, self.settings.length).nodes.numpy())
                    steps.append(np.full(each, step, np.int64))
                    done += each
                    progress("generation", done, count)
        if stride > 1:
            return timestamped(np.concatenate(nodes), len(self.step_counts))
        return np.concatenate(steps), np.concatenate(nodes)


def train(
    snapshots: Snapshots,
    settings: Settings,
    rng_seed: int,
    *,
    utility: Metered | Raw | None = None,
    progress: Progress = no_progress,
    checkpoint: Path | None = None,
) -> Trained:
    """Train a generator of walks like those of ``snapshots``.

    With ``utility`` they look like the original's too. With a ``checkpoint`` file the state is kept there
    every CHECKPOINT_EVERY batches, and a training that finds one goes on from it: on a CPU to the same
    weights bit for bit. Once the utility discriminator is learned, a training that goes on opens no session.
    Same seed, same weights, except for what a metered session draws. Without an anchor edge at a step that
    wants edges the generator stays as it was made.
    """
    with seeded(rng_seed) as place:
        state = State.begun(snapshots, settings, rng_seed, utility, progress, checkpoint, place)
        to_learn_from = steps_drawn(snapshots, 1, public_generator(rng_seed)).size
        batches = settings.batches if to_learn_from else 0
        while state.done < batches:
            _batch(state, snapshots, public_generator(seed_of(rng_seed, ADVERSARIAL, state.done)))
            progress("adversarial", state.done, batches)
            if checkpoint is not None and state.done % CHECKPOINT_EVERY == 0:
                state.save(checkpoint)
        return Trained(settings, snapshots.step_counts, state.released(), state.curves)


def _batch(state: State, snapshots: Snapshots, rng: Rng) -> None:
    """Take one step of the privacy discriminator and one of the generator, on the same generated walks."""
    settings, number = state.settings, state.done
    reseed(int(rng.integers(2**63)), state.place)
    slots = steps_drawn(snapshots, STEPS_A_BATCH, rng)
    each = max(1, settings.batch // STEPS_A_BATCH)
    walks = edge_started(snapshots, np.repeat(slots, each), settings.length, rng)
    over_time = state.viewer.over_time
    asked = slots.tolist() if state.generator.stride == 1 else [0] * len(slots)
    fake = state.generator(state.vocabulary, asked, each, settings.length, over_time).shown
    if settings.privacy_weight:
        penalised = number % PENALTY_EVERY == 0 and not settings.linear_losses
        state.curves["privacy"].append(_discriminate(state, state.viewer(walks), fake.detached(), penalised))
    state.done += 1
    if state.done % settings.generator_every:
        return
    for parameter in state.privacy.parameters():
        parameter.requires_grad_(False)
    total = torch.zeros((), device=state.place)
    if settings.privacy_weight:
        heard = passing(state.privacy(*fake.parts()), settings.linear_losses)
        total = total + settings.privacy_weight * heard
    if state.utility is not None:
        heard = passing(state.utility(*fake.parts()), settings.linear_losses)
        total = total + settings.utility_weight * heard
    if total.requires_grad:
        state.generator_optimiser.zero_grad()
        total.backward()
        if not settings.published_optimisers:
            nn.utils.clip_grad_norm_(state.generator.parameters(), LONGEST_GRADIENT)
        state.generator_optimiser.step()
    for parameter in state.privacy.parameters():
        parameter.requires_grad_(True)
    state.curves["generator"].append(float(total.detach()))


def _discriminate(state: State, real: Shown, fake: Shown, penalised: bool) -> float:
    """Move the privacy discriminator once, and return its loss before, without the penalty."""
    if penalised:
        time, over, *rest = real.parts()
        shown = time.requires_grad_(True), over.requires_grad_(True)
        on_real, on_fake = state.privacy(*shown, *rest), state.privacy(*fake.parts())
    else:
        both = (torch.cat(each) for each in zip(real.parts(), fake.parts(), strict=True))
        on_real, on_fake = state.privacy(*both).split(len(real.steps))
    loss = total = separating(on_real, on_fake, state.settings.linear_losses)
    if penalised:
        slopes = torch.autograd.grad(on_real.sum(), shown, create_graph=True)
        squares = sum(slope.square().sum() for slope in slopes) / len(on_real)
        total = loss + 0.5 * PENALTY * PENALTY_EVERY * squares
    state.privacy_optimiser.zero_grad()
    total.backward()
    state.privacy_optimiser.step()
    return float(loss.detach())
