"""The same ways out once more as bare system calls, by number, past all that Python would check first.

The numbers are written down here a second time, so that a wrong one in the sandbox's own table shows.
The aarch64 ones have not been run. No call here can do harm where it is let through: file descriptors
are -1, paths and names do not exist, magic numbers and flags are wrong, signals are 0; some only ask.

>>> NUMBERS["mount"]
(165, 40)

A row: name, x86-64 number, aarch64 number (None: no such call), arguments as Python text.
"""

from __future__ import annotations

from .ways import Attack, Group, each

Row = tuple[str, int, int | None, str]

_SOCKETS: list[Row] = [
    *((f"socket, family {family}, kind {kind}", 41, 198, f"{family}, {kind}, 0")
      for family, kind in ((1, 1), (1, 2), (2, 1), (2, 2), (10, 1), (10, 2), (16, 3), (17, 3), (38, 5), (40, 1))),
    ("socketpair of the internet", 53, 199, "2, 1, 0, room(8)"),
    ("connect", 42, 203, "-1, None, 0"),
    ("connect a pair", 42, 203, "socket.socketpair()[0].detach(), b'\\1\\0' + t['unix'].encode(), 2 + len(t['unix'])"),
    ("bind", 49, 200, "-1, None, 0"),
    ("bind a pair", 49, 200, "socket.socketpair()[0].detach(), b'\\1\\0', 2"),
    ("listen", 50, 201, "-1, 1"),
    ("accept", 43, 202, "-1, None, None"),
    ("accept4", 288, 242, "-1, None, None, 0"),
    ("setsockopt", 54, 208, "-1, 0, 0, None, 0"),
    ("sendmmsg", 307, 269, "-1, None, 0, 0"),
    ("recvmmsg", 299, 243, "-1, None, 0, 0, None"),
]  # fmt: skip

_PROGRAMS: list[Row] = [
    ("execve", 59, 221, "b'/bin/true', words(b'true'), words()"),
    ("execve of nothing", 59, 221, "NOWHERE, words(b'x'), words()"),
    ("execveat", 322, 281, "-100, b'/bin/true', words(b'true'), words(), 0"),
    ("execveat of memory", 322, 281, "os.memfd_create('x'), b'', words(b'x'), words(), 0x1000"),
]

_FILES: list[Row] = [
    ("openat2", 437, 437, "-100, t['secret'].encode(), struct.pack('=QQQ', 0, 0, 0), 24"),
    ("open_by_handle_at", 304, 265, "-1, None, 0"),
    ("name_to_handle_at", 303, 264, "-1, b'', None, None, 0x1000"),
    ("quotactl", 179, 60, "0xFFFF, NOWHERE, 0, None"),
    ("fanotify_init", 300, 262, "0xFFFFFFFF, 0"),
    ("inotify_init1", 294, 26, "0xFFFFFFF"),
    ("lookup_dcookie", 212, 18, "0, None, 0"),
]

# Landlock guards these, so a path's own errno may come first.
_PATHS: list[Row] = [
    ("open", 2, None, "t['secret'].encode(), 0, 0"),
    ("openat", 257, 56, "-100, t['secret'].encode(), 0, 0"),
]

_WRITING: list[Row] = [
    ("open to write", 2, None, "t['writable'].encode(), 1, 0"),
    ("openat to write", 257, 56, "-100, t['writable'].encode(), 2, 0"),
    ("openat that truncates", 257, 56, "-100, t['writable'].encode(), 0o1000, 0"),
    ("openat that makes", 257, 56, "-100, t['folder'].encode() + b'/made', 0o301, 0o600"),
    ("creat", 85, None, "t['folder'].encode() + b'/made', 0o600"),
    ("truncate", 76, 45, "t['writable'].encode(), 1"),
    ("mkdirat", 258, 34, "-100, t['folder'].encode() + b'/made', 0o700"),
    ("unlinkat", 263, 35, "-100, t['writable'].encode(), 0"),
    ("symlinkat", 266, 36, "b'x', -100, t['folder'].encode() + b'/made'"),
    ("fchmodat", 268, 53, "-100, t['writable'].encode(), 0o666"),
    ("utimensat", 280, 88, "-100, t['writable'].encode(), struct.pack('=4q', 1, 0, 1, 0), 0"),
]

