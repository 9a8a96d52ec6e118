"""What a child whose code means harm tries from inside: calls, sockets, devices, shared memory."""

from __future__ import annotations

import errno
import os
import platform
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support.children import FAILS, planted
from worker import calls, landlock, seccomp

ROOT = Path(__file__).resolve().parents[3]

REFUSED: dict[str, tuple[int | None, int | None]] = {
    "accept": (43, 202), "accept4": (288, 242), "connect": (42, 203), "mknod": (133, None),
    "mknodat": (259, 33), "symlink": (88, None), "symlinkat": (266, 36), "chmod": (90, None),
    "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "lchown": (94, None), "fchown": (93, 55), "fchownat": (260, 54), "utime": (132, None),
    "utimes": (235, None), "utimensat": (280, 88), "futimesat": (261, None), "setxattr": (188, 5),
    "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "fremovexattr": (199, 16), "inotify_init": (253, None), "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27), "inotify_rm_watch": (255, 28), "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263), "unshare": (272, 97), "setns": (308, 268), "clone3": (435, 435),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "kcmp": (312, 272), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "migrate_pages": (256, 238), "move_pages": (279, 239), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "io_setup": (206, 0), "io_submit": (209, 2), "io_getevents": (208, 4),
    "io_cancel": (210, 3), "io_destroy": (207, 1), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "reboot": (169, 142), "personality": (135, 92), "acct": (163, 89), "swapon": (167, 224),
    "swapoff": (168, 225), "quotactl": (179, 60), "sethostname": (170, 161), "setdomainname": (171, 162),
    "syslog": (103, 116), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "clock_adjtime": (305, 266), "adjtimex": (159, 171), "iopl": (172, None), "ioperm": (173, None),
    "modify_ldt": (154, None), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195),
    "shmdt": (67, 197), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192),
    "mq_open": (240, 180), "mq_unlink": (241, 181), "mq_timedsend": (242, 182),
    "mq_timedreceive": (243, 183), "mq_notify": (244, 184), "mq_getsetattr": (245, 185),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "setsid": (112, 157), "setpgid": (109, 154),
    "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "setuid": (105, 146), "setgid": (106, 144),
    "setreuid": (113, 145), "setregid": (114, 143), "setresuid": (117, 147), "setresgid": (119, 149),
    "setgroups": (116, 159), "setfsuid": (122, 151), "setfsgid": (123, 152), "capset": (126, 91),
    "seccomp": (317, 277), "landlock_create_ruleset": (444, 444), "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446), "remap_file_pages": (216, 234),
}  # fmt: skip
"""By x86_64's number and by aarch64's: what reaches other processes, the kernel, uncounted memory."""

TRY = """
import ctypes, errno, os, socket, sys
from pathlib import Path
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def answer(number, *given):
    ctypes.set_errno(0)
    done = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, given))
    return 0 if done >= 0 else ctypes.get_errno()
"""


def attempt(folder: Path, program: str) -> str:
    """What the program prints as the work of a child."""
    return planted(folder, textwrap.dedent(TRY) + FAILS + textwrap.dedent(program))


def of_this_machine(numbers: dict[str, tuple[int | None, int | None]]) -> dict[str, int]:
    column = ("x86_64", "aarch64").index(platform.machine())
    return {name: number for name, each in numbers.items() if (number := each[column]) is not None}


def test_every_call_that_reaches_past_the_child_is_unknown_to_it(tmp_path: Path) -> None:
    tried = of_this_machine(REFUSED)
    program = f"print({{name: answer(number, *[-1] * 6) for name, number in {tried!r}.items()}})"
    assert attempt(tmp_path, program) == str(dict.fromkeys(tried, errno.ENOSYS))


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("machine", seccomp.MACHINES.values(), ids=seccomp.MACHINES)
def test_none_of_them_is_on_the_list_of_any_machine(machine: seccomp.Machine, gpu: bool) -> None:
    allowed = calls.allowed(machine.column, gpu)
    assert len(allowed) > 130
    assert not allowed & {each[machine.column] for each in REFUSED.values()}


def test_no_call_has_the_number_of_another() -> None:
    for column in (0, 1):
        numbers = [
            number
            for group in (*calls.GROUPS, calls.GPU, calls.BY_ARGUMENT, REFUSED)
            for each in group.values()
            if (number := each[column]) is not None
        ]
        assert len(numbers) == len(set(numbers))


def test_a_child_has_no_socket_with_a_path(tmp_path: Path) -> None:
    """The embedded database listens on one, and so do other programs of the worker's user."""
    path = tmp_path / "server"
    program = f"""
    kinds = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW
    print({{fails(socket.socket, socket.AF_UNIX, kind) for kind in kinds}})
    one, other = socket.socketpair()
    print([fails(one.connect, {str(path)!r}), fails(one.bind, "mine"), fails(one.listen), fails(one.accept)])
    print(fails(one.sendto, b"x", {str(path)!r}) == errno.EISCONN)
    """
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        printed = attempt(tmp_path, program)
    assert printed.splitlines() == [str({errno.EACCES}), str([errno.ENOSYS] * 4), "True"]


