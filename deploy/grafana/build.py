"""``python -m deploy.grafana.build``: the dashboards' JSON files are written anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from deploy.grafana.budget import BUDGET
from deploy.grafana.jobs import JOBS
from deploy.grafana.ledger import INTEGRITY
from deploy.grafana.objectives import OBJECTIVES

FOLDER = Path(__file__).resolve().parent / "dashboards"
DASHBOARDS: tuple[dict[str, Any], ...] = (BUDGET, JOBS, INTEGRITY, OBJECTIVES)


def files() -> dict[Path, str]:
    """Every dashboard's file, by its path."""
    return {
        FOLDER / f"{each['uid']}.json": json.dumps(each, indent=2, sort_keys=True) + "\n"
        for each in DASHBOARDS
    }


def main() -> None:
    """The files on disk are those of the code."""
    FOLDER.mkdir(exist_ok=True)
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
