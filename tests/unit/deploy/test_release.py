"""A release is made once, of a committed tree with one version everywhere; a dry run changes nothing."""

from __future__ import annotations

import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest

from deploy import release

DAY = date(2030, 1, 2)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files that name a version, as they are, in a repository of their own."""
    for file in ("CHANGELOG.md", *(named.file for named in release.NAMED)):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(release.ROOT / file, tmp_path / file)
    run(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def run(tree: Path, *arguments: str) -> str:
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    return subprocess.run(
        ["git", *who, *arguments], cwd=tree, check=True, capture_output=True, text=True
    ).stdout


def commit(tree: Path) -> None:
    run(tree, "add", "-A")
    run(tree, "commit", "-q", "-m", "all of it")


def test_every_place_names_one_version_now():
    stated = {
        match.group()
        for named in release.NAMED
        for match in named.pattern().finditer((release.ROOT / named.file).read_text())
    }
    assert len(stated) == 1


def test_no_other_file_of_the_deployment_names_it():
    """A new place is listed, so that no release leaves it behind."""
    version = next(release.NAMED[0].pattern().finditer((release.ROOT / "pyproject.toml").read_text())).group()
    listed = release.git(
        release.ROOT, "grep", "-lFw", version, "--", "Dockerfile.*", "*.yml", "*.yaml", "*.toml", "*.cff"
    )
    assert set(listed.split()) == {named.file for named in release.NAMED}


def test_a_dry_run_of_a_prepared_tree_says_what_it_would_do(tree: Path, capsys: pytest.CaptureFixture[str]):
    assert release.main(["9.8.7", "--prepare"], tree, DAY) == 0
    commit(tree)
    assert release.main(["9.8.7", "--check"], tree, DAY) == 0
    told = capsys.readouterr().out
    assert "as v9.8.7" in told
    assert told.count("--build-arg VERSION=9.8.7") == len(release.IMAGES) == 4
    assert "graphveil-worker-cuda:9.8.7" in told
    assert run(tree, "tag", "--list") == ""
    assert run(tree, "status", "--porcelain") == ""
    assert not (tree / "dist").exists()
    assert "\n## 9.8.7 (2030-01-02)\n" in (tree / "CHANGELOG.md").read_text()


def test_what_cannot_be_repeated_is_refused(tree: Path, capsys: pytest.CaptureFixture[str]):
    release.main(["9.8.7", "--prepare"], tree, DAY)
    assert release.main(["9.8.7", "--check"], tree, DAY) == 1
    assert "not committed" in capsys.readouterr().err
    commit(tree)
    assert release.main(["9.8.8", "--check"], tree, DAY) == 1
    told = capsys.readouterr().err
    assert "client/pyproject.toml names 9.8.7" in told
    assert "CHANGELOG.md has no section 9.8.8 (2030-01-02)" in told
    run(tree, "tag", "v9.8.7")
    assert release.main(["9.8.7", "--check"], tree, DAY) == 1
    assert "v9.8.7 stands already" in capsys.readouterr().err
    assert release.main(["9.8", "--check"], tree, DAY) == 1
    assert "no version" in capsys.readouterr().err


def test_a_release_is_tagged_once_its_wheels_are_built(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    release.main(["9.8.7", "--prepare"], tree, DAY)
    commit(tree)

    def broken(root: Path) -> list[Path]:
        raise subprocess.CalledProcessError(1, "pip wheel")

    monkeypatch.setattr(release, "wheels", broken)
    with pytest.raises(subprocess.CalledProcessError):
        release.main(["9.8.7"], tree, DAY)
    assert run(tree, "tag", "--list") == ""