def test_a_pair_of_sockets_sends_to_nobody_else(tmp_path: Path) -> None:
    """Of datagrams each could name its receiver; those of a pair that is connected for good cannot."""
    path = tmp_path / "log"
    program = f"""
    made = []
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        try:
            one, other = socket.socketpair(socket.AF_UNIX, kind)
        except OSError as error:
            made.append(error.errno)
            continue
        fails(one.sendto, b"x", {str(path)!r})
        fails(one.sendmsg, [b"x"], [], 0, {str(path)!r})
        one.send(b"said")
        made.append(len(other.recv(1)))
    print(made)
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(str(path))
        log.setblocking(False)
        assert attempt(tmp_path, program) == str([errno.EACCES, errno.EACCES, 1, 1])
        with pytest.raises(BlockingIOError):
            log.recv(10)


def test_a_child_makes_no_namespace(tmp_path: Path) -> None:
    """Neither as ``unshare`` does, nor with a process that it starts; a thread and a process it may start."""
    clone = of_this_machine({"clone": (56, 220)})["clone"]
    program = f"""
    import signal
    spaces = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]
    print({{answer({clone}, space | signal.SIGCHLD, 0, 0, 0, 0) for space in spaces}})
    child = os.fork()
    if not child:
        os._exit(fails(os.setsid))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), fails(os.setpgid, 0, 0))
    """
    printed = attempt(tmp_path, program).splitlines()
    assert printed == [str({errno.ENOSYS}), f"{errno.ENOSYS} {errno.ENOSYS}"]


def test_a_child_sets_no_limit_of_another_process(tmp_path: Path) -> None:
    program = """
    import resource
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    worker = os.getppid()
    print(fails(resource.prlimit, worker, resource.RLIMIT_NOFILE, most))
    print(fails(os.setpriority, os.PRIO_PROCESS, worker, 19))
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, most[1]))
    """
    assert attempt(tmp_path, program) == f"{errno.ENOSYS}\n{errno.ENOSYS}"


def test_a_child_makes_no_device_and_changes_no_owner_or_mode(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.touch(mode=0o600)
    (tmp_path / "own").mkdir()
    program = f"""
    import stat
    for kind in (stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFREG):
        print(fails(os.mknod, folder / "made", kind | 0o600, os.makedev(1, 8)))
    print(fails(os.symlink, {str(other)!r}, folder / "link"))
    other = Path({str(other)!r})
    print(fails(other.chmod, 0o666), fails(os.chown, other, 1, 1), sep="\\n")
    print(fails(os.utime, other, (0, 0)), fails(os.setxattr, other, "user.a", b"b"), sep="\\n")
    """
    assert set(attempt(tmp_path / "own", program).splitlines()) == {str(errno.ENOSYS)}


def test_a_child_has_no_memory_that_outlives_or_is_not_counted(tmp_path: Path) -> None:
    program = """
    from multiprocessing import shared_memory
    print([fails(Path("/dev/shm/left").write_bytes, b"x"), fails(os.listdir, "/dev/shm")])
    print(fails(shared_memory.SharedMemory, None, True, 1 << 20), fails(os.memfd_create, "hidden"))
    """
    refused = errno.EACCES
    assert attempt(tmp_path, program) == f"{[refused, refused]}\n{refused} {errno.ENOSYS}"


def test_landlock_alone_lets_no_device_be_made_in_the_childs_own_folder(tmp_path: Path) -> None:
    script = """
    import os, socket, stat, sys
    from pathlib import Path
    from worker.landlock import Surroundings, confine_to
    folder = Path(sys.argv[1])
    confine_to(Surroundings(folder, Path.cwd(), folder))
    def fails(action, *given):
        try:
            action(*given)
        except OSError as error:
            return error.errno
    made = [
        fails(os.mknod, folder / str(kind), kind | 0o600, os.makedev(1, 8))
        for kind in (stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK)
    ]
    made.append(fails(os.symlink, "/etc/passwd", folder / "link"))
    print(made, fails(socket.socket(socket.AF_UNIX).bind, str(folder / "bound")))
    (folder / "file").touch()
    """
    assert landlock.version(), "this test needs a kernel with Landlock"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    refused = errno.EACCES if os.geteuid() == 0 else errno.EPERM  # the kernel asks for the privilege first
    assert done.stdout.strip() == f"{[refused] * 2 + [errno.EACCES] * 3} {errno.EACCES}", done.stderr
