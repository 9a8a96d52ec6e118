"""The whole state of a training. Vectors, candidates, networks, optimisers, curves, the batch's number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from core.errors import InvalidInput
from core.learning.devices import reseed
from core.methods.base import Progress
from core.privacy.entropy import public_generator
from papers._shared import tensor_files as files
from papers.thepuff import utility as utilities
from papers.thepuff.embedding import (
    Candidates,
    Embedding,
    across_steps,
    candidates,
    embed,
    type_weights,
)
from papers.thepuff.networks import Discriminator, Generator, PublishedDiscriminator
from papers.thepuff.sampled_softmax import Vocabulary
from papers.thepuff.schedule import Settings, seed_of
from papers.thepuff.snapshots import Snapshots
from papers.thepuff.utility import Metered, Raw, Viewer, steps_drawn
from papers.thepuff.walks import edge_started

EMBEDDING, UTILITY, ADVERSARIAL = range(3)
"""The phases, each with seeds of its own."""

PATTERNS = 20_000  # walks whose transitions between types are counted
BETAS = (0.5, 0.99)  # momentum as usual for adversarial training


@dataclass(eq=False)
class State:
    """A training under way. ``done`` counts adversarial batches."""

    settings: Settings
    seed: int
    snapshots: Snapshots
    place: torch.device
    choices: Candidates
    viewer: Viewer
    vocabulary: Vocabulary
    generator: Generator
    privacy: Discriminator | PublishedDiscriminator
    utility: Discriminator | PublishedDiscriminator | None
    generator_optimiser: torch.optim.Optimizer
    privacy_optimiser: torch.optim.Optimizer
    curves: dict[str, list[float]]
    done: int

    @classmethod
    def begun(
        cls,
        snapshots: Snapshots,
        settings: Settings,
        seed: int,
        utility: Metered | Raw | None,
        progress: Progress,
        checkpoint: Path | None,
        place: torch.device,
    ) -> State:
        """Load a checkpoint's state, or make a new one.

        A new one learns embedding and utility discriminator.
        """
        if checkpoint is not None and checkpoint.exists():
            return cls._loaded(snapshots, settings, seed, checkpoint, place)
        progress("embedding", 0, 1)
        rng = public_generator(seed_of(seed, EMBEDDING, 0))
        embedding = embed(
            snapshots,
            settings.dimensions,
            rng,
            int(rng.integers(2**31)),
            walks_a_row=settings.just_walks,
            length=settings.just_length,
        )
        choices = candidates(snapshots, embedding, settings.degree_weights)
        patterns = edge_started(snapshots, steps_drawn(snapshots, PATTERNS, rng), settings.length, rng)
        with np.errstate(divide="ignore"):  # what the schema forbids has weight 0
            counted = type_weights(snapshots, patterns)
            if settings.stride(snapshots.layout.steps) > 1:
                counted = counted.sum(0, keepdims=True)
            weights = torch.from_numpy(np.log(counted))
        progress("embedding", 1, 1)
        state = cls._built(snapshots, settings, seed, embedding, choices, weights, utility is not None, place)
        if utility is not None:
            assert state.utility is not None
            state.curves["utility"] = utilities.trained(
                utility,
                snapshots,
                choices,
                state.viewer,
                state.utility,
                length=settings.length,
                batch=settings.batch,
                seed=lambda batch: seed_of(seed, UTILITY, batch),
                progress=progress,
                settings=settings,
            )
            state.utility.requires_grad_(False).eval()
        if checkpoint is not None:  # what was paid for is not learned twice
            state.save(checkpoint)
        return state

    @classmethod
    def _built(
        cls,
        snapshots: Snapshots,
        settings: Settings,
        seed: int,
        embedding: Embedding,
        choices: Candidates,
        type_logs: torch.Tensor,
        with_utility: bool,
        place: torch.device,
    ) -> State:
        layout = snapshots.layout
        reseed(seed_of(seed, ADVERSARIAL, -1 % 2**32), place)
        stride = settings.stride(layout.steps)
        offered = choices if stride == 1 else across_steps(snapshots, choices)
        vocabulary = vocabulary_of(Vocabulary.tensors_of(embedding, offered), settings, place)
        generator = generator_of(settings, type_logs, vocabulary, stride).to(place)
        types, steps = len(layout.types), layout.steps if stride == 1 else 1
        privacy = discriminator_of(settings, types, steps, settings.width).to(place)
        utility = None
        if with_utility:
            utility = discriminator_of(settings, types, steps, settings.utility_width).to(place)
        return cls(
            settings,
            seed,
            snapshots,
            place,
            choices,
            Viewer(snapshots, embedding, place, one_step=stride > 1),
            vocabulary,
            generator,
            privacy,
            utility,
            *optimisers_of(settings, generator, privacy),
            {"privacy": [], "generator": []},
            0,
        )

    def released(self) -> dict[str, torch.Tensor]:
        """Return what sampling walks takes, on the CPU. It is the generator's weights and the vocabulary."""
        choices = self.choices if self.generator.stride == 1 else across_steps(self.snapshots, self.choices)
        vocabulary = Vocabulary.tensors_of(self.viewer.embedding, choices)
        kept = {**files.of_module("generator", self.generator)}
        kept.update({f"vocabulary.{name}": value for name, value in vocabulary.items()})
        return {name: value.detach().cpu().clone() for name, value in kept.items()}

    def save(self, path: Path) -> None:
        """Write this state to ``path``, whole or not at all."""
        embedding = self.viewer.embedding
        tensors = {
            "embedding.pairs": torch.from_numpy(embedding.pairs),
            "embedding.table": torch.from_numpy(embedding.table),
            **{f"choices.{name}": torch.from_numpy(c) for name, c in self.choices.columns().items()},
            **files.of_module("generator", self.generator),
            **files.of_module("privacy", self.privacy),
            **files.of_optimiser("generator_optimiser", self.generator_optimiser),
            **files.of_optimiser("privacy_optimiser", self.privacy_optimiser),
        }
        if embedding.over_time is not embedding.table:
            tensors["embedding.over_time"] = torch.from_numpy(embedding.over_time)
        if self.utility is not None:
            tensors.update(files.of_module("utility", self.utility))
        facts = {
            "settings": asdict(self.settings),
            "seed": self.seed,
            "snapshots": self.snapshots.digest,
            "done": self.done,
            "curves": self.curves,
        }
        files.save(path, tensors, facts)

    @classmethod
    def _loaded(
        cls, snapshots: Snapshots, settings: Settings, seed: int, path: Path, place: torch.device
    ) -> State:
        tensors, facts = files.load(path)
        same = {"settings": asdict(settings), "seed": seed, "snapshots": snapshots.digest}
        if any(facts[name] != value for name, value in same.items()):
            raise InvalidInput("the checkpoint is of another training", field="checkpoint")
        vectors = {name: value.numpy() for name, value in files.part("embedding", tensors).items()}
        embedding = Embedding(vectors["pairs"], vectors["table"], vectors.get("over_time", vectors["table"]))
        choices = Candidates(**{n: value.numpy() for n, value in files.part("choices", tensors).items()})
        utility = files.part("utility", tensors)
        state = cls._built(
            snapshots,
            settings,
            seed,
            embedding,
            choices,
            tensors["generator.type_weights"],
            bool(utility),
            place,
        )
        state.generator.load_state_dict(files.part("generator", tensors))
        state.privacy.load_state_dict(files.part("privacy", tensors))
        if state.utility is not None:
            state.utility.load_state_dict(utility)
            state.utility.requires_grad_(False).eval()
        files.restore_optimiser(state.generator_optimiser, files.part("generator_optimiser", tensors))
        files.restore_optimiser(state.privacy_optimiser, files.part("privacy_optimiser", tensors))
        state.curves = facts["curves"]
        state.done = facts["done"]
        return state