_WRITING_FILTERED: list[Row] = [
    ("fchmodat2", 452, 452, "-100, t['writable'].encode(), 0o666, 0"),
    ("fchownat", 260, 54, "-100, t['writable'].encode(), -1, -1, 0"),
    ("chown", 92, None, "t['writable'].encode(), -1, -1"),
    ("lchown", 94, None, "t['writable'].encode(), -1, -1"),
    ("fchown", 93, 55, "-1, -1, -1"),
    ("setxattr", 188, 5, "t['writable'].encode(), b'user.unspool', b'1', 1, 0"),
    ("lsetxattr", 189, 6, "t['writable'].encode(), b'user.unspool', b'1', 1, 0"),
    ("fsetxattr", 190, 7, "-1, b'user.unspool', b'1', 1, 0"),
    ("removexattr", 197, 14, "t['writable'].encode(), b'user.unspool'"),
    ("mknod", 133, None, "b'null', 0o020600, 0x103"),
    ("mknodat", 259, 33, "-100, b'null', 0o020600, 0x103"),
]

_PROCESSES: list[Row] = [
    ("rt_sigqueueinfo", 129, 138, "t['victim'], 0, room(128)"),
    ("rt_tgsigqueueinfo", 297, 240, "t['victim'], t['victim'], 0, room(128)"),
    ("process_vm_writev of nothing", 311, 271, "t['victim'], None, 0, None, 0, 0"),
    ("ptrace, a request that is none", 101, 117, "0x7FFF, t['victim'], 0, 0"),
    ("pidfd_getfd", 438, 438, "-1, 0, 0"),
    ("process_madvise", 440, 440, "-1, None, 0, 0, 0"),
    ("kcmp", 312, 272, "t['victim'], t['victim'], 0, 0, 0"),
    ("prlimit64 of another", 302, 261, "t['victim'], 7, None, room(16)"),
    ("move_pages", 279, 239, "t['victim'], 0, None, None, None, 0"),
    ("migrate_pages", 256, 238, "t['victim'], 0, None, None"),
    ("get_robust_list of another", 274, 100, "t['victim'], room(8), room(8)"),
    ("sched_setaffinity of another", 203, 122, "t['victim'], 0, None"),
    ("setpriority of another", 141, 140, "99, t['victim'], 0"),
    ("setsid", 112, 157, ""),
    ("setpgid", 109, 154, "0, 0"),
    ("shmget", 29, 194, "0x0A5C0123, 4096, 0"),
    ("shmat", 30, 196, "-1, None, 0"),
    ("semget", 64, 190, "0x0A5C0123, 1, 0"),
    ("msgget", 68, 186, "0x0A5C0123, 0"),
    ("mq_open", 240, 180, "b'unspool-nothing', 0, 0, None"),
]

_KERNEL: list[Row] = [
    ("mount", 165, 40, "NOWHERE, NOWHERE, b'unspool-none', 0, None"),
    ("umount2", 166, 39, "NOWHERE, 0"),
    ("pivot_root", 155, 41, "NOWHERE, NOWHERE"),
    ("chroot", 161, 51, "NOWHERE"),
    ("mount_setattr", 442, 442, "-1, b'', 0x1000, None, 0"),
    ("fsopen", 430, 430, "b'unspool-none', 0"),
    ("fsmount", 432, 432, "-1, 0, 0"),
    ("fspick", 433, 433, "-1, b'', 8"),
    ("open_tree", 428, 428, "-1, b'', 0x1000"),
    ("move_mount", 429, 429, "-1, b'', -1, b'', 0"),
    *((f"unshare {flags:#x}", 272, 97, f"{flags:#x}") for flags in (
        0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x08000000, 0x04000000, 0x02000000, 0x80)),
    ("clone3", 435, 435, "None, 0"),
    ("setns", 308, 268, "-1, 0"),
    ("io_uring_setup", 425, 425, "0, None"),
    ("io_uring_enter", 426, 426, "-1, 0, 0, 0, None, 0"),
    ("io_uring_register", 427, 427, "-1, 0, None, 0"),
    ("io_setup", 206, 0, "0, None"),
    ("keyctl", 250, 219, "0, -2, 0"),
    ("add_key", 248, 217, "b'unspool-none', b'x', None, 0, -3"),
    ("request_key", 249, 218, "b'unspool-none', b'x', None, 0"),
    ("bpf", 321, 280, "-1, None, 0"),
    ("perf_event_open", 298, 241, "None, 0, -1, -1, 0"),
    ("userfaultfd", 323, 282, "0x7FFFFFF0"),
    ("memfd_secret", 447, 447, "0x7FFFFFF0"),
    ("seccomp", 317, 277, "99, 0, None"),
    ("landlock_create_ruleset", 444, 444, "None, 0, 1"),
    ("personality", 135, 92, "0xFFFFFFFF"),
    ("iopl", 172, None, "0"),
    ("ioperm", 173, None, "0x7FFFFFFF, 1, 0"),
    ("modify_ldt", 154, None, "0, None, 0"),
    ("init_module", 175, 105, "None, 0, b''"),
    ("finit_module", 313, 273, "-1, b'', 0"),
    ("delete_module", 176, 106, "b'unspool_nothing', 0x800"),
    ("kexec_load", 246, 104, "0, 0x7FFF, None, -1"),
    ("reboot", 169, 142, "1, 2, 3, None"),
    ("swapon", 167, 224, "NOWHERE, 0"),
    ("swapoff", 168, 225, "NOWHERE"),
    ("acct", 163, 89, "NOWHERE"),
    ("syslog", 103, 116, "10, None, 0"),
    ("sethostname", 170, 161, "None, -1"),
    ("setdomainname", 171, 162, "None, -1"),
    ("clock_settime", 227, 112, "9999, None"),
    ("splice", 275, 76, "-1, None, -1, None, 0, 0"),
    ("vmsplice", 278, 75, "-1, None, 0, 0"),
    ("tee", 276, 77, "-1, -1, 0, 0"),
    ("mlock2", 325, 284, "None, 0, -1"),
    ("remap_file_pages", 216, 234, "None, 0, 0, 0, 0"),
    ("a call that is younger than the filter", 600, 600, ""),
]  # fmt: skip

