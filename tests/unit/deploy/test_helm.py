"""The Helm chart: written from the manifests, and with its own values the same documents."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from core.settings import Settings
from deploy.helm import chart
from tests.support.deployed import KUBERNETES

FOLDERS = ("base", "components/papers", "components/gpu", "overlays/example")
ALL = dict.fromkeys(chart.POOLS, True)


def manifests() -> dict[tuple[str, str], dict[str, Any]]:
    """What the chart is made of, with the images' tags as kustomize sets them."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((KUBERNETES / folder).glob("*.yaml")):
            if path.name not in chart.LEFT_OUT:
                for document in yaml.safe_load_all(path.read_text()):
                    made = copy.deepcopy(document)
                    for container in containers(made):
                        container["image"] += ":0.1.0"
                    found[made["kind"], made["metadata"]["name"]] = made
    return found


def containers(document: dict[str, Any]) -> list[dict[str, Any]]:
    template = document.get("spec", {}).get("template", {})
    return list(template.get("spec", {}).get("containers", []))


def by_name(documents: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    found = {(each["kind"], each["metadata"]["name"]): each for each in documents}
    assert len(found) == len(documents)
    return found


def test_the_chart_on_disk_is_that_of_the_manifests():
    kept = {
        path.relative_to(chart.CHART).as_posix(): path.read_text() for path in chart.CHART.rglob("*.yaml")
    }
    assert kept == chart.files(), "run `python -m deploy.helm.chart`"


def test_with_its_own_values_the_chart_makes_the_manifests():
    expected = manifests()
    job = expected.pop(("Job", "migrations"))
    job["metadata"]["name"] = "migrations-1"
    assert by_name(chart.render(chart.files(), pools=ALL)) == {**expected, ("Job", "migrations-1"): job}


def test_what_helm_prints_otherwise_is_named(capsys: pytest.CaptureFixture[str]):
    documents = chart.render(chart.files(), pools=ALL)
    printed = yaml.safe_dump_all([*documents, None])  # Helm leaves empty documents
    assert chart.compared(documents, printed) == 0
    assert f"{len(documents)} documents" in capsys.readouterr().out
    assert chart.compared(documents, printed.replace("replicas: 1", "replicas: 2")) == 1
    assert "Deployment relay: Helm makes another one" in capsys.readouterr().out
    assert chart.compared(documents, yaml.safe_dump_all(documents[1:])) == 1


def test_pools_are_made_where_they_are_asked_for():
    names = {name for _, name in by_name(chart.render(chart.files()))}
    assert {"api", "worker"} <= names
    assert not {"worker-papers", "worker-gpu"} & names
    one = {name for _, name in by_name(chart.render(chart.files(), pools={"papers": True, "gpu": False}))}
    assert one - names == {"worker-papers"}


def test_every_value_arrives_where_clusters_differ():
    made = chart.files()
    stated = yaml.safe_load(made["values.yaml"])
    images = {name: f"registry.example.org/{name}@sha256:0" for name in stated["images"]}
    replicas = {name: 5 + place for place, name in enumerate(stated["replicas"])}
    secrets = {name: f"{name}-of-ours" for name in stated["secrets"]}
    configuration = {"GRAPHVEIL_PUBLIC_URL": "https://g.example.net", "GRAPHVEIL_LOG_LEVEL": 'no: "yaml"'}
    documents = chart.render(
        made,
        pools=ALL,
        host="g.example.net",
        images=images,
        replicas=replicas,
        secrets=secrets,
        configuration=configuration,
    )
    text = yaml.safe_dump_all(documents)
    assert {each["image"] for document in documents for each in containers(document)} == set(images.values())
    assert {
        document["metadata"]["name"].replace("-", "_"): document["spec"]["replicas"]
        for document in documents
        if document["kind"] == "Deployment"
    } == replicas
    assert all(secret in text for secret in secrets.values())
    assert "secretName: graphveil\n" not in text
    assert "graphveil.example.org" not in text
    (config,) = (document for document in documents if document["kind"] == "ConfigMap")
    assert config["data"]["GRAPHVEIL_LOG_LEVEL"] == 'no: "yaml"'


def test_a_form_that_the_check_does_not_know_is_refused():
    made = {**chart.files(), "templates/x.yaml": 'a: {{ include "x" . }}\n'}
    with pytest.raises(ValueError, match="include"):
        chart.render(made)


def test_configuration_is_of_settings_that_there_are():
    known = {f"GRAPHVEIL_{name.upper()}" for name in Settings.model_fields} | {"GRAPHVEIL_SECRETS_FOLDER"}
    stated = yaml.safe_load(chart.files()["values.yaml"])["configuration"]
    assert {name for name in stated if name.startswith("GRAPHVEIL_")} <= known
