"""The Kubernetes manifests: restricted pods, closed networks, commands and settings that exist."""

from __future__ import annotations

import importlib.util

import pytest
import yaml

from api.serve import internal, readiness
from core.jobs.models import JobState
from core.settings import Settings
from deploy.kubernetes import rules
from deploy.local.processes import COMMANDS
from tests.support.deployed import KUBERNETES, PODS, ROOT, of_kind

SETTINGS = {f"GRAPHVEIL_{field.upper()}" for field in Settings.model_fields} | {"GRAPHVEIL_SECRETS_FOLDER"}
each = pytest.mark.parametrize("name", PODS)


def test_every_file_is_named_by_a_kustomization_of_its_folder():
    for path in sorted(KUBERNETES.rglob("kustomization.yaml")):
        stated = yaml.safe_load(path.read_text())
        own = {other.name for other in path.parent.glob("*.yaml")} - {"kustomization.yaml"}
        assert own == {name for name in stated["resources"] if name.endswith(".yaml")}
        for name in (*stated["resources"], *stated.get("components", ())):
            assert (path.parent / name).exists(), name


@each
def test_pods_are_restricted(name: str):
    pod = PODS[name]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 10001,
        "runAsGroup": 10001,
        "fsGroup": 10001,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert set(container["resources"]) == {"requests", "limits"}
    assert "memory" in container["resources"]["limits"]


@each
def test_commands_are_modules_and_variables_are_settings(name: str):
    (container,) = PODS[name]["spec"]["containers"]
    command = container.get("command")
    if name in COMMANDS and command is not None:
        assert command == ["python", *COMMANDS[name][1:]]
    elif command is not None:
        assert importlib.util.find_spec(command[2]) is not None
    for variable in container.get("env", []):
        assert variable["name"] in SETTINGS
    for configuration in of_kind("ConfigMap"):
        assert {key for key in configuration["data"] if key.startswith("GRAPHVEIL_")} <= SETTINGS


def test_every_process_of_the_local_stack_has_a_deployment():
    assert set(COMMANDS) | {"worker-gpu", "worker-papers", "migrations"} == set(PODS)


def test_a_worker_is_given_the_time_that_its_child_has_and_more():
    (configuration,) = of_kind("ConfigMap")
    grace = int(configuration["data"]["GRAPHVEIL_GRACE_SECONDS"])
    # A job that is cut off counts against its account: the longest is given its time.
    assert grace >= Settings.model_fields["job_wall_seconds"].default
    for name in ("worker", "validator", "worker-papers", "worker-gpu"):
        assert PODS[name]["spec"]["terminationGracePeriodSeconds"] >= grace + 30
        (container,) = PODS[name]["spec"]["containers"]
        memory = int(next(v["value"] for v in container["env"] if v["name"] == "GRAPHVEIL_JOB_MEMORY_BYTES"))
        assert container["resources"]["limits"]["memory"] == "12Gi"
        assert memory + 2 * 2**30 <= 12 * 2**30
    gpu = PODS["worker-gpu"]["spec"]["containers"][0]
    assert gpu["resources"]["limits"]["nvidia.com/gpu"] == "1"


