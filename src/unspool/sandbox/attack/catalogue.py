"""Ways out in Python: network, programs, files, writing, processes, privileges.

Nothing here does harm where it works: see :mod:`.ways`.

>>> len(ATTACKS) > 300
True
"""

from __future__ import annotations

from .raw import RAW
from .ways import Attack, each

NETWORK = each("network", {
    "tcp socket": "return socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
    "tcp socket, version 6": "return socket.socket(socket.AF_INET6, socket.SOCK_STREAM)",
    "tcp to the host": "return socket.create_connection(('127.0.0.1', t['tcp']), timeout=3)",
    "tcp server": "return socket.create_server(('127.0.0.1', 0))",
    "http from the host": """
        import urllib.request
        return urllib.request.urlopen(f"http://127.0.0.1:{t['tcp']}/", timeout=3).read()
    """,
    "asyncio": "return asyncio.run(asyncio.wait_for(asyncio.open_connection('127.0.0.1', t['tcp']), 3))",
    "udp to the host": """
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            return s.sendto(b'out', ('127.0.0.1', t['udp']))
    """,
    "unix socket of the host": "return socket.socket(socket.AF_UNIX).connect(t['unix'])",
    "unix datagram to the host": (
        "return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'out', t['unix_datagram'])"
    ),
    "abstract socket of the host": "return socket.socket(socket.AF_UNIX).connect('\\0' + t['abstract'])",
    "unix datagram through a pair": """
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        return a.sendto(b'out', t['unix_datagram'])
    """,
    "packet with an address": """
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        a.sendto(b'out', t['unix_datagram'])
        if b.recv(9) == b'out':
            raise PermissionError(errno.EPERM, 'it went to its own peer')
    """,
    "icmp": "return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)",
    "ping": "return socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)",
    "netlink": "return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "link layer": "return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)",
    "the virtual machine's host": "return socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)",
    "the kernel's ciphers": "return socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)",
}, filtered=True)  # fmt: skip
NETWORK += each("network", {
    "stream with an address": """
        a, b = socket.socketpair()
        return a.sendmsg([b'out'], [], 0, t['unix'])
    """,
}, also=("EISCONN",), filtered=True)  # fmt: skip

PROGRAMS = each("programs", {
    "subprocess": "return subprocess.run(['/bin/true'], check=False)",
    "subprocess with a shell": "return subprocess.run('exit 7', shell=True, check=False)",
    "system": """
        status = os.system('exit 7')
        if os.waitstatus_to_exitcode(status) != 7:
            raise PermissionError(errno.EPERM, 'no shell')
    """,
    "execv": "os.execv('/bin/true', ['true'])",
    "execv of Python": "os.execv(sys.executable, [sys.executable, '-c', ''])",
    "execve by descriptor": "os.execve(os.open(os.__file__, os.O_RDONLY), ['python'], {})",
    "execv in a child": """
        child = os.fork()
        if not child:
            try:
                os.execv('/bin/true', ['true'])
            except OSError as error:
                os._exit(error.errno)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            raise OSError(code, '')
    """,
    "posix_spawn": "return os.posix_spawn('/bin/true', ['true'], {})",
    "posix_spawn of Python": "return os.posix_spawn(sys.executable, [sys.executable, '-c', ''], {})",
    "a script made here": """
        with open('program', 'w') as file:
            file.write('#!/bin/sh\\nexit 7\\n')
        try:
            os.chmod('program', 0o755)
        except PermissionError:
            return os.posix_spawn('/bin/sh', ['sh', 'program'], {})
        return os.posix_spawn('./program', ['program'], {})
    """,
    "multiprocessing that starts anew": """
        import multiprocessing
        process = multiprocessing.get_context('spawn').Process(target=print)
        process.start()
        process.join()
        if process.exitcode:
            raise PermissionError(errno.EPERM, 'its exit code says so')
    """,
}, filtered=True)  # fmt: skip

