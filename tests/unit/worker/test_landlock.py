"""A child's files: its own folder and programs, whatever it or what it starts tries."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from core.settings import Settings
from core.version import TREE, package_version, version_of
from tests.support.children import planted
from tests.support.logged import events
from worker import landlock, preflight, seccomp
from worker.landlock import Surroundings

ROOT = Path(__file__).resolve().parents[3]
TRY = """
import errno, os, subprocess, sys
from pathlib import Path
def fails(action, *given):
    try:
        action(*given)
    except OSError as error:
        return error.errno in (errno.EACCES, errno.EPERM, errno.EXDEV, errno.ENOSYS)
    return False
"""


@pytest.fixture(autouse=True)
def _kernel_has_landlock() -> None:
    assert landlock.version(), "these tests need a kernel with Landlock"


def attempt(folder: Path, program: str) -> str:
    """What the program prints as the work of a child whose folder is ``folder/own``."""
    own = folder / "own"
    own.mkdir()
    return planted(own, textwrap.dedent(TRY) + textwrap.dedent(program))


def test_a_child_reads_no_file_of_the_service_nor_of_another_job(tmp_path: Path) -> None:
    for name in ("secrets", "other-job"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("private")
    program = f"""
    outside = Path({str(tmp_path)!r})
    print([
        fails((outside / name / "file").read_text) for name in ("secrets", "other-job")
    ] + [
        fails(os.listdir, outside),
        fails((outside / "written").write_text, "x"),
        fails((outside / "other-job" / "file").unlink),
        fails(os.link, outside / "secrets" / "file", folder / "link"),
        fails(Path("/run").joinpath("x").write_text, "x"),
        fails(os.listdir, "/run"),
    ])
    """
    assert attempt(tmp_path, program) == str([True] * 8)


def test_a_child_reads_no_environment_of_its_worker_and_signals_nobody(tmp_path: Path) -> None:
    program = """
    worker = os.getppid()
    environment = Path(f"/proc/{worker}/environ")
    print([fails(environment.read_bytes), fails(os.listdir, "/proc"), fails(os.kill, worker, 0)])
    """
    assert attempt(tmp_path, program) == str([True] * 3)


def test_what_a_child_starts_is_confined_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("private")
    program = f"""
    ask = "print(open({str(tmp_path / "secret")!r}).read())"
    ended = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
    print("PermissionError" in ended.stderr, repr(ended.stdout))
    """
    assert attempt(tmp_path, program) == "True ''"


def test_a_child_writes_its_folder_and_reads_libraries(tmp_path: Path) -> None:
    program = """
    import numpy, scipy.sparse, pyarrow, polars
    from core.graphs import formats
    (folder / "kept").mkdir()
    (folder / "kept" / "file").write_text("done")
    (folder / "kept" / "file").rename(folder / "moved")
    print((folder / "moved").read_text(), len(os.urandom(8)), fails(Path(formats.__file__).write_text, ""))
    """
    assert attempt(tmp_path, program) == "done 8 True"


def test_a_child_makes_no_link_by_which_its_worker_would_read_or_write_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker takes up what a child left, by its own rights."""
    (tmp_path / "kernels").mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    program = f"""
    print([
        fails(os.symlink, {str(tmp_path / "secret")!r}, place / f"link-{{os.getpid()}}")
        for place in (folder, Path("/dev/shm"), Path(os.environ["NUMBA_CACHE_DIR"]))
    ])
    """
    (tmp_path / "secret").write_text("private")
    assert attempt(tmp_path, program) == str([True] * 3)


def test_a_child_writes_no_code_that_a_later_one_would_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "kept").write_text("code")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    program = """
    from core.kernels.folders import SHIPPED
    places = (Path(os.environ["NUMBA_CACHE_DIR"]), SHIPPED.parent, *SHIPPED.glob("*/"))
    print((places[0] / "kept").read_text(), {fails((place / "new").write_text, "") for place in places})
    """
    assert attempt(tmp_path, program) == "code {True}"


def test_a_child_knows_its_version_by_every_way_that_there_is(tmp_path: Path) -> None:
    program = """
    from core import version
    print(version.package_version(), version.version_of(version.TREE))
    """
    assert attempt(tmp_path, program) == f"{package_version()} {version_of(TREE)}"


def test_a_thread_that_would_stay_as_it_was_is_refused(tmp_path: Path) -> None:
    script = """
    import sys, threading
    from pathlib import Path
    from worker.landlock import Surroundings, confine_to
    held = threading.Event()
    threading.Thread(target=held.wait, daemon=True).start()
    confine_to(Surroundings(Path(sys.argv[1]), Path.cwd(), Path(sys.argv[1])))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert "a thread is running" in done.stderr


def test_without_landlock_a_worker_starts_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(landlock, "_call", lambda *_: -1)
    monkeypatch.setattr(preflight, "may_start", lambda settings: True)
    monkeypatch.setattr(seccomp, "possible", lambda: True)
    assert not landlock.confine_to(Surroundings(tmp_path, ROOT, tmp_path))
    with capture_logs() as logs:
        assert preflight.may_work(Settings())
    assert events(logs, "worker.preflight") == ["files_not_confined"]