def test_nothing_is_open_that_no_policy_names():
    policies = {policy["metadata"]["name"]: policy["spec"] for policy in of_kind("NetworkPolicy")}
    assert policies["nothing"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    for name in ("worker", "validator", "worker-papers", "worker-gpu"):
        assert "graphveil/internet" not in PODS[name]["metadata"]["labels"]
    reaching = {name for name, pod in PODS.items() if "graphveil/internet" in pod["metadata"]["labels"]}
    assert reaching == {"webhooks"}
    for spec in policies.values():
        for rule in (*spec.get("ingress", ()), *spec.get("egress", ())):
            assert rule["ports"]
            assert rule.get("from", rule.get("to"))


def test_selectors_meet_their_pods():
    labels = [pod["metadata"]["labels"] for pod in PODS.values()]
    for kind in ("Service", "PodDisruptionBudget"):
        for document in of_kind(kind):
            selector = document["spec"]["selector"]
            wanted = selector.get("matchLabels", selector)
            assert any(wanted.items() <= given.items() for given in labels), document["metadata"]


def test_workers_scale_on_the_states_of_work_that_is_not_done():
    scaled = {found["metadata"]["name"]: found["spec"] for found in of_kind("ScaledObject")}
    queries = {name: spec["triggers"][0]["metadata"]["query"] for name, spec in scaled.items()}
    for state in JobState:
        counted = state in (JobState.QUEUED, JobState.RUNNING, JobState.PUBLISHING, JobState.CANCELLING)
        for name in ("worker", "worker-gpu"):
            assert (f"'{state}'" in queries[name]) == counted
    assert queries["validator"] == "SELECT count(*) FROM unfinished_uploads"


def test_scraped_jobs_are_called_what_the_rules_call_them():
    named = {}
    for monitor in of_kind("ServiceMonitor"):
        wanted = monitor["spec"]["selector"]["matchLabels"]
        (service,) = [
            found for found in of_kind("Service") if wanted.items() <= found["metadata"]["labels"].items()
        ]
        (endpoint,) = monitor["spec"]["endpoints"]
        assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
        given = {each["targetLabel"]: each for each in endpoint["relabelings"] if "targetLabel" in each}
        named[given["job"]["replacement"]] = endpoint["relabelings"]
    prometheus = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())
    assert set(named) == {job["job_name"] for job in prometheus["scrape_configs"]} - {"prometheus"}


def test_a_new_exporter_goes_on_with_the_series_of_the_last():
    """Its counts are those of rows: told under a pod's name, they would begin anew at each roll-out."""
    monitors = {found["metadata"]["name"]: found for found in of_kind("ServiceMonitor")}
    relabelings = monitors["graphveil-exporter"]["spec"]["endpoints"][0]["relabelings"]
    assert {"targetLabel": "instance", "replacement": "exporter"} in relabelings
    assert {"action": "labeldrop", "regex": "pod"} in relabelings
    (exporter,) = [found for found in of_kind("Deployment") if found["metadata"]["name"] == "exporter"]
    assert exporter["spec"]["replicas"] == 1
    assert exporter["spec"]["strategy"] == {"type": "Recreate"}


def test_the_operator_follows_the_rules_of_prometheus():
    assert rules.FILE.read_text() == rules.manifest(), "run python -m deploy.kubernetes.rules"
    (manifest,) = of_kind("PrometheusRule")
    groups = [group["name"] for group in manifest["spec"]["groups"]]
    assert len(groups) == len(set(groups))


def test_who_scales_a_deployment_is_the_only_one_to_say_how_many():
    """A number in the manifest would end all pods but so many whenever it is applied."""
    patched = set()
    for name in ("autoscaling", "gpu-autoscaling"):
        component = KUBERNETES / "components" / name
        (patch,) = [
            each
            for each in yaml.safe_load((component / "kustomization.yaml").read_text())["patches"]
            if each["target"]["kind"] == "Deployment"
        ]
        scaled = [
            document["spec"]["scaleTargetRef"]["name"]
            for file in component.glob("worker*.yaml")
            for document in yaml.safe_load_all(file.read_text())
            if document["kind"] == "ScaledObject"
        ]
        assert patch["target"]["name"] == f"^({'|'.join(scaled)})$"
        assert yaml.safe_load(patch["patch"]) == [{"op": "remove", "path": "/spec/replicas"}]
        patched |= set(scaled)
    assert patched == {found["spec"]["scaleTargetRef"]["name"] for found in of_kind("ScaledObject")}


def test_a_worker_of_the_gpus_pool_is_told_of_the_one_that_its_container_is_given():
    (container,) = PODS["worker-gpu"]["spec"]["containers"]
    assert {"name": "GRAPHVEIL_GPU", "value": "0"} in container["env"]


def test_an_api_that_waits_for_others_is_not_killed():
    (container,) = PODS["api"]["spec"]["containers"]
    assert container["startupProbe"]["httpGet"]["path"] == "/healthz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["readinessProbe"]["timeoutSeconds"] > readiness.TIMEOUT_SECONDS
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] == "metrics"  # which callers cannot fill
        assert container[probe]["timeoutSeconds"] > internal.SECONDS > readiness.TIMEOUT_SECONDS


def test_the_migrations_can_be_applied_before_everything_else():
    (job,) = of_kind("Job")
    assert job["metadata"]["labels"]["app.kubernetes.io/name"] == "migrations"
