"""The state of a training in one file.

It is safetensors, with a JSON text in its header. It holds weights, vectors and counters, all learned from
paid-for output (or under a variant without a guarantee), so that resuming reads nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file


def save(path: Path, tensors: Mapping[str, torch.Tensor], facts: Mapping[str, Any]) -> None:
    """Write the tensors and the JSON-able facts to ``path``.

    They are written whole or not at all, over any older file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    save_file(
        {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()},
        unfinished,
        metadata={"facts": json.dumps(facts, allow_nan=False)},
    )
    with unfinished.open("rb") as written:
        os.fsync(written.fileno())
    unfinished.replace(path)


def load(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Read the tensors and facts that :func:`save` wrote. Tensors are on the CPU."""
    with safe_open(path, framework="pt", device="cpu") as file:
        names = list(file.keys())
        return {name: file.get_tensor(name) for name in names}, json.loads(file.metadata()["facts"])


def of_module(prefix: str, module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Name the module's weights with names that begin with ``prefix``."""
    return {f"{prefix}.{name}": value for name, value in module.state_dict().items()}


def of_optimiser(prefix: str, optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """Name the tensors that an optimiser keeps for each parameter."""
    state = optimiser.state_dict()["state"]
    return {
        f"{prefix}.{number}.{name}": value for number, kept in state.items() for name, value in kept.items()
    }


def part(prefix: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Pick the tensors under ``prefix``, and strip it.

    Their names begin with it and a dot; both are dropped.
    """
    return {
        name[len(prefix) + 1 :]: value for name, value in tensors.items() if name.startswith(prefix + ".")
    }


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: Mapping[str, torch.Tensor]) -> None:
    """Give the optimiser back the tensors that :func:`of_optimiser` named."""
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in tensors.items():
        number, field = name.split(".", 1)
        state.setdefault(int(number), {})[field] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
