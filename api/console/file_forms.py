"""Forms with a file, read as they come. The file is never held whole, and lies nowhere in the clear."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from api.console.cookies import CSRF_FIELD
from core.errors import InvalidInput

MAX_FIELDS, MAX_FIELD_BYTES = 20, 4_096
MAX_OUTSIDE_BYTES = 2**17
"""Of a whole form, all that is not its file: names, fields, what stands before, between and after them."""
STEP_BYTES = 2**12  # read at once until the file begins
BROKEN = "the form cannot be read; send the file again"


@dataclass
class _Reading:
    """What the parser has told so far. ``file`` holds pieces that nobody has taken yet."""

    admit: Callable[[str | None], None]
    fields: dict[str, str] = field(default_factory=dict)
    parts: int = 0
    outside_bytes: int = 0
    file: list[bytes] = field(default_factory=list)
    file_begun: bool = False
    ended: bool = False
    _header: bytearray = field(default_factory=bytearray)
    _value: bytearray = field(default_factory=bytearray)
    _headers: dict[bytes, bytes] = field(default_factory=dict)
    _name: str = ""
    _text: bytearray = field(default_factory=bytearray)
    _in_file: bool = False

    def callbacks(self) -> dict[str, object]:
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, start, end: self._header.extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._value.extend(data[start:end]),
            "on_header_end": self._header_end,
            "on_headers_finished": self._named,
            "on_part_data": self._data,
            "on_part_end": self._end,
            "on_end": self._all,
        }

    def _begin(self) -> None:
        self.parts += 1
        if self.parts > MAX_FIELDS + 1:
            raise InvalidInput(
                f"a form has at most {MAX_FIELDS} fields; send the form of the page", field="body"
            )
        self._headers, self._text, self._in_file = {}, bytearray(), False

    def _header_end(self) -> None:
        self._headers[bytes(self._header).lower()] = bytes(self._value)
        self._header.clear()
        self._value.clear()

    def _named(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        if self.parts == 1 and (b"filename" in options or self._name != CSRF_FIELD):
            self.admit(None)
        if b"filename" in options:
            if self.file_begun:
                raise InvalidInput("two files came; send one at a time", field="file")
            self.file_begun = self._in_file = True

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self.file.append(bytes(data[start:end]))
            self.outside_bytes -= end - start
            return
        self._text.extend(data[start:end])
        if len(self._text) > MAX_FIELD_BYTES:
            raise InvalidInput(f"a field holds at most {MAX_FIELD_BYTES} bytes", field=self._name or "body")

    def _end(self) -> None:
        if not self._in_file:
            self.fields[self._name] = self._text.decode("utf-8", "replace").strip()
            if self.parts == 1:
                self.admit(self.fields[self._name])

    def _all(self) -> None:
        self.ended = True


def split(
    content_type: str, chunks: Iterable[bytes], admit: Callable[[str | None], None]
) -> tuple[dict[str, str], Iterator[bytes]]:
    """Return the fields before the file. The file's bytes come with them as they arrive. Memory: one chunk.

    The token of the form comes first: ``admit`` is told it, or None where something else does, before any
    more is read, and raises what refuses the form. Raises InvalidInput for what is no form, one without a
    file, or one that breaks off.
    """
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise InvalidInput("a file is sent as multipart/form-data; send the form of the page", field="body")
    reading = _Reading(admit)
    parser = MultipartParser(boundary, reading.callbacks())  # type: ignore[arg-type]
    coming = iter(chunks)

    def more() -> bool:
        piece = memoryview(next(coming, b""))
        if not piece:
            return False
        while piece:
            step = len(piece) if reading.file_begun else STEP_BYTES
            reading.outside_bytes += len(piece[:step])
            try:
                parser.write(bytes(piece[:step]))
            except MultipartParseError:
                raise InvalidInput(BROKEN, field="body") from None
            if reading.outside_bytes > MAX_OUTSIDE_BYTES:
                raise InvalidInput(
                    f"a form has at most {MAX_OUTSIDE_BYTES} bytes beside its file; send the page's form",
                    field="body",
                )
            piece = piece[step:]
        return True

    while not reading.file_begun:
        if not more():
            raise InvalidInput("no file was chosen", field="file", how_to_mend="Choose a file, and send it.")

    def file() -> Iterator[bytes]:
        while True:
            pieces, reading.file = reading.file, []
            yield from pieces
            if not more():
                break
        yield from reading.file
        if not reading.ended:
            raise InvalidInput(BROKEN, field="body")

    return reading.fields, file()
