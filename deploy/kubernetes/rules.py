"""``python -m deploy.kubernetes.rules``: the rules of Prometheus as its operator takes them."""

from __future__ import annotations

from pathlib import Path

import yaml

DEPLOY = Path(__file__).resolve().parents[1]
FILE = DEPLOY / "kubernetes" / "components" / "monitoring" / "rules.yaml"
HEAD = "# Written by `python -m deploy.kubernetes.rules` from deploy/prometheus/rules: change those.\n"


def manifest() -> str:
    """The text of a PrometheusRule with every group of every file, in the order of their names."""
    files = sorted((DEPLOY / "prometheus" / "rules").glob("*.yml"))
    groups = [group for file in files for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]]
    document = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "graphveil"},
        "spec": {"groups": groups},
    }
    return HEAD + yaml.safe_dump(document, sort_keys=False, width=110, allow_unicode=True)


def main() -> None:
    """The file on disk is that of the rules."""
    FILE.write_text(manifest(), encoding="utf-8")


if __name__ == "__main__":
    main()
