"""Parameters that come in presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

from pydantic import model_validator

from core.methods.base import Parameters


class PresetParameters(Parameters):
    """Parameters with a field ``preset``, which stands for values of the others.

    ``PRESETS`` says what each preset sets apart from the defaults; what a caller names beside it prevails.
    ``WAYS`` holds a frozen dataclass for each, or is empty: what nobody sets by itself, and is retired.
    """

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]]
    WAYS: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def retired(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        name = given.get("preset", "default")
        way = vars(cls.WAYS[name if name in (*cls.WAYS,) else "default"]) if cls.WAYS else {}
        return {**cls.RETIRED, **way}

    @classmethod
    def varied(cls, **given: Any) -> Self:
        name = given.get("preset", "default")
        way = vars(cls.WAYS[name]) if cls.WAYS else {}
        own = {each: given.pop(each) for each in way if each in given}
        other = cls._with({"WAYS": {**cls.WAYS, name: replace(cls.WAYS[name], **own)}}) if own else cls
        return super(PresetParameters, other).varied(**given)

    @model_validator(mode="before")
    @classmethod
    def _filled_from_the_preset(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not isinstance(given.get("preset", "default"), str):
            return given
        return {**cls.PRESETS.get(given.get("preset", "default"), {}), **given}
