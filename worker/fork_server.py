"""``python -m worker.fork_server``: libraries loaded once, and each child a fork of it. A worker starts it.

It holds nothing of its worker: a program started afresh, with an environment made from an allow-list and one
descriptor, a socket to the worker. Over that come the ends of a child's pipes, and no word about the work:
what is to be done the child reads from its own pipe after the fork, so that no child finds anything of the
one before it. A child leaves the session, takes its folder, confines itself (:mod:`worker.limits`) and works
(:mod:`worker.sandbox`). Here its end is noted, and its process id kept until the worker is done with its
group.

Why not multiprocessing's own fork server: that one starts with the environment of whoever starts it, and so
with every secret; its children stay in its session and process group, read their work as a pickle, and their
end is told as an exit code alone, once nothing keeps the process id from being another's.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from core import command_line
from worker import limits, preload, sandbox

DESCRIPTORS = 3
"""What a child is given: where its events go, where answers come from, where its output goes."""
REFUSED = 1
SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.002, 0.1
MAX_WORD_BYTES = 64


def serve(control: socket.socket) -> None:
    """Fork a child for each word on the socket. It does until the worker closes it. One child at a time."""
    while True:
        word, given, _, _ = socket.recv_fds(control, MAX_WORD_BYTES, DESCRIPTORS)
        if not word:
            return
        server = os.getpid()
        child = os.fork()
        if child == 0:
            _become_child(control, given, server)
        for descriptor in given:
            os.close(descriptor)
        _tell(control, {"pid": child})
        if not _watch(control, child):
            return


def _watch(control: socket.socket, child: int) -> bool:
    """Tell how the child ended, and reap it once the worker is done with it; False where the worker is gone.

    Until then nobody else has its process id, nor that of its group. Whether it has ended is asked again
    after a tenth of the time that it has run, and ten times a second: not every kernel tells.
    """
    began, told = time.monotonic(), False
    while True:
        if not told and (ended := os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG)):
            by_itself = ended.si_code == os.CLD_EXITED
            _tell(control, {"ended": ended.si_status if by_itself else -ended.si_status})
            told = True
        pause = min(LONGEST_PAUSE_SECONDS, max(SHORTEST_PAUSE_SECONDS, (time.monotonic() - began) / 10))
        if select.select([control], [], [], None if told else pause)[0]:
            break
    if not control.recv(MAX_WORD_BYTES):
        return False  # what still runs is killed with this process
    os.kill(child, signal.SIGKILL)  # it may not have left this group when the worker killed its own
    _, _, used = os.wait4(child, 0)
    cpu_seconds = used.ru_utime + used.ru_stime
    _tell(control, {"used": {"cpu_seconds": cpu_seconds, "peak_bytes": used.ru_maxrss * 1024}})
    return True


def _tell(control: socket.socket, message: dict[str, object]) -> None:
    control.send(json.dumps(message).encode())


def _become_child(control: socket.socket, given: Sequence[int], server: int) -> NoReturn:
    """Do the work that the child's own pipe names, and end with its exit code."""
    code = REFUSED
    try:
        os.setsid()
        control.close()
        events, answers, output = given
        for standard in (1, 2):
            os.dup2(output, standard)
        os.close(output)
        for descriptor in (events, answers):
            os.set_inheritable(descriptor, False)
        channel = sandbox.Channel(events, answers)
        order = channel.order()
        move_in(order)
        limits.confine(server, order.folder, () if order.gpu is None else order.gpu.files)
        code = sandbox.work(order, channel)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # The work is on disk: what native threads do when they are torn down must not undo it.
        os._exit(code)


def move_in(order: sandbox.Order) -> None:
    """Let this process live in its folder. It sees its GPU only, and is called after its kind of work."""
    gpu = "" if order.gpu is None else order.gpu.uuid
    os.environ.update(limits.folder_environment(order.folder, gpu))
    tempfile.tempdir = None  # looked up anew
    os.chdir(order.folder)
    Path("/proc/self/comm").write_text(limits.process_name(order.kind))


def main(arguments: list[str] | None = None) -> int:
    """Serve; the exit code."""
    parser = command_line.parser("worker.fork_server", __doc__)
    parser.add_argument("--control", type=int, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--parent", type=int, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--preload", action="store_true", help="load the libraries of jobs before any job")
    asked = parser.parse_args(arguments)
    limits.die_with(asked.parent)
    if asked.preload:
        preload.load()
    gc.collect()
    gc.freeze()  # a child that collects garbage would touch, and so copy, every page it shares
    with socket.socket(fileno=asked.control) as control:
        serve(control)
    return 0


if __name__ == "__main__":
    sys.exit(main())
