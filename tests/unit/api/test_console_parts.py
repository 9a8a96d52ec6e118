"""Parts of the console that need no service: windows of a stream, files in forms, a schema as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from api.console import file_forms, pictures, windows
from api.console.forms import Form, whole_number
from core.errors import FormRefused, InvalidInput
from graphveil.amounts import format_epsilon
from graphveil.models.ledger import Amount, Budget, Entry, StepSpend
from graphveil.models.streams import Stream

NANO = 1_000_000_000


def amount(nano: int) -> Amount:
    return Amount(epsilon=format_epsilon(nano), delta="0", nano_epsilon=nano, delta_atto=0)


def budget(
    charged: dict[int, int], reserved: dict[int, int], *, untimed: int = 0, window: int | None = 3
) -> Budget:
    """An account of capacity 2 whose fullest window is found by trying them all."""
    steps = sorted({*charged, *reserved})

    def held(spend: dict[int, int], last: int) -> int:
        return sum(spend.get(step, 0) for step in range(last - (window or 1) + 1, last + 1))

    last = max(steps, key=lambda step: held(charged, step) + held(reserved, step), default=0)
    return Budget(
        account_id="acc_1",
        domain="d",
        unit="w-event",
        window=window,
        filter="basic",
        capacity=amount(2 * NANO),
        charged=amount(held(charged, last) + untimed),
        reserved=amount(held(reserved, last)),
        remaining=amount(0),
        tightest_window=(max(0, last - (window or 1) + 1), last) if steps else None,
        steps=StepSpend(
            steps=tuple(steps),
            charged_nano_epsilon=tuple(charged.get(step, 0) for step in steps),
            reserved_nano_epsilon=tuple(reserved.get(step, 0) for step in steps),
            complete=True,
        ),
        blocked=False,
        exposed=False,
        entries=2,
        head="00",
    )


def stream(next_step: int, *, epsilon: str = "1", step_epsilon: str = "0.5", state: str = "open") -> Stream:
    return Stream.model_construct(
        epsilon=epsilon, step_epsilon=step_epsilon, next_step=next_step, window=3, state=state
    )


def test_a_window_holds_what_its_steps_have_spent_and_what_steps_to_come_may_add():
    charged, reserved = {0: 400_000_000, 1: 300_000_000}, {2: 200_000_000}
    held = budget(charged, reserved, untimed=100_000_000)
    untimed, own = windows.untimed_of(held), {1: 300_000_000, 2: 200_000_000}
    assert untimed == (100_000_000, 0)
    found = windows.windows_of(stream(3), held, untimed, own, range(7))
    for each in found:
        steps = range(max(0, each.last - 2), each.last + 1)
        assert each.charged == 100_000_000 + sum(charged.get(step, 0) for step in steps)
        assert each.reserved == sum(reserved.get(step, 0) for step in steps)
        left = NANO - sum(own.get(step, 0) for step in steps)
        assert each.planned == min(left, 500_000_000 * sum(step >= 3 for step in steps))
    assert [each.planned for each in found][:4] == [0, 0, 0, 500_000_000]
    assert all(
        each.planned == 0
        for each in windows.windows_of(stream(3, state="closed"), held, untimed, own, range(7))
    )


def test_windows_that_would_pass_the_capacity_are_named():
    held = budget(dict.fromkeys(range(3), 900000000), {})
    drawn = windows.strip(stream(3, epsilon="2", step_epsilon="0.9"), held, (0, 0), {}, range(9))
    assert drawn.over == (2, 3, 4)
    assert "Over it: 3" in drawn.svg
    assert len(drawn.rows) == 9


def test_an_account_without_steps_has_all_of_its_spend_in_every_window():
    held = budget({}, {}, untimed=700_000_000)
    assert windows.untimed_of(held) == (700_000_000, 0)
    assert {each.charged for each in windows.windows_of(stream(0), held, (700_000_000, 0), {}, range(6))} == {
        700_000_000
    }


def entry(sequence: int, kind: str, nano: int, at: datetime) -> Entry:
    return Entry.model_construct(sequence=sequence, kind=kind, amounts={"epsilon": nano}, created_at=at)


def test_a_budget_over_time_is_the_fold_of_its_entries():
    began = datetime(2026, 1, 1, tzinfo=UTC)
    kinds = [("grant", 2 * NANO), ("reserve", 500_000_000), ("charge", 500_000_000), ("reserve", NANO)]
    kinds += [("release", NANO), ("adjust", 250_000_000)]
    entries = [entry(k, kind, nano, began + timedelta(days=k)) for k, (kind, nano) in enumerate(kinds)]
    held = budget({}, {}, untimed=750_000_000, window=None)
    svg = pictures.spent_over_time(entries, held)
    assert svg is not None
    path = svg.partition('class="line original" d="')[2].partition('"')[0]
    heights = [
        float(part) for part in path.replace("M", "V").replace("H", "V").replace(" ", "V").split("V") if part
    ]
    levels = [heights[1], *heights[3::2]]
    assert all(later <= earlier for earlier, later in pairwise(levels))  # up the page, never down
    assert len(set(levels)) == 3  # nothing, after the charge, after the adjustment
    assert pictures.spent_over_time(entries[:1], held) is None
    assert pictures.spent_over_time(entries, budget({}, {})) is None


def test_a_schema_is_drawn_with_every_type_and_relation():
    schema = {
        "node_types": [{"name": "<person>"}, {"name": "place"}, {"name": "thing"}],
        "edge_types": [
            {"name": "knows", "source": "<person>", "target": "<person>"},
            {"name": "visits", "source": "<person>", "target": "place", "directed": True},
            {"name": "likes", "source": "<person>", "target": "place"},
        ],
    }
    drawn = pictures.type_graph(schema)
    assert drawn is not None
    for name in ("&lt;person&gt;", "place", "thing", "knows", "visits", "likes"):
        assert f">{name}</text>" in drawn
    assert drawn.count('class="arrow"') == 1
    assert (
        pictures.type_graph({"node_types": [{"name": str(k)} for k in range(99)], "edge_types": []}) is None
    )


def body(*parts: tuple[str, str, bytes]) -> bytes:
    """A form as browsers send it: (name, file name or nothing, content)."""
    whole = b""
    for name, file, content in parts:
        named = f'; filename="{file}"' if file else ""
        whole += (
            f'--xyz\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'.encode()
            + content
            + b"\r\n"
        )
    return whole + b"--xyz--\r\n"


KIND = "multipart/form-data; boundary=xyz"
FILE = bytes(range(256)) + b"\r\n--xyzzy\r\n--xy\r\n" + b"a,b\n" * 50


@pytest.mark.parametrize("size", [1, 2, 7, 64, 10_000])
def test_a_file_comes_out_of_its_form_as_it_went_in_however_it_is_cut(size: int):
    sent = body(("csrf", "", b"t"), ("part", "", "nödes".encode()), ("file", "e.csv", FILE))
    pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
    admitted: list[str | None] = []
    fields, file = file_forms.split(KIND, pieces, admitted.append)
    assert fields == {"csrf": "t", "part": "nödes"}
    assert b"".join(file) == FILE
    assert admitted == ["t"]


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        body(("csrf", "", b"t")),
        body(("csrf", "", b"x" * 5_000), ("file", "e.csv", b"1")),
        body(*((f"f{k}", "", b"1") for k in range(30)), ("file", "e.csv", b"1")),
        body(("file", "e.csv", FILE))[:-20],
        body(("file", "e.csv", b"1"), ("file", "f.csv", b"2")),
        body(*[("f", "", b"")] * 2_000, ("file", "e.csv", b"1")),
        b"\r\n" * 100_000 + body(("file", "e.csv", b"1")),
        body(("file", "e.csv", b"1")) + b"\r\n" * 100_000,
        body(("x" * 200_000, "", b"1"), ("file", "e.csv", b"1")),
    ],
    ids=[
        *("nothing", "no file", "a long field", "many fields", "broken off", "two files"),
        *("parts of one name", "a long beginning", "a long end", "a long header"),
    ],
)
def test_what_is_not_one_file_in_a_form_is_refused(sent: bytes):
    with pytest.raises(InvalidInput):
        list(file_forms.split(KIND, [sent[at : at + 100] for at in range(0, len(sent), 100)], _anybody)[1])


def _anybody(token: str | None) -> None:
    """Every form is admitted."""


@pytest.mark.parametrize(
    "first",
    [("csrf", "", b"wrong"), ("part", "", b"edges"), ("file", "e.csv", b"1")],
    ids=lambda part: part[0],
)
def test_a_form_is_refused_before_more_of_it_is_read_than_its_token(first: tuple[str, str, bytes]):
    sent = body(first, *((f"f{k}", "", b"1") for k in range(9)), ("csrf", "", b"right"))
    taken: list[bytes] = []

    def pieces() -> Iterator[bytes]:
        for at in range(0, len(sent), 10):
            taken.append(sent[at : at + 10])
            yield taken[-1]

    def admit(token: str | None) -> None:
        if token != "right":
            raise FormRefused("no")

    with pytest.raises(FormRefused):
        file_forms.split(KIND, pieces(), admit)
    assert len(b"".join(taken)) < 100


def test_fields_are_without_spaces_and_repeat_where_they_may():
    form = Form([("a", " 1 "), ("roles", "x"), ("roles", " y"), ("roles", "")])
    assert (form["a"], form.many("roles"), form.given("a", "b")) == ("1", ["x", "y"], {"a": "1"})
    assert whole_number(form, "a") == 1
    assert whole_number(form, "b") is None
    for wrong in ("-1", "1.5", "1e3", "٣", "9" * 30):
        with pytest.raises(InvalidInput):
            whole_number({"a": wrong}, "a")
