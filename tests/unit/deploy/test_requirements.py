"""What the images install: every file by its digest, in the versions that constraints.txt pins."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from deploy.requirements import beside, build

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "deploy" / "requirements"
ENTRY = re.compile(r"^([a-z0-9-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def listed(name: str) -> dict[str, str]:
    """The versions by package; every line of the file is part of an entry or a comment."""
    content = (FOLDER / f"{name}.txt").read_text()
    assert ENTRY.sub("", content).strip() == build.HEADER.strip()
    return {found[1]: found[2] for found in ENTRY.finditer(content)}


@pytest.mark.parametrize("name", ["api", "worker", "papers"])
def test_versions_are_those_of_the_constraints(name: str) -> None:
    pins = build.constrained()
    assert {package: pins.get(package) for package in listed(name)} == listed(name)


@pytest.mark.parametrize(("name", "extras"), [("api", ("service",)), ("worker", ("worker",))])
def test_every_declared_dependency_is_listed(name: str, extras: tuple[str, ...]) -> None:
    asked = {build.normal(re.split(r"[\[=<>~!]", each)[0]) for each in build.declared(*extras)}
    assert asked <= listed(name).keys()


def test_papers_have_what_a_worker_lacks_and_torch_beside_it() -> None:
    asked = {build.normal(re.split(r"[\[=<>~!]", each)[0]) for each in build.declared("worker", "papers")}
    assert asked - listed("worker").keys() - {"torch"} <= listed("papers").keys()
    assert not listed("worker").keys() & listed("papers").keys()
    assert not {"torch", "sympy", "scikit-learn"} & listed("worker").keys()


def test_torch_is_of_the_declared_version_in_both_forms() -> None:
    (declared,) = [each for each in build.declared("papers") if each.startswith("torch==")]
    assert f"torch=={listed('torch-cuda')['torch']}" == declared
    assert f"{declared} ;;" in (ROOT / "Dockerfile.worker").read_text()


@pytest.mark.parametrize("file", ["Dockerfile.api", "Dockerfile.worker"])
def test_images_install_nothing_without_a_digest_but_torch_for_the_cpu(file: str) -> None:
    commands = [line for line in (ROOT / file).read_text().splitlines() if "pip install" in line]
    loose = [line for line in commands if "--require-hashes" not in line]
    assert len(commands) > len(loose)
    assert all("TORCH_CPU_INDEX" in line for line in loose)


@pytest.mark.parametrize("file", ["Dockerfile.api", "Dockerfile.worker"])
def test_what_an_image_holds_does_not_follow_from_when_it_was_built(file: str) -> None:
    text = (ROOT / file).read_text()
    installs = [line for line in text.splitlines() if "pip install" in line]
    assert all("--no-compile" in line for line in installs)
    assert text.count("--invalidation-mode unchecked-hash") == 1  # .pyc files hold no time
    assert "\nARG SOURCE_DATE_EPOCH\n" in text.rpartition("\nFROM ")[2]
    stages = text.split("\nFROM ")[1:]
    for stage in stages:
        if "apt-get install" in stage:
            assert "ARG DEBIAN_SNAPSHOT=\n" in stage
            assert stage.index("snapshot.debian.org") < stage.index("apt-get update")
    assert "/var/log/*.log" in stages[-1] or "apt-get" not in stages[-1]


def test_a_worker_is_stripped_of_what_is_named_and_of_nothing_else() -> None:
    text = (ROOT / "Dockerfile.worker").read_text()
    commands = " ".join(text.replace("\\\n", " ").split("strip --strip-unneeded")[1].split("\n")[0].split())
    assert {path.split("site-packages/")[1].split("/")[0] for path in commands.split()} == {
        "opendp",
        "llvmlite",
    }
    for name, folder in (("opendp", "lib"), ("llvmlite", "binding")):
        package = Path(str(importlib.util.find_spec(name).origin)).parent  # type: ignore[union-attr]
        assert list((package / folder).glob("*.so")), name


def test_a_report_of_pip_becomes_pins_with_the_files_of_both_machines() -> None:
    def report(digest: str, version: str = "1.0") -> dict:
        item = {
            "metadata": {"name": "A_b.C", "version": version},
            "download_info": {"archive_info": {"hashes": {"sha256": digest * 64}}},
        }
        return {"install": [item]}

    made = build.text(build.both(build.pins_of(report("b")), build.pins_of(report("a"))))
    assert (
        made
        == build.HEADER
        + "a-b-c==1.0"
        + "".join(f" \\\n    --hash=sha256:{each * 64}" for each in "ab")
        + "\n"
    )
    with pytest.raises(ValueError, match="other packages"):
        build.both(build.pins_of(report("b")), build.pins_of(report("a", "2.0")))


def test_beside_a_machines_own_torch_only_what_is_missing_is_installed(monkeypatch: pytest.MonkeyPatch):
    assert list(beside.missing()) == []
    machine = {"numpy", "scipy", "torch"}
    monkeypatch.setattr(beside, "_there", lambda name: name in machine)
    told = list(beside.missing())
    names = {re.split(r"[\[=]", line)[0] for line in told}
    assert not names & {"torch", "dgl", "torch-geometric"}
    assert not names & machine
    assert {"opendp", "numba", "psycopg", "pytest"} <= names
    assert all("==" in line for line in told)
