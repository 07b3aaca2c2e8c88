"""A seccomp filter that ends a guest which asks the kernel for what no answer to a problem needs.

It holds for root too, whom the limit on processes spares. Numbers: the kernel's own tables,
`arch/x86/entry/syscalls/syscall_64.tbl` and `include/uapi/asm-generic/unistd.h`.
"""

from __future__ import annotations

import platform
import struct

KILLED: dict[str, tuple[int | None, int | None]] = {
    # new processes and threads
    "clone": (56, 220),
    "fork": (57, None),
    "vfork": (58, None),
    "clone3": (435, 435),
    # other processes
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    # the network, also those sockets that no namespace holds
    "socket": (41, 198),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    # memory beside the limit of address space
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "vmsplice": (278, 75),  # a page in a pipe holds all of the huge page that it is of
    "io_setup": (206, 0),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setsockopt": (54, 208),  # how much a pair of sockets holds
    "timer_create": (222, 107),
    "landlock_create_ruleset": (444, 444),  # 65,536 rules a descriptor
    # what others do with the files that are shared
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    # what others wait for
    "sync": (162, 81),
    "syncfs": (306, 267),
    # wide doors into the kernel
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
}
FCNTL = (72, 25)
KILLED_COMMANDS = {"F_SETLEASE": 1024, "F_NOTIFY": 1026, "F_SETPIPE_SZ": 1031}
"""Of fcntl: what makes others wait for a file that is shared, watches a folder, widens a pipe."""
SOCKETPAIR = (53, 199)
AF_UNIX = 1
"""The only pairs there are: to ask for another family's loads that family into the kernel."""
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
"""BPF: load a word of the call's data, jump where equal or not below, return."""
KILL_PROCESS, ALLOW = 0x80000000, 0x7FFF0000
NUMBER_OFFSET, ARCHITECTURE_OFFSET = 0, 4
FIRST_ARGUMENT_OFFSET, SECOND_ARGUMENT_OFFSET = 16, 24


def filter_program(machine: str | None = None) -> bytes | None:
    """The filter as the kernel takes it; None where this machine's numbers are not known."""
    machine = machine or platform.machine()
    if machine not in AUDIT:
        return None
    column = list(AUDIT).index(machine)
    numbers = [pair[column] for pair in KILLED.values()]
    denied = [number for number in numbers if number is not None]
    commands = list(KILLED_COMMANDS.values())
    last = len(denied) + len(commands) + 10  # the step that kills

    def killed_at(step: int, number: int) -> tuple[int, int, int, int]:
        return (EQUAL, last - step - 1, 0, number)

    steps = [
        (LOAD, 0, 0, ARCHITECTURE_OFFSET),
        (EQUAL, 0, last - 2, AUDIT[machine]),  # another architecture's numbers: kill
        (LOAD, 0, 0, NUMBER_OFFSET),
        (AT_LEAST, last - 4, 0, X32_BIT),
        *(killed_at(4 + place, number) for place, number in enumerate(denied)),
    ]
    pair = len(steps) + 2
    steps += [
        (EQUAL, 0, 2, SOCKETPAIR[column]),
        (LOAD, 0, 0, FIRST_ARGUMENT_OFFSET),
        (EQUAL, last - pair - 2, last - pair - 1, AF_UNIX),
        (EQUAL, 0, len(commands) + 1, FCNTL[column]),
        (LOAD, 0, 0, SECOND_ARGUMENT_OFFSET),
        *(killed_at(pair + 3 + place, number) for place, number in enumerate(commands)),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, KILL_PROCESS),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
