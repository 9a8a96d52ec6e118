"""``python -m deploy.release VERSION``: tag a version, build both wheels, and print how its images are built.

Refused is what would make a release that nobody can repeat: changes that are not committed, another version
in one of the files that name it, a changelog without an entry, a tag that stands. ``--check`` looks and does
nothing; ``--prepare`` writes the version and its date into those files, to be read and committed. Nothing is
pushed or uploaded: what to do next is printed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
WHEELS = "dist"


@dataclass(frozen=True)
class Named:
    """A place that names the version: what stands before it, and what ends it."""

    file: str
    before: str
    after: str = ""
    times: int = 1

    def pattern(self) -> re.Pattern[str]:
        """Match the place, the version as its group."""
        return re.compile(f"(?<={re.escape(self.before)}){VERSION.pattern}(?={re.escape(self.after)})", re.M)


NAMED = (
    Named("pyproject.toml", '\nversion = "', '"'),
    Named("client/pyproject.toml", '\nversion = "', '"'),
    Named("CITATION.cff", "\nversion: "),
    Named("Dockerfile.api", "ARG VERSION="),
    Named("Dockerfile.worker", "ARG VERSION="),
    Named("docker-compose.yml", "${GRAPHVEIL_VERSION:-", "}", times=4),
    Named("deploy/kubernetes/base/kustomization.yaml", "newTag: ", "}", times=2),
    Named("deploy/kubernetes/components/gpu/kustomization.yaml", "newTag: ", "}"),
    Named("deploy/kubernetes/components/papers/kustomization.yaml", "newTag: ", "}"),
    Named("deploy/helm/graphveil/Chart.yaml", "ersion: ", times=2),
    Named("deploy/helm/graphveil/values.yaml", ":", times=4),
)
IMAGES = (
    ("graphveil-api", "Dockerfile.api", ""),
    ("graphveil-worker", "Dockerfile.worker", ""),
    ("graphveil-worker-papers", "Dockerfile.worker", " --build-arg LEARNING=cpu"),
    ("graphveil-worker-cuda", "Dockerfile.worker", " --build-arg LEARNING=cuda"),
)


def git(root: Path, *arguments: str) -> str:
    """Run git in ``root``, and return what it printed."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def problems(root: Path, version: str, today: date) -> Iterator[str]:
    """Say what keeps this version from being released today."""
    if VERSION.fullmatch(version) is None:
        yield f"{version!r} is no version; write it as 1.2.3 or 1.2.3rc1"
        return
    if changed := git(root, "status", "--porcelain"):
        yield f"the tree has changes that are not committed: {changed.splitlines()[0].strip()}"
    for named in NAMED:
        stated = [match.group() for match in named.pattern().finditer((root / named.file).read_text())]
        if stated != [version] * named.times:
            said = ", ".join(stated) or "no version"
            yield f"{named.file} names {said}; `--prepare` writes {version}"
    if f"\n## {version} ({today.isoformat()})\n" not in (root / "CHANGELOG.md").read_text(encoding="utf-8"):
        yield f"CHANGELOG.md has no section {version} ({today.isoformat()}); `--prepare` writes its heading"
    if git(root, "tag", "--list", f"v{version}"):
        yield f"the tag v{version} stands already; a version is released once"


def prepare(root: Path, version: str, today: date) -> list[str]:
    """Write the version into every file that names it, and date its section of the changelog; the files."""
    if VERSION.fullmatch(version) is None:
        raise SystemExit(f"{version!r} is no version; write it as 1.2.3 or 1.2.3rc1")
    changed = []
    for named in NAMED:
        path = root / named.file
        before = path.read_text(encoding="utf-8")
        after, times = named.pattern().subn(version, before)
        if times != named.times:
            raise SystemExit(
                f"{named.file}: {times} versions are there, not {named.times}; nothing more is written"
            )
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed.append(named.file)
    log = root / "CHANGELOG.md"
    before = log.read_text(encoding="utf-8")
    dated = f"\n## {version} ({today.isoformat()})\n"
    after = re.sub(r"\n## [^\n]* \(unreleased\)\n", dated, before, count=1)
    if after != before:
        log.write_text(after, encoding="utf-8")
        changed.append(log.name)
    return changed


def wheels(root: Path) -> list[Path]:
    """Build both wheels from the committed tree into ``dist``; returns their files."""
    out = root / WHEELS
    for package in (root / "client", root):
        # What a former build left would be in the wheel.
        subprocess.run(["git", "clean", "-fdxq", "build"], cwd=package, check=True)
        command = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), ".")
        subprocess.run(command, cwd=package, check=True)
    return sorted(out.glob("graphveil*.whl"))


def image_commands(version: str, revision: str) -> list[str]:
    """Write the commands that build the images of a version."""
    return [
        f"docker build -f {file}{also} --build-arg VERSION={version} --build-arg REVISION={revision}"
        f" -t {image}:{version} ."
        for image, file, also in IMAGES
    ]


def main(arguments: list[str] | None = None, root: Path = ROOT, today: date | None = None) -> int:
    """Check, prepare or make a release; 1 where it is refused."""
    parser = argparse.ArgumentParser(prog="python -m deploy.release", description="Release a version.")
    parser.add_argument("version", help="as in 1.2.3")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="a dry run: look, and print what would be done")
    how.add_argument("--prepare", action="store_true", help="write the version and its date, to be committed")
    given = parser.parse_args(arguments)
    day = date.today() if today is None else today
    if given.prepare:
        for file in prepare(root, given.version, day):
            print(f"written: {file}")
        print("Read the changes, commit them, and run this again without --prepare.")
        return 0
    if found := list(problems(root, given.version, day)):
        print("Not released:", *found, sep="\n- ", file=sys.stderr)
        return 1
    revision, tag = git(root, "rev-parse", "HEAD"), f"v{given.version}"
    if given.check:
        print(f"would tag {revision[:12]} as {tag} and build two wheels into {WHEELS}/")
    else:
        for wheel in wheels(root):
            print(f"built {wheel.relative_to(root)}")
        git(root, "tag", "--annotate", tag, "--message", f"Graphveil {given.version}")
        print(f"tagged {revision[:12]} as {tag}")
    print("Next, by hand:", f"git push origin {tag}", *image_commands(given.version, revision), sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
