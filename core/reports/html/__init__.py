"""The report as one HTML page. It is self-contained, readable without scripts, light and dark, screen and
paper."""

from core.reports.html.render import render

__all__ = ["render"]
