"""``python -m deploy.helm.chart``: the Helm chart, written from the manifests of deploy/kubernetes.

The manifests stay the one source. What differs from cluster to cluster becomes a value: images, replicas,
host, secrets, configuration. ``--render`` prints the documents that the chart makes with its own values; it
knows the few forms that the templates use and refuses every other, so that Helm is not needed to validate.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

KUBERNETES = Path(__file__).resolve().parents[1] / "kubernetes"
CHART = Path(__file__).resolve().parent / "graphveil"
HEAD = "# Written by `python -m deploy.helm.chart` from deploy/kubernetes/{name}: change that.\n"
LEFT_OUT = frozenset({"kustomization.yaml", "namespace.yaml"})
"""The namespace is the release's: make it with the labels of namespace.yaml."""
POOLS = ("papers", "gpu")
HOST, TLS = "graphveil.example.org", "graphveil-tls"
SECRETS = {"graphveil": "service", "graphveil-migrator": "migrator", TLS: "tls"}

_IMAGE = re.compile(r"image: graphveil-([a-z-]+)$", re.M)
_SECRET = re.compile(r"secretName: (graphveil(?:-migrator|-tls)?)\b")
_REPLICAS = re.compile(r"^  replicas: (\d+)$", re.M)
_NAME = re.compile(r"^metadata: \{name: ([a-z-]+)", re.M)
_FORM = re.compile(r"\{\{.*?\}\}")
_VALUE = re.compile(r"\{\{ \.(Values|Release)((?:\.[A-Za-z_]+)+) \}\}")
_MAP = re.compile(r"^\{\{ toYaml \.Values\.([a-z]+) \| indent 2 \}\}$", re.M)
_POOL = re.compile(r"^\{\{- if \.Values\.pools\.([a-z]+) \}\}\n(.*)^\{\{- end \}\}\n", re.M | re.S)


def files() -> dict[str, str]:
    """Every file of the chart, by its path in it."""
    values: dict[str, Any] = {
        "host": HOST,
        "images": {},
        "replicas": {},
        "pools": dict.fromkeys(POOLS, False),
        "secrets": {name: secret for secret, name in SECRETS.items()},
        "configuration": {},
    }
    made = {}
    for path in _sources():
        name = path.relative_to(KUBERNETES).as_posix()
        text = _template(path.read_text(encoding="utf-8"), values)
        if path.parent.name in POOLS:
            text = f"{{{{- if .Values.pools.{path.parent.name} }}}}\n{text}{{{{- end }}}}\n"
        made[f"templates/{path.name}"] = HEAD.format(name=name) + text
    version = _version()
    chart = {
        "apiVersion": "v2",
        "name": "graphveil",
        "description": "Synthetic graphs under differential privacy, as a service",
        "type": "application",
        "version": version,
        "appVersion": version,
        "kubeVersion": ">=1.30.0-0",
    }
    head = HEAD.format(name="base")
    made["Chart.yaml"] = head + yaml.safe_dump(chart, sort_keys=False)
    made["values.yaml"] = head + yaml.safe_dump(values, sort_keys=False, width=110)
    return made


def render(chart: dict[str, str], **changes: Any) -> list[dict[str, Any]]:
    """Make the chart's documents, its values changed at the top. ValueError: an unknown form."""
    values = {**yaml.safe_load(chart["values.yaml"]), **changes}
    scope = {"Values": values, "Release": {"Revision": 1}}
    found: list[dict[str, Any]] = []
    for name, text in sorted(chart.items()):
        if name.startswith("templates/"):
            documents = yaml.safe_load_all(_rendered(text, scope))
            found += [document for document in documents if document is not None]
    return found


def _sources() -> list[Path]:
    pools = [KUBERNETES / "components" / pool for pool in POOLS]
    folders = [KUBERNETES / "base", *pools, KUBERNETES / "overlays" / "example"]
    return [path for each in folders for path in sorted(each.glob("*.yaml")) if path.name not in LEFT_OUT]


def _version() -> str:
    stated = yaml.safe_load((KUBERNETES / "base" / "kustomization.yaml").read_text(encoding="utf-8"))
    (tag,) = {image["newTag"] for image in stated["images"]}
    return str(tag)


