"""The calls that a confined child may make. They are by number on x86_64 and on aarch64; None: there is no
such call.

Whatever is not here, a call of a later kernel too, is answered as one that the kernel does not know (ENOSYS):
libraries fall back then, as libc does from ``clone3``, whose flags a filter cannot read. Not here for a
reason are: sockets that have a name, other processes' memory and descriptors, namespaces and mounts, devices
and symbolic links, owners, modes and times of files (which Landlock does not judge), notices of what happens
to files, priorities, memory that outlives a process or is counted with none (System V, ``memfd``), keys,
modules, BPF, performance counters, rings, page faults, and leaving the group by which a child is killed.
"""

from __future__ import annotations

from collections.abc import Mapping

Numbers = Mapping[str, tuple[int | None, int | None]]

FILES: Numbers = {
    "read": (0, 63), "write": (1, 64), "open": (2, None), "close": (3, 57), "stat": (4, None),
    "fstat": (5, 80), "lstat": (6, None), "newfstatat": (262, 79), "lseek": (8, 62), "pread64": (17, 67),
    "pwrite64": (18, 68), "readv": (19, 65), "writev": (20, 66), "preadv": (295, 69), "pwritev": (296, 70),
    "preadv2": (327, 286), "pwritev2": (328, 287), "access": (21, None), "faccessat": (269, 48),
    "faccessat2": (439, 439), "pipe": (22, None), "pipe2": (293, 59), "dup": (32, 23), "dup2": (33, None),
    "dup3": (292, 24), "fcntl": (72, 25), "ioctl": (16, 29), "flock": (73, 32), "fsync": (74, 82),
    "fdatasync": (75, 83), "sync": (162, 81), "syncfs": (306, 267), "sync_file_range": (277, 84),
    "truncate": (76, 45), "ftruncate": (77, 46), "fallocate": (285, 47), "fadvise64": (221, 223),
    "readahead": (187, 213), "getdents": (78, None), "getdents64": (217, 61), "getcwd": (79, 17),
    "chdir": (80, 49), "fchdir": (81, 50), "rename": (82, None), "renameat": (264, 38),
    "renameat2": (316, 276), "mkdir": (83, None), "mkdirat": (258, 34), "rmdir": (84, None),
    "creat": (85, None), "link": (86, None), "linkat": (265, 37), "unlink": (87, None),
    "unlinkat": (263, 35), "readlink": (89, None), "readlinkat": (267, 78), "umask": (95, 166),
    "statfs": (137, 43), "fstatfs": (138, 44), "statx": (332, 291), "openat": (257, 56),
    "openat2": (437, 437), "close_range": (436, 436), "sendfile": (40, 71), "splice": (275, 76),
    "tee": (276, 77), "vmsplice": (278, 75), "copy_file_range": (326, 285), "getxattr": (191, 8),
    "lgetxattr": (192, 9), "fgetxattr": (193, 10), "listxattr": (194, 11), "llistxattr": (195, 12),
    "flistxattr": (196, 13),
}  # fmt: skip
"""What Landlock judges by path, or an open descriptor."""

WAITING: Numbers = {
    "poll": (7, None), "ppoll": (271, 73), "select": (23, None), "pselect6": (270, 72),
    "epoll_create": (213, None), "epoll_create1": (291, 20), "epoll_ctl": (233, 21),
    "epoll_wait": (232, None), "epoll_pwait": (281, 22), "epoll_pwait2": (441, 441), "eventfd": (284, None),
    "eventfd2": (290, 19), "signalfd": (282, None), "signalfd4": (289, 74), "timerfd_create": (283, 85),
    "timerfd_settime": (286, 86), "timerfd_gettime": (287, 87),
}  # fmt: skip
"""Waiting for descriptors."""

MEMORY: Numbers = {
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214), "mremap": (25, 216),
    "msync": (26, 227), "mincore": (27, 232), "madvise": (28, 233), "mlock": (149, 228),
    "mlock2": (325, 284), "munlock": (150, 229), "mlockall": (151, 230), "munlockall": (152, 231),
    "get_mempolicy": (239, 236), "set_mempolicy": (238, 237), "mbind": (237, 235),
    "pkey_mprotect": (329, 288), "pkey_alloc": (330, 289), "pkey_free": (331, 290),
    "membarrier": (324, 283), "map_shadow_stack": (453, None), "mseal": (462, 462),
}  # fmt: skip
"""A process's own memory; none that outlives it or that its group's is not counted with."""

