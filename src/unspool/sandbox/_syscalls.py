"""Linux system calls by name, through ctypes: the numbers of two machines and one way to call them.

Contract: standard library only, importable as ``unspool.sandbox._syscalls`` and, with the sandbox
folder on ``sys.path``, as ``_syscalls``. :func:`call` makes one system call and raises ``OSError``
where it fails; :func:`number` is ``None`` where this machine has no such call.

The x86-64 numbers are used on every run of the tests; the aarch64 ones are taken from the kernel's
generic table and have not been run.

>>> number("read", "x86_64"), number("read", "aarch64"), number("open", "aarch64")
(0, 63, None)
>>> call("getpid") == __import__("os").getpid()
True
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys

# name:x86_64:aarch64, "-" where the machine has no such call.
_TABLE = """
read:0:63  write:1:64  readv:19:65  writev:20:66  pread64:17:67  pwrite64:18:68  preadv:295:69
pwritev:296:70  preadv2:327:286  pwritev2:328:287  lseek:8:62  close:3:57  close_range:436:436
dup:32:23  dup2:33:-  dup3:292:24  fcntl:72:25  open:2:-  openat:257:56  creat:85:-  stat:4:-  lstat:6:-
fstat:5:80  newfstatat:262:79  statx:332:291  access:21:-  faccessat:269:48  faccessat2:439:439
readlink:89:-  readlinkat:267:78  getcwd:79:17  chdir:80:49  fchdir:81:50  getdents:78:-
getdents64:217:61  statfs:137:43  fstatfs:138:44  mkdir:83:-  mkdirat:258:34  rmdir:84:-  unlink:87:-
unlinkat:263:35  rename:82:-  renameat:264:38  renameat2:316:276  link:86:-  linkat:265:37  symlink:88:-
symlinkat:266:36  umask:95:166  flock:73:32  truncate:76:45  ftruncate:77:46  fallocate:285:47
fsync:74:82  fdatasync:75:83  fadvise64:221:223  readahead:187:213  copy_file_range:326:285
sendfile:40:71  chmod:90:-  fchmod:91:52  fchmodat:268:53  fchmodat2:452:452  utime:132:-  utimes:235:-
utimensat:280:88  futimesat:261:-  getxattr:191:8  lgetxattr:192:9  fgetxattr:193:10  listxattr:194:11
llistxattr:195:12  flistxattr:196:13  mmap:9:222  munmap:11:215  mprotect:10:226  mremap:25:216
msync:26:227  madvise:28:233  brk:12:214  memfd_create:319:279  membarrier:324:283  futex:202:98
set_robust_list:273:99  rseq:334:293  set_tid_address:218:96  gettid:186:178  getpid:39:172
getppid:110:173  sched_yield:24:124  sched_getaffinity:204:123  sched_getparam:143:121
sched_getscheduler:145:120  sched_get_priority_max:146:125  sched_get_priority_min:147:126
getcpu:309:168  fork:57:-  vfork:58:-  clone:56:220  clone3:435:435  wait4:61:260  waitid:247:95
exit:60:93  exit_group:231:94  pidfd_open:434:434  pidfd_send_signal:424:424  kill:62:129  tkill:200:130
tgkill:234:131  rt_sigaction:13:134  rt_sigprocmask:14:135  rt_sigreturn:15:139  rt_sigpending:127:136
rt_sigtimedwait:128:137  rt_sigsuspend:130:133  sigaltstack:131:132  restart_syscall:219:128  pause:34:-
alarm:37:-  setitimer:38:103  getitimer:36:102  nanosleep:35:101  clock_nanosleep:230:115
clock_gettime:228:113  clock_getres:229:114  gettimeofday:96:169  time:201:-  times:100:153  pipe:22:-
pipe2:293:59  poll:7:-  ppoll:271:73  select:23:-  pselect6:270:72  epoll_create:213:-
epoll_create1:291:20  epoll_ctl:233:21  epoll_wait:232:-  epoll_pwait:281:22  epoll_pwait2:441:441
eventfd:284:-  eventfd2:290:19  timerfd_create:283:85  timerfd_settime:286:86  timerfd_gettime:287:87
socketpair:53:199  getsockopt:55:209  getsockname:51:204  getpeername:52:205  sendto:44:206
recvfrom:45:207  sendmsg:46:211  recvmsg:47:212  shutdown:48:210  getuid:102:174  geteuid:107:175
getgid:104:176  getegid:108:177  getresuid:118:148  getresgid:120:150  getgroups:115:158  getpgrp:111:-
getpgid:121:155  getsid:124:156  getrusage:98:165  getrlimit:97:163  prlimit64:302:261
getrandom:318:278  uname:63:160  sysinfo:99:179  getpriority:140:141  prctl:157:167  ioctl:16:29
openat2:437:437  unshare:272:97  setns:308:268  mount:165:40  umount2:166:39  pivot_root:155:41
mount_setattr:442:442  landlock_create_ruleset:444:444  landlock_add_rule:445:445
landlock_restrict_self:446:446  seccomp:317:277  capset:126:91  sethostname:170:161  socket:41:198
connect:42:203  bind:49:200  ptrace:101:117  process_vm_readv:310:270  process_vm_writev:311:271
execve:59:221  execveat:322:281  io_uring_setup:425:425  keyctl:250:219  add_key:248:217
request_key:249:218  bpf:321:280  perf_event_open:298:241  userfaultfd:323:282  setuid:105:146
setresuid:117:147  setgid:106:144  personality:135:92  chroot:161:51  mknod:133:-  mknodat:259:33
setsid:112:157  setpgid:109:154  rt_sigqueueinfo:129:138  rt_tgsigqueueinfo:297:240  shmget:29:194
msgget:68:186  semget:64:190  mq_open:240:180  inotify_init1:294:26  fanotify_init:300:262
name_to_handle_at:303:264  open_by_handle_at:304:265  setxattr:188:5  chown:92:-  lchown:94:-
fchown:93:55  fchownat:260:54  pidfd_getfd:438:438  setrlimit:160:164  sched_setaffinity:203:122
setpriority:141:140  iopl:172:-  ioperm:173:-  init_module:175:105  finit_module:313:273
kexec_load:246:104  reboot:169:142  swapon:167:224  acct:163:89  syslog:103:116  quotactl:179:60
memfd_secret:447:447  fsopen:430:430  open_tree:428:428  move_mount:429:429  lookup_dcookie:212:18
modify_ldt:154:-  splice:275:76  vmsplice:278:75  tee:276:77  io_setup:206:0  kcmp:312:272
clock_settime:227:112  settimeofday:164:170  listen:50:201  accept:43:202  accept4:288:242
setsockopt:54:208  mincore:27:232
"""

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


@functools.cache
def machine() -> str:
    """This machine's name as the tables know it."""
    name = os.uname().machine
    return name if sys.maxsize > 2**32 else f"{name} (32 bit)"