def vocabulary_of(tensors: Mapping[str, torch.Tensor], settings: Settings, place: torch.device) -> Vocabulary:
    """Make the vocabulary that choices are made from."""
    return Vocabulary(tensors, exact_up_to=settings.exact_up_to, sampled=settings.sampled, place=place)


def generator_of(
    settings: Settings, type_logs: torch.Tensor, vocabulary: Vocabulary, stride: int
) -> Generator:
    """Make a generator with random weights."""
    return Generator(
        type_logs, settings.dimensions, settings.hidden, vocabulary.candidates, settings.learn_weights, stride
    )


def discriminator_of(
    settings: Settings, types: int, steps: int, width: int
) -> Discriminator | PublishedDiscriminator:
    """Make a discriminator with random weights, in our form or as published."""
    if settings.published_attention:
        return PublishedDiscriminator(types, settings.dimensions, width, settings.dropout)
    return Discriminator(types, steps, settings.dimensions, width)


def optimisers_of(
    settings: Settings, generator: Generator, privacy: torch.nn.Module
) -> tuple[torch.optim.Optimizer, torch.optim.Optimizer]:
    """Make the optimisers of generator and privacy discriminator; as published: RMSprop and SGD."""
    if settings.published_optimisers:
        return (
            torch.optim.RMSprop(generator.parameters(), lr=settings.generator_rate),
            torch.optim.SGD(privacy.parameters(), lr=settings.discriminator_rate),
        )
    return (
        torch.optim.Adam(generator.parameters(), lr=settings.generator_rate, betas=BETAS, fused=True),
        torch.optim.Adam(privacy.parameters(), lr=settings.discriminator_rate, betas=BETAS, fused=True),
    )
