"""Parameters that come in presets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import model_validator

from core.methods.base import Parameters


class PresetParameters(Parameters):
    """Parameters with a field ``preset``, which stands for values of the others.

    ``PRESETS`` says what each preset sets apart from the defaults; what a caller names beside it prevails.
    """

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]]
    RETIRED: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Presets that are no longer offered. A stored job has their values written out, and runs by these."""

    @model_validator(mode="before")
    @classmethod
    def _filled_from_the_preset(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not isinstance(given.get("preset", "default"), str):
            return given
        name = given.get("preset", "default")
        if name in cls.RETIRED:
            given = cls._of_retired(name, given)
            name = "default"
        return {**cls.PRESETS.get(name, {}), **given}

    @classmethod
    def _of_retired(cls, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        stood_for = cls.RETIRED[name]
        if missing := [each for each in stood_for if each not in given]:
            values = ", ".join(f"{each} {stood_for[each]}" for each in missing)
            raise ValueError(f"{name} is no longer offered; leave preset out, and set {values}")
        return {**given, "preset": "default"}