PROCESSES: Numbers = {
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281), "exit": (60, 93),
    "exit_group": (231, 94), "wait4": (61, 260), "waitid": (247, 95), "set_tid_address": (218, 96),
    "set_robust_list": (273, 99), "get_robust_list": (274, 100), "futex": (202, 98),
    "futex_waitv": (449, 449), "futex_wake": (454, 454), "futex_wait": (455, 455),
    "futex_requeue": (456, 456), "rseq": (334, 293), "prctl": (157, 167), "arch_prctl": (158, None),
    "getcpu": (309, 168), "sched_yield": (24, 124), "sched_getaffinity": (204, 123),
    "sched_setaffinity": (203, 122), "sched_getparam": (143, 121), "sched_getscheduler": (145, 120),
    "sched_get_priority_max": (146, 125), "sched_get_priority_min": (147, 126),
    "sched_rr_get_interval": (148, 127), "sched_getattr": (315, 275), "getpriority": (140, 141),
    "ioprio_get": (252, 31), "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178),
    "getpgid": (121, 155), "getpgrp": (111, None), "getsid": (124, 156), "getuid": (102, 174),
    "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177), "getgroups": (115, 158),
    "getresuid": (118, 148), "getresgid": (120, 150), "capget": (125, 90), "getrlimit": (97, 163),
    "setrlimit": (160, 164), "getrusage": (98, 165), "times": (100, 153), "sysinfo": (99, 179),
    "uname": (63, 160), "pidfd_open": (434, 434),
}  # fmt: skip
"""Threads, programs, and what a process asks about itself. Nobody leaves the group."""

SIGNALS: Numbers = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "pidfd_send_signal": (424, 424),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigpending": (127, 136),
    "rt_sigtimedwait": (128, 137), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "rt_sigsuspend": (130, 133), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132),
    "restart_syscall": (219, 128), "pause": (34, None),
}  # fmt: skip
"""Signals."""

TIME: Numbers = {
    "time": (201, None), "gettimeofday": (96, 169), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115), "nanosleep": (35, 101), "getitimer": (36, 102), "setitimer": (38, 103),
    "alarm": (37, None), "timer_create": (222, 107), "timer_settime": (223, 110),
    "timer_gettime": (224, 108), "timer_getoverrun": (225, 109), "timer_delete": (226, 111),
}  # fmt: skip
"""Clocks and timers; none is set."""

CHANCE: Numbers = {
    "getrandom": (318, 278),
}  # fmt: skip
"""Randomness."""

PAIRS: Numbers = {
    "sendto": (44, 206), "recvfrom": (45, 207), "sendmsg": (46, 211), "recvmsg": (47, 212),
    "sendmmsg": (307, 269), "recvmmsg": (299, 243), "shutdown": (48, 210), "getsockname": (51, 204),
    "getpeername": (52, 205), "setsockopt": (54, 208), "getsockopt": (55, 209),
}  # fmt: skip
"""What is said over pairs of sockets."""

GROUPS = (FILES, WAITING, MEMORY, PROCESSES, SIGNALS, TIME, CHANCE, PAIRS)

BY_ARGUMENT: Numbers = {
    "clone": (56, 220), "prlimit64": (302, 261), "socket": (41, 198), "socketpair": (53, 199),
}  # fmt: skip
"""Those that a filter allows by what they are asked for: :func:`worker.seccomp.rules`."""

GPU: Numbers = {"bind": (49, 200), "listen": (50, 201)}
"""CUDA's driver listens on an abstract socket, and fails where it cannot. Nobody is accepted."""


def allowed(machine: int, gpu: bool = False) -> set[int]:
    """Number the calls that are always allowed. A child may make them whatever they ask; ``machine``: the
    column."""
    groups = (*GROUPS, GPU) if gpu else GROUPS
    return {number for group in groups for each in group.values() if (number := each[machine]) is not None}


def number(name: str, machine: int) -> int:
    """Number a call that is judged by its arguments. Every machine has it."""
    found = BY_ARGUMENT[name][machine]
    assert found is not None
    return found
