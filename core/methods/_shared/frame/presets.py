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
    ``WAYS`` holds a frozen dataclass for each: what nobody sets by itself, and is retired.
    """

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]]
    WAYS: ClassVar[Mapping[str, Any]]

    @classmethod
    def retired(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        name = given.get("preset", "default")
        return {**cls.RETIRED, **vars(cls.WAYS[name if name in (*cls.WAYS,) else "default"])}

    @classmethod
    def varied(cls, **given: Any) -> Self:
        name = given.get("preset", "default")
        own = {each: given.pop(each) for each in vars(cls.WAYS[name]) if each in given}
        ways = {**cls.WAYS, name: replace(cls.WAYS[name], **own)}
        other = cls._with({"WAYS": ways}) if own else cls
        return super(PresetParameters, other).varied(**given)

    @property
    def way(self) -> Any:
        """What the preset fixes."""
        return self.WAYS[self.preset]  # type: ignore[attr-defined]

    @model_validator(mode="before")
    @classmethod
    def _filled_from_the_preset(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not isinstance(given.get("preset", "default"), str):
            return given
        return {**cls.PRESETS.get(given.get("preset", "default"), {}), **given}