def _template(text: str, values: dict[str, Any]) -> str:
    """Put a value wherever clusters differ; note in ``values`` what stands there now."""
    if "{{" in text:
        raise ValueError("a manifest holds what Helm would read as a template")
    return "---\n".join(_document(part, values) for part in text.split("---\n"))


def _document(text: str, values: dict[str, Any]) -> str:
    def image(found: re.Match[str]) -> str:
        name = found[1].replace("-", "_")
        values["images"][name] = f"graphveil-{found[1]}:{_version()}"
        return f'image: "{{{{ .Values.images.{name} }}}}"'

    def replicas(found: re.Match[str]) -> str:
        name = _NAME.findall(text)[0].replace("-", "_")
        values["replicas"][name] = int(found[1])
        return f"  replicas: {{{{ .Values.replicas.{name} }}}}"

    text = _REPLICAS.sub(replicas, _IMAGE.sub(image, text))
    text = _SECRET.sub(lambda found: f'secretName: "{{{{ .Values.secrets.{SECRETS[found[1]]} }}}}"', text)
    if "\nkind: ConfigMap\n" in text:
        head, _ = text.split("data:\n")
        values["configuration"] = yaml.safe_load(text)["data"]
        return f"{head}data:\n{{{{ toYaml .Values.configuration | indent 2 }}}}\n"
    if "\nkind: Ingress\n" in text:
        text = text.replace(HOST, '"{{ .Values.host }}"')
    if (
        "\nkind: Job\n" in text
    ):  # a job cannot be changed: each revision has its own, and Helm deletes the last
        text = text.replace(
            "metadata: {name: migrations,", 'metadata: {name: "migrations-{{ .Release.Revision }}",'
        )
    return text


def _rendered(text: str, scope: dict[str, Any]) -> str:
    pools = scope["Values"]["pools"]
    text = _POOL.sub(lambda found: found[2] if pools[found[1]] else "", text)
    text = _MAP.sub(lambda found: _indented(scope["Values"][found[1]]), text)
    text = _VALUE.sub(lambda found: str(_at(scope, found[1] + found[2])), text)
    if left := _FORM.search(text):
        raise ValueError(f"a form that is not known here: {left[0]}")
    return text


def _indented(value: Any) -> str:
    return "\n".join(f"  {line}" for line in yaml.safe_dump(value, width=10_000).splitlines())


def _at(scope: Any, path: str) -> Any:
    for part in path.split("."):
        scope = scope[part]
    return scope


def main() -> int:
    """Write the chart of the manifests; or print, or compare, the documents of the chart on disk."""
    parser = argparse.ArgumentParser(prog="deploy.helm.chart", description="The Helm chart.")
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--render", action="store_true", help="print what the chart makes, every pool in it")
    asked.add_argument("--same", type=Path, help="compare it with what Helm printed into this file")
    options = parser.parse_args()
    if options.render or options.same:
        chart = {
            path.relative_to(CHART).as_posix(): path.read_text(encoding="utf-8")
            for path in CHART.rglob("*.yaml")
        }
        documents = render(chart, pools=dict.fromkeys(POOLS, True))
        if options.render:
            yaml.safe_dump_all(documents, sys.stdout, sort_keys=False)
            return 0
        return compared(documents, options.same.read_text(encoding="utf-8"))
    made = files()
    for path in CHART.rglob("*.yaml"):
        if path.relative_to(CHART).as_posix() not in made:
            path.unlink()
    for name, text in made.items():
        path = CHART / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


def compared(documents: list[dict[str, Any]], printed: str) -> int:
    """Say which documents Helm makes otherwise; the exit code, 0 for none."""
    ours, helms = _by_name(documents), _by_name(yaml.safe_load_all(printed))
    other = sorted(name for name in ours.keys() | helms.keys() if ours.get(name) != helms.get(name))
    for kind, name in other:
        print(f"{kind} {name}: Helm makes another one")
    if not other:
        print(f"{len(helms)} documents, and Helm makes the same")
    return min(1, len(other))


def _by_name(documents: Iterable[dict[str, Any] | None]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["kind"], each["metadata"]["name"]): each for each in documents if each}


if __name__ == "__main__":
    sys.exit(main())
