"""Refusal of parameters that could change nothing.

It comes where a plan is made; they are not passed over in silence.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from core import errors
from core.methods._shared.frame.presets import PresetParameters
from core.methods.base import Parameters


class Idle(NamedTuple):
    """Parameters without effect. ``why``: what leaves them so, and what would give them one."""

    names: tuple[str, ...]
    why: str


def require_heeded(params: Parameters, idle: Iterable[Idle]) -> None:
    """Raise NotAccepted where an ``idle`` parameter was set.

    It names the field to mend. A value that is the default, or that of the chosen preset, counts as not set.
    Of public facts only: what is idle is said by the other parameters and by the request.
    """
    untouched = defaults_of(params)
    for names, why in idle:
        for name in names:
            if name in untouched and getattr(params, name) != untouched[name]:
                raise errors.NotAccepted(f"{name} has no effect: {why}; else leave it out", field=name)


def defaults_of(params: Parameters) -> dict[str, Any]:
    """Return every parameter's value where it is left out. The preset that ``params`` names counts."""
    defaults = {name: field.default for name, field in type(params).model_fields.items()}
    if isinstance(params, PresetParameters):
        # Else a request that spells out its own preset would be refused as one that sets idle parameters.
        defaults |= params.PRESETS[params.preset]  # type: ignore[attr-defined]
    return defaults
