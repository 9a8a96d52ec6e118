"""Numbers as people read them.

They have three significant digits, thousands separators; the exact value stands next to them.
"""

from __future__ import annotations

import math

from markupsafe import Markup

from graphveil.amounts import format_epsilon

UNDEFINED = Markup('<span class="none">–<span class="hidden"> undefined</span></span>')
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def plain(value: float) -> str:
    """Write a number readably, to three significant digits.

    Whole numbers are written in full: 1,234,567; 0.0312; 2.1×10⁻⁷; −0.4.
    """
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        text = f"{int(value):,}"
    elif abs(value) >= 1e15 or abs(value) < 1e-4:
        mantissa, exponent = f"{value:.2e}".split("e")
        short = mantissa.rstrip("0").rstrip(".")
        text = f"{short}×10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    elif abs(value) >= 1000:
        text = f"{value:,.0f}"
    else:
        digits = max(0, 2 - math.floor(math.log10(abs(value))))
        text = f"{value:.{digits}f}"
    return text.replace("-", "\N{MINUS SIGN}") if text.startswith("-") else text


def ends(low: float, high: float) -> str:
    """Write an interval with just enough digits. They are as many as tell its ends apart, of six at most."""
    if low == high or plain(low) != plain(high):
        return f"{plain(low)} to {plain(high)}"
    digits = next((k for k in (4, 5) if f"{low:.{k}g}" != f"{high:.{k}g}"), 6)
    return f"{low:.{digits}g} to {high:.{digits}g}"


def exact(value: float) -> str:
    """Write every digit, for machines and for those who hover."""
    return str(value) if isinstance(value, int) else repr(float(value))


def number(value: float | None) -> Markup:
    """Write the number for a table. A dash where it is undefined."""
    if value is None:
        return UNDEFINED
    return Markup('<data value="{0}" title="{0}">{1}</data>').format(exact(value), plain(value))


def percent_text(value: float) -> str:
    """Write a share as percent, to three digits. It is never rounded to certainty or to nothing."""
    if value in (0, 1):
        return f"{value:.0%}".replace("%", "\N{NO-BREAK SPACE}%")
    if 0.999 < value < 1:
        return ">\N{NO-BREAK SPACE}99.9\N{NO-BREAK SPACE}%"
    if 0 < value < 0.00001:
        return "<\N{NO-BREAK SPACE}0.001\N{NO-BREAK SPACE}%"
    return f"{value * 100:.3g}\N{NO-BREAK SPACE}%"


def percent(value: float | None) -> Markup:
    """Write a share for a table. A dash where it is undefined."""
    if value is None:
        return UNDEFINED
    return Markup('<data value="{0}" title="{0}">{1}</data>').format(exact(value), percent_text(value))


def at_most(share: float) -> str:
    """Write a probability's bound as percent, rounded up. It is to a tenth, never below it."""
    return f"{math.ceil(share * 1000) / 10:g}\N{NO-BREAK SPACE}%"


def relative(value: float | None) -> Markup:
    """Write a relative error for a table. It is percent up to tenfold, then a factor."""
    if value is None or value <= 10:
        return percent(value)
    shown = "> 10⁶" if value > 1e6 else f"{plain(round(value, 1))}×"
    return Markup('<data value="{0}" title="{0}">{1}</data>').format(exact(value), shown)


def tick(value: float) -> str:
    """Write a number on an axis: 20k, 1.5M, 0.25."""
    for size, unit in _UNITS:
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}".replace("-", "\N{MINUS SIGN}")
    return f"{value:.3g}".replace("-", "\N{MINUS SIGN}")


def size(size_bytes: int) -> str:
    """Write bytes as people read them, decimal units."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.3g} {name}"
    return f"{size_bytes} B"


def nano(nano_epsilon: int | None) -> str:
    """Write nano-epsilon as epsilon, exactly. A dash where it is not pure."""
    return "–" if nano_epsilon is None else format_epsilon(nano_epsilon)
