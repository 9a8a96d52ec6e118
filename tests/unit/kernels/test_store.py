"""A kernel is read where all that its machine code follows from is the same, and nowhere else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.kernels import folders, processors
from core.kernels.decorator import kernel
from core.kernels.identity import identity
from worker.limits import ROOT

DRAWS = '''
from core.kernels.decorator import kernel
SHIFT = {shift}
@kernel
def noise(x):
    """{words}"""
    return x + SHIFT
'''
CALLS = """
from core.kernels.decorator import kernel
from draws import noise
@kernel
def asked(x):
    return {call}noise(x)
"""
RUN = """
import sys
import numpy as np
from calls import asked
values = [np.int64(40), np.arange(3.0)]
print([float(np.sum(asked(value))) for value in values], sum(asked.stats.cache_misses.values()))
"""
READ = """
from calls import asked
from core.kernels.store import Store
for kept in list(Store.every):
    kept.read()
print(len(asked.overloads), sum(asked.stats.cache_misses.values()))
"""


def run(
    folder: Path,
    kept: Path,
    *,
    shift: int = 1,
    words: str = "Noise.",
    call: str = "",
    program: str = RUN,
    **more: str,
) -> str:
    """What the kernels give, and how many had to be compiled, in a process of its own."""
    folder.mkdir(exist_ok=True)
    (folder / "draws.py").write_text(DRAWS.format(shift=shift, words=words))
    (folder / "calls.py").write_text(CALLS.format(call=call))
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(kept),
        "PYTHONPATH": f"{folder}:{ROOT}",
        "PYTHONDONTWRITEBYTECODE": "1",
        **more,
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.audits
def test_what_was_compiled_is_read_from_wherever_it_was_copied_to(tmp_path: Path) -> None:
    assert run(tmp_path / "code", tmp_path / "kept") == "[41.0, 6.0] 2"
    shutil.copytree(tmp_path / "kept", tmp_path / "moved", copy_function=shutil.copyfile)
    assert run(tmp_path / "elsewhere", tmp_path / "moved", words="Noise, in other words.") == "[41.0, 6.0] 0"


@pytest.mark.audits
def test_what_was_compiled_holds_no_time(tmp_path: Path) -> None:
    """The same code makes the same bytes, but for the address by which Numba names a sum over arrays."""
    made = []
    for seed in ("1", "2"):
        run(tmp_path / "code", tmp_path / seed, PYTHONHASHSEED=seed)
        made.append(
            {
                path.name: re.sub(rb"array_expr_0x[0-9a-f]+", b"", path.read_bytes())
                for path in (tmp_path / seed).rglob("*-*")
                if path.is_file()
            }
        )
    assert len(made[0]) == 4  # each of the two kernels for each of the two types
    assert made[0] == made[1]


def test_a_change_of_what_a_kernel_calls_or_names_is_compiled(tmp_path: Path) -> None:
    """Coins and noise must not go on being drawn by the code of before an upgrade."""
    run(tmp_path / "code", tmp_path / "kept")
    assert run(tmp_path / "code", tmp_path / "kept", shift=2) == "[42.0, 9.0] 2"
    assert run(tmp_path / "code", tmp_path / "kept", call="2 * ") == "[82.0, 12.0] 2"
    assert run(tmp_path / "code", tmp_path / "kept") == "[41.0, 6.0] 0"


def test_all_that_was_compiled_is_read_without_a_call(tmp_path: Path) -> None:
    run(tmp_path / "code", tmp_path / "kept")
    (processor,) = (tmp_path / "kept").iterdir()
    torn = next(processor.glob("calls.asked-*"))
    (processor / f"{torn.name}0").write_bytes(b"of another version")
    assert run(tmp_path / "code", tmp_path / "kept", program=READ) == "2 0"
    assert run(tmp_path / "code", tmp_path / "kept", program=READ, shift=2) == "0 0"


def test_what_cannot_be_kept_is_compiled_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert run(tmp_path / "code", tmp_path / "file") == "[41.0, 6.0] 2"


@pytest.mark.audits
def test_code_for_another_processor_is_not_read(tmp_path: Path) -> None:
    one = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": ""}
    if processors.runnable() == (processors.GENERIC,):
        one["NUMBA_CPU_NAME"] = processors.GENERIC
    assert run(tmp_path / "code", tmp_path / "kept", **one) == "[41.0, 6.0] 2"
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [one["NUMBA_CPU_NAME"]]
    assert run(tmp_path / "code", tmp_path / "kept") == "[41.0, 6.0] 0"  # this one runs the generic code
    os.rename(tmp_path / "kept" / one["NUMBA_CPU_NAME"], tmp_path / "kept" / "another")
    assert run(tmp_path / "code", tmp_path / "kept") == "[41.0, 6.0] 2"


def test_a_processor_that_lacks_an_instruction_takes_the_generic_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processors.platform, "machine", lambda: "x86_64")
    able = dict.fromkeys(processors.WIDE_NEEDS, True)
    assert processors.runnable(able) == ("x86-64-v3", "x86-64")
    for missing in processors.WIDE_NEEDS:
        assert processors.runnable({**able, missing: False}) == ("x86-64",)
    monkeypatch.setattr(processors.platform, "machine", lambda: "aarch64")
    assert processors.runnable(able) == ("generic",)


def test_a_kernel_that_uses_what_cannot_be_told_is_refused() -> None:
    class Opaque:
        """Something whose content nobody knows."""

    opaque = Opaque()

    @kernel
    def uses(x):
        return x if opaque else 0

    with pytest.raises(TypeError, match="cannot be told"):
        identity(uses)


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(folders.os.path, "expanduser", lambda path: path)
    with pytest.raises(NotADirectoryError):
        folders.own().mkdir(parents=True)