FILES = each("files", {
    "a file that all may read": "return read(t['secret'])",
    "the same by a symbolic link": "os.symlink(t['secret'], 'link'); return read('link')",
    "the same by dots": "return read('../' * 30 + t['secret'].lstrip('/'))",
    "the same from a folder": "return read(t['secret'].lstrip('/'), dir_fd=os.open('/', os.O_PATH))",
    "the same by changing folder": "os.chdir(os.path.dirname(t['secret'])); return read('secret')",
    "the same through itself": "return read('/proc/self/root' + t['secret'])",
    "the same through sqlite": """
        import sqlite3
        try:
            return sqlite3.connect(f"file:{t['secret']}?mode=ro", uri=True).execute('select 1 from x')
        except sqlite3.OperationalError as error:
            if 'unable to open' in str(error):
                raise PermissionError(errno.EACCES, str(error)) from None
            raise
        except sqlite3.DatabaseError as error:
            return f'it was read: {error}'
    """,
    "passwd": "return read('/etc/passwd')",
    "other files in /etc": "return any_of(read, ['/etc/hostname', '/etc/shadow', '/etc/group', '/etc/profile'])",
    "programs as files": "return any_of(read, ['/bin/sh', '/usr/bin/env', '/usr/bin/passwd'])",
    "what is in /": "return os.listdir('/')",
    "what is in other folders": (
        "return any_of(os.listdir, ['/etc', '/root', '/home', '/tmp', '/var', '/run', '/bin', '/sys', '/dev'])"
    ),
    "what is beside the secret": "return os.listdir(os.path.dirname(t['secret']))",
    "what is beside the scratch folder": """
        names = os.listdir(os.path.dirname(t['scratch']))
        # Empty folders for forks of this REPL stand there, too; they are the node's own.
        own = os.path.basename(t['scratch']).rstrip('0123456789')
        if all(name.rstrip('0123456789') == own for name in names):
            raise PermissionError(errno.EACCES, 'nothing of anybody else')
        return names
    """,
    "shared memory of the host": "return read(t['shared_memory'])",
    "disks and memory": """
        return any_of(read, ['/dev/' + name for name in (
            'mem', 'kmsg', 'port', 'sda', 'vda', 'nvme0n1', 'loop-control', 'loop0', 'fuse', 'kvm', 'dm-0')])
    """,
    "terminals": "return any_of(lambda path: os.open(path, os.O_RDWR | os.O_NOCTTY), ['/dev/tty', '/dev/ptmx'])",
    "a terminal of its own": "return os.openpty()",
    "the kernel's settings": (
        "return any_of(read, ['/proc/sys/kernel/hostname', '/proc/version', '/proc/mounts', '/proc/meminfo',"
        " '/proc/cmdline', '/proc/keys', '/proc/kcore', '/proc/kallsyms', '/proc/net/tcp', '/sys/kernel/notes'])"
    ),
})  # fmt: skip

FILES += each("files", {
    "the same by a hard link": "os.link(t['secret'], 'hard'); return read('hard')",
    "the same by moving it here": "os.rename(t['secret'], 'here'); return read('here')",
    "a hard link to the library": "os.link(os.__file__, 'library'); return os.open('library', os.O_WRONLY)",
}, also=("EXDEV",))  # fmt: skip

_OUT = "os.path.join(t['folder'], 'made')"
WRITING = each("writing", {
    "append": "return os.open(t['writable'], os.O_WRONLY | os.O_APPEND)",
    "read and write": "return os.open(t['writable'], os.O_RDWR)",
    "truncate": "return os.truncate(t['writable'], 1)",
    "truncate while reading": "return os.open(t['writable'], os.O_RDONLY | os.O_TRUNC)",
    "mode": "return os.chmod(t['writable'], 0o666)",
    "mode by a descriptor": "return os.fchmod(os.open(t['writable'], os.O_PATH), 0o666)",
    "times": "return os.utime(t['writable'], (1, 1))",
    "owner": "return os.chown(t['writable'], -1, -1)",
    "attribute": "return os.setxattr(t['writable'], 'user.unspool', b'1')",
    "new file": f"return os.open({_OUT}, os.O_CREAT | os.O_EXCL | os.O_WRONLY)",
    "new file without a name": "return os.open(t['folder'], os.O_TMPFILE | os.O_WRONLY)",
    "new folder": f"return os.mkdir({_OUT})",
    "new pipe": f"return os.mkfifo({_OUT})",
    "new symbolic link": f"return os.symlink('x', {_OUT})",
    "rename": f"return os.rename(t['writable'], {_OUT})",
    "remove": "return os.unlink(t['writable'])",
    "remove a folder": "return os.rmdir(os.path.join(t['folder'], 'empty'))",
    "shared memory of the host": "return os.open(t['shared_memory'], os.O_RDWR)",
    "the library": "return os.open(os.__file__, os.O_WRONLY)",
    "the library, by a symbolic link": "os.symlink(os.__file__, 'lib'); return os.open('lib', os.O_WRONLY)",
    "mode of the library": """
        fd = os.open(os.__file__, os.O_RDONLY)
        return os.fchmod(fd, os.fstat(fd).st_mode & 0o7777)
    """,
    "own protection from memory shortage": "return os.open('/proc/self/oom_score_adj', os.O_WRONLY)",
    "own memory by file": "return os.open('/proc/self/mem', os.O_RDWR)",
    "names of own identity": "return os.open('/proc/self/uid_map', os.O_WRONLY)",
    "a device of its own": "return os.mknod('null', 0o600 | 0o020000, os.makedev(1, 3))",
})  # fmt: skip
WRITING += each("writing", {
    "move out": f"open('x', 'w').close(); return os.rename('x', {_OUT})",
    "link out": f"open('x', 'w').close(); return os.link('x', {_OUT})",
    "move out by a descriptor": """
        open('x', 'w').close()
        return os.rename('x', 'made', dst_dir_fd=os.open(t['folder'], os.O_PATH))
    """,
}, also=("EXDEV",))  # fmt: skip

