"""Pictures are drawn in one place."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("api", "benchmarks", "client/graphveil", "core", "docs/site", "papers", "worker")


def test_one_module_writes_svg() -> None:
    files = [
        file for room in ROOMS for end in ("py", "html", "js") for file in (ROOT / room).rglob(f"*.{end}")
    ]
    drawers = [str(file.relative_to(ROOT)) for file in files if "<svg" in file.read_text(encoding="utf-8")]
    assert [each for each in drawers if "/tests/" not in each] == ["client/graphveil/pages/svg.py"]
