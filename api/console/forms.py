"""What a form holds. It has the fields of an HTML form, within the limits of other bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import parse_qsl

from anyio import to_thread
from fastapi import Depends, Request
from pydantic import ValidationError

from api.http import bodies
from api.http.validation import field_errors
from core.errors import InvalidInput
from core.settings import Settings

MAX_FIELDS = 200
URLENCODED = "application/x-www-form-urlencoded"


class Form(dict[str, str]):
    """The last value of each field, spaces around it gone; ``many`` has every value of those that repeat."""

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        super().__init__((name, value.strip()) for name, value in fields)
        self._fields = fields

    def many(self, name: str) -> list[str]:
        """Return every value of the field that is not empty."""
        return [value.strip() for field, value in self._fields if field == name and value.strip()]

    def given(self, *names: str) -> dict[str, str]:
        """Return those of the fields that are filled in."""
        return {name: self[name] for name in names if self.get(name)}


async def read(request: Request, settings: Settings, most_bytes: int | None = None) -> Form:
    """Read the form whole, and parse it in a thread. Raises PayloadTooLarge, RequestTimeout, InvalidInput."""
    body = await bodies.whole(request, settings, most_bytes)
    return await to_thread.run_sync(_parsed, request.headers.get("content-type", ""), body)


def _parsed(content_type: str, body: bytes) -> Form:
    kind = content_type.partition(";")[0].strip().lower()
    if body and kind != URLENCODED:
        raise InvalidInput(f"a form is sent as {URLENCODED}; send the form of the page", field="body")
    try:
        return Form(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except (UnicodeDecodeError, ValueError):
        raise InvalidInput("the form cannot be read; send the one of the page", field="body") from None


async def form_of(request: Request) -> Form:
    """Return the form that was read. Its token was checked before the route ran."""
    form: Form = request.state.form
    return form


FormDep = Annotated[Form, Depends(form_of)]


def mistaken(error: ValidationError) -> InvalidInput:
    """Turn a model's refusal of a form into ours. Each field comes with what is wrong and how to mend it."""
    found = field_errors(error.errors())
    return InvalidInput(
        "; ".join(each.message for each in found), errors=[each.model_dump() for each in found]
    )


def whole_number(values: Mapping[str, str], field: str) -> int | None:
    """Return the number in the field; None where it is empty. InvalidInput for anything else."""
    text = values.get(field, "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise InvalidInput("this is no whole number", field=field)
    return int(text)
