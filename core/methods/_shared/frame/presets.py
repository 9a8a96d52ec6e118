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

    @model_validator(mode="before")
    @classmethod
    def _filled_from_the_preset(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not isinstance(given.get("preset", "default"), str):
            return given
        return {**cls.PRESETS.get(given.get("preset", "default"), {}), **given}