@functools.cache
def _numbers(machine_name: str) -> dict[str, int]:
    column = {"x86_64": 1, "aarch64": 2}.get(machine_name)
    if column is None:
        return {}
    rows = (entry.split(":") for entry in _TABLE.split())
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def names() -> tuple[str, ...]:
    """Every name in the table."""
    return tuple(entry.split(":", 1)[0] for entry in _TABLE.split())


def number(name: str, machine_name: str | None = None) -> int | None:
    """The call's number on a machine (default: this one)."""
    return _numbers(machine_name or machine()).get(name)


@functools.cache
def libc() -> ctypes.CDLL:
    """The C library of this process, with errno kept per call."""
    lib = ctypes.CDLL(None, use_errno=True)
    lib.syscall.restype = ctypes.c_long
    return lib


def call(name: str, *args: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Make one system call. Whole numbers are passed as longs, bytes as a pointer, ``None`` as NULL."""
    nr = number(name)
    if nr is None:
        raise OSError(38, f"{name}: no number known on {machine()}")
    passed = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    result = int(libc().syscall(ctypes.c_long(nr), *passed))
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def prctl(option: int, value: int = 0) -> int:
    """``prctl`` with one argument; the others are 0 as the kernel asks."""
    return call("prctl", option, value, 0, 0, 0)
