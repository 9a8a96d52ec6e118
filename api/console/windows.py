"""What the windows of a stream hold. They come one by one: those that are over, and those that are to
come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from markupsafe import Markup

from api.console.texts import text
from graphveil.amounts import format_epsilon
from graphveil.models.ledger import Budget
from graphveil.models.streams import Stream
from graphveil.pages.svg import Plot, n

WIDTH, HEIGHT = 900, 170
NANO = 1_000_000_000


@dataclass(frozen=True)
class Window:
    """The window that ends at step ``last``, in nano-epsilon. ``planned``: what steps to come may add."""

    last: int
    charged: int
    reserved: int
    planned: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.charged + self.reserved + self.planned


@dataclass(frozen=True)
class Strip:
    """The picture and its figures."""

    svg: Markup
    rows: tuple[tuple[int, str, str, str, str], ...]
    over: tuple[int, ...]


def nano(epsilon: str) -> int:
    """Read an exact epsilon as the integer that the ledger keeps."""
    return int(Decimal(epsilon) * NANO)


def windows_of(
    stream: Stream,
    budget: Budget,
    untimed: tuple[int, int],
    own: Mapping[int, int],
    steps_shown: range,
) -> list[Window]:
    """Add up what every window holds. Windows are those that end at one of ``steps_shown``.

    ``untimed``: what is charged and reserved without a time, which counts in every window. ``own``: what the
    stream's own steps have cost. A step to come is reckoned at the most that a step of it costs, and all of a
    window's together at what the stream may still spend there.
    """
    spend = budget.steps
    charged = dict(zip(spend.steps, spend.charged_nano_epsilon, strict=True)) if spend else {}
    reserved = dict(zip(spend.steps, spend.reserved_nano_epsilon, strict=True)) if spend else {}
    each, most = nano(stream.step_epsilon), nano(stream.epsilon)
    found = []
    for end in steps_shown:
        steps = range(max(0, end - stream.window + 1), end + 1)
        coming = sum(step >= stream.next_step for step in steps) if stream.state == "open" else 0
        left = max(0, most - sum(own.get(step, 0) for step in steps))
        held = untimed[0] + sum(charged.get(step, 0) for step in steps)
        kept = untimed[1] + sum(reserved.get(step, 0) for step in steps)
        found.append(Window(end, held, kept, min(coming * each, left)))
    return found


def untimed_of(budget: Budget) -> tuple[int, int]:
    """Return what the account has spent without a time. It is charged and reserved, in nano-epsilon.

    ``budget`` tells the steps of its fullest window: what that window holds beyond them has no step.
    """
    if budget.tightest_window is None or budget.steps is None:
        return budget.charged.nano_epsilon, budget.reserved.nano_epsilon
    first, last = budget.tightest_window
    rows = zip(
        budget.steps.steps,
        budget.steps.charged_nano_epsilon,
        budget.steps.reserved_nano_epsilon,
        strict=True,
    )
    inside = [(charged, reserved) for step, charged, reserved in rows if first <= step <= last]
    return (
        max(0, budget.charged.nano_epsilon - sum(charged for charged, _ in inside)),
        max(0, budget.reserved.nano_epsilon - sum(reserved for _, reserved in inside)),
    )


def strip(
    stream: Stream,
    budget: Budget,
    untimed: tuple[int, int],
    own: Mapping[int, int],
    steps_shown: range,
) -> Strip:
    """Draw the windows side by side. They are as high as what they hold, under the line of what they may."""
    first, last = steps_shown[0], steps_shown[-1]
    found = windows_of(stream, budget, untimed, own, steps_shown)
    capacity = budget.capacity.nano_epsilon
    top = max([capacity, *(each.total for each in found)], default=1) or 1
    plot = Plot(height=HEIGHT, width=WIDTH, left=44, right=8, top=8, bottom=36)
    plot.left_axis([(0.0, "0"), (capacity / top, format_epsilon(capacity))])
    count = len(found)
    across = (plot.x(1) - plot.x(0)) / count
    for index, each in enumerate(found):
        level = 0
        parts = (("held", each.charged), ("kept", each.reserved), ("free", each.planned))
        for style, nano in parts:
            if nano:
                left, low, high = (
                    plot.x(index / count) + 0.5,
                    plot.y(level / top),
                    plot.y((level + nano) / top),
                )
                wide = max(across - 1, 0.5)
                plot.path(f"M{n(left)} {n(low)}h{n(wide)}V{n(high)}h{n(-wide)}z", style)
                level += nano
    plot.path(f"M{n(plot.x(0))} {n(plot.y(capacity / top))}H{n(plot.x(1))}", "guessing")
    if first <= stream.next_step <= last:
        x = plot.x((stream.next_step - first) / count)
        plot.path(f"M{n(x)} {plot.top}V{n(plot.y(0))}", "needle")
    marks = range(first, last + 1, max(1, count // 10))
    labels = [((step - first + 0.5) / count, str(step)) for step in marks]
    plot.bottom_axis(labels, text("streams.axis"))
    over = tuple(each.last for each in found if each.total > capacity)
    shown = format_epsilon(capacity)
    description = text("streams.picture", first=first, last=last, capacity=shown, over=len(over))
    rows = tuple(
        (
            each.last,
            format_epsilon(each.charged),
            format_epsilon(each.reserved),
            format_epsilon(each.planned),
            format_epsilon(max(0, capacity - each.total)),
        )
        for each in found
    )
    return Strip(plot.svg("windows", text("streams.windows"), description), rows, over)
