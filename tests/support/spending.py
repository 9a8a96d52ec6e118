"""Processes that spend from one budget file, each of them fresh: a fork has no thread of a library."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import networkx as nx

import graphveil as gv
from core.publishing import alone
from graphveil import problems


def release(path: Path) -> None:
    """Release the karate club at epsilon 1, charged to the budget in the file."""
    graph = nx.karate_club_graph()
    gv.synthesize(graph, 1, method="tmf", budget=gv.Budget(path), progress=False)


def die_at_the_first_read(path: Path) -> None:
    """Begin a release, and be killed once the meter has let the first read in."""
    meter = alone.run_release.__globals__["Meter"]
    original = meter._admit

    def killed(self: Any, *given: Any) -> Any:
        original(self, *given)
        os.kill(os.getpid(), signal.SIGKILL)

    meter._admit = killed
    release(path)


def release_beside_others(path: Path, open_at_once: Any, answers: Any) -> None:
    """Release once as many others have their graph open; ``answers`` is told what came of it."""
    original = alone._Recorder.opening

    def met(self: Any) -> None:
        original(self)
        open_at_once.wait(300)

    alone._Recorder.opening = met  # type: ignore[method-assign]
    try:
        release(path)
        answers.put("released")
    except problems.BudgetExceeded:
        answers.put("refused")
    except BaseException as error:
        answers.put(repr(error))