_PRIVILEGES: list[Row] = [
    ("setuid", 105, 146, "-1"),
    ("setgid", 106, 144, "-1"),
    ("setreuid", 113, 145, "-1, -1"),
    ("setregid", 114, 143, "-1, -1"),
    ("setresuid", 117, 147, "-1, -1, -1"),
    ("setresgid", 119, 149, "-1, -1, -1"),
    ("setfsuid", 122, 151, "-1"),
    ("setfsgid", 123, 152, "-1"),
    ("setgroups", 116, 159, "-1, None"),
    ("capset", 126, 91, "None, None"),
    ("setrlimit", 160, 164, "-1, None"),
    ("prlimit64 that sets", 302, 261, "0, 7, struct.pack('=QQ', *resource.getrlimit(7)), None"),
    ("sched_setscheduler", 144, 119, "0, -1, None"),
    ("sched_setattr", 314, 274, "0, None, 0"),
    ("ioprio_set", 251, 30, "99, 0, 0"),
    *((f"prctl {number}", 157, 167, f"{number}, {value}, 0, 0, 0") for number, value in (
        (4, 99), (8, 99), (22, 99), (24, 99), (28, 0xFFFF), (35, 99), (36, 0), (38, 99), (47, 99), (59, 99))),
    ("typing into a terminal", 16, 29, "0, 0x5412, b'x'"),
    ("its own terminal", 16, 29, "0, 0x540E, 0"),
]  # fmt: skip


_CLONES = each("kernel", {
    f"raw clone {flags:#x}": f"""
        child = raw(56, 220, {flags:#x} | signal.SIGCHLD, None, None, None, None)
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        return child
    """
    for flags in (0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x08000000, 0x04000000, 0x02000000)
}, filtered=True)  # fmt: skip


def _rows(group: Group, rows: list[Row], *, filtered: bool = True) -> list[Attack]:
    codes = {
        f"raw {name}": f"return raw({', '.join(filter(None, (str(x86_64), str(aarch64), args)))})"
        for name, x86_64, aarch64, args in rows
    }
    if len(codes) != len(rows):
        raise ValueError(f"{group}: two rows have one name")
    return each(group, codes, filtered=filtered)


RAW = [
    *_rows("network", _SOCKETS),
    *_rows("programs", _PROGRAMS),
    *_rows("files", _FILES),
    *_rows("files", _PATHS, filtered=False),
    *_rows("writing", _WRITING, filtered=False),
    *_rows("writing", _WRITING_FILTERED),
    *_rows("processes", _PROCESSES),
    *_rows("kernel", _KERNEL),
    *_CLONES,
    *_rows("privileges", _PRIVILEGES),
]  # fmt: skip

_EVERY = [
    *_SOCKETS, *_PROGRAMS, *_FILES, *_PATHS, *_WRITING, *_WRITING_FILTERED, *_PROCESSES, *_KERNEL, *_PRIVILEGES,
]  # fmt: skip
NUMBERS = {name.split(",")[0]: (x86_64, aarch64) for name, x86_64, aarch64, _ in _EVERY}