_PIDS = ("host", "victim", "keeper", "zygote", "sibling")
PROCESSES: list[Attack] = []
for _who in _PIDS:
    PROCESSES += each("processes", {
        f"kill {_who}": f"return os.kill(t['{_who}'], 0)",
        f"tgkill {_who}": f"return raw(234, 131, t['{_who}'], t['{_who}'], 0)",
        f"tkill {_who}": f"return raw(200, 130, t['{_who}'], 0)",
        f"pidfd to {_who}": f"return signal.pidfd_send_signal(os.pidfd_open(t['{_who}']), 0)",
        f"/proc of {_who}": f"""
            return any_of(read, [f"/proc/{{t['{_who}']}}/{{name}}" for name in (
                'environ', 'mem', 'maps', 'cmdline', 'status', 'stat', 'syscall', 'stack', 'auxv')])
        """,
        f"links of {_who}": f"""
            return any_of(os.readlink, [f"/proc/{{t['{_who}']}}/{{name}}" for name in (
                'root', 'cwd', 'exe', 'fd/0', 'ns/net')])
        """,
        f"root of {_who}": f"return read(f\"/proc/{{t['{_who}']}}/root\" + t['secret'])",
        f"descriptors of {_who}": f"return os.listdir(f\"/proc/{{t['{_who}']}}/fd\")",
    })  # fmt: skip
    PROCESSES += each("processes", {
        f"peek at {_who}": f"return raw(101, 117, 2, t['{_who}'], 0, 0)",
        f"memory of {_who}": f"""
            mine = ctypes.create_string_buffer(8)
            local = struct.pack('@PN', ctypes.addressof(mine), 8)
            remote = struct.pack('@PN', id(None), 8)
            return raw(310, 270, t['{_who}'], local, 1, remote, 1, 0)
        """,
    }, filtered=True)  # fmt: skip
PROCESSES += each("processes", {
    "group of the host": "return os.killpg(t['host_group'], 0)",
    "init": "return os.kill(1, 0)",
    "environment of init": "return read('/proc/1/environ')",
    "list of processes": "return os.listdir('/proc')",
    "memory file of the host": "return read(f\"/proc/{t['host']}/fd/{t['memory_file']}\")",
})  # fmt: skip
PROCESSES += each("processes", {
    "own session": "return os.setsid()",
    "own group": "return os.setpgid(0, 0)",
    "signals by descriptor": "return fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, t['victim'])",
    "a signal of choice by descriptor": "return fcntl.fcntl(os.pipe()[0], 10, signal.SIGCONT)",
    "tracing its own child": """
        release, hold = os.pipe()
        child = os.fork()
        if not child:
            os.close(hold)
            os.read(release, 1)
            os._exit(0)
        try:
            return raw(101, 117, 0x4206, child, 0, 0)
        finally:
            os.close(hold)
            os.waitpid(child, 0)
    """,
    "to be traced": """
        child = os.fork()
        if not child:
            try:
                raw(101, 117, 0, 0, 0, 0)
            except OSError as error:
                os._exit(error.errno)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            raise OSError(code, '')
    """,
}, filtered=True)  # fmt: skip

PRIVILEGES = each("privileges", {
    "its own user again": "return os.setuid(os.getuid())",
    "its own group again": "return os.setgid(os.getgid())",
    "no groups": "return os.setgroups([])",
    "its own limits again": """
        try:
            return resource.setrlimit(resource.RLIMIT_NPROC, resource.getrlimit(resource.RLIMIT_NPROC))
        except ValueError as error:  # what Python makes of EPERM
            raise PermissionError(errno.EPERM, str(error)) from None
    """,
    "its own priority again": "return os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0))",
    "its own processors again": "return os.sched_setaffinity(0, os.sched_getaffinity(0))",
    "typing into a terminal": "return fcntl.ioctl(0, 0x5412, b'x')",
    "pasting into the console": "return fcntl.ioctl(0, 0x541C, b'\\x03')",
}, filtered=True)  # fmt: skip

ATTACKS = [*NETWORK, *PROGRAMS, *FILES, *WRITING, *PROCESSES, *PRIVILEGES, *RAW]
