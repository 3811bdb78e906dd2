"""What model-written code does every day, and no hardening may break. Each prints something."""

from __future__ import annotations

ALLOWED: dict[str, str] = {
    "threads": """
        import threading
        done = []
        threads = [threading.Thread(target=done.append, args=(n,)) for n in range(20)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(len(done))
    """,
    "a pool of threads": """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(8) as pool: print(sum(pool.map(abs, range(-20, 0))))
    """,
    "numpy": "import numpy as np\nprint(float(np.linalg.norm(np.ones((200, 200)) @ np.ones(200))) > 0)",
    "pandas": """
        import pandas as pd
        frame = pd.DataFrame({'a': ['x', 'y', 'x'], 'b': [1, 2, 3]})
        frame.to_csv('t.csv')
        print(pd.read_csv('t.csv').groupby('a').b.sum().to_dict())
    """,
    "polars": "import polars as pl\nprint(pl.DataFrame({'a': [1, 2]}).lazy().select(pl.col('a').sum()).collect().item())",
    "pyarrow": """
        import pyarrow as pa, pyarrow.parquet as pq
        pq.write_table(pa.table({'a': [1, 2]}), 't.parquet')
        print(pq.read_table('t.parquet').num_rows)
    """,
    "sqlite": "import sqlite3\nprint(sqlite3.connect(':memory:').execute('select sqlite_version()').fetchone())",
    "sqlite in a file": "import sqlite3\nwith sqlite3.connect('d.db') as d: d.execute('create table t(a)')\nprint(d.total_changes)",
    "late imports": "import xmlrpc.client, http.server, tomllib, imaplib, wave\nprint(tomllib.loads('a = 1'))",
    "asyncio.run": """
        import asyncio
        async def main():
            return await asyncio.gather(asyncio.sleep(0, 1), asyncio.to_thread(len, 'ab'))
        print(asyncio.run(main()))
    """,
    "mmap": "import mmap\nm = mmap.mmap(-1, 1 << 20)\nm.write(b'x')\nm.flush()\nprint(m[0])",
    "mmap of a file": """
        import mmap
        open('f', 'wb').write(bytes(5000))
        with open('f', 'r+b') as f, mmap.mmap(f.fileno(), 0) as m: m[0] = 7; m.flush()
        print(open('f', 'rb').read(1))
    """,
    "memfd": """
        import fcntl, os
        fd = os.memfd_create('x', os.MFD_ALLOW_SEALING)
        os.write(fd, b'12')
        fcntl.fcntl(fd, 1033, 8)
        print(os.pread(fd, 9, 0), fcntl.fcntl(fd, 1034))
    """,
    "fork": """
        import os
        reads, writes = os.pipe()
        child = os.fork()
        if not child:
            os.write(writes, b'from the child')
            os._exit(3)
        print(os.read(reads, 99), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """,
    "a child's pidfd": """
        import os, select, signal, time
        child = os.fork()
        if not child:
            time.sleep(60)
        fd = os.pidfd_open(child)
        signal.pidfd_send_signal(fd, signal.SIGKILL)
        print(select.select([fd], [], [], 9)[0] == [fd], os.waitpid(child, 0)[1])
    """,
    "signals to itself": """
        import os, signal, time
        got = []
        signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
        os.kill(os.getpid(), signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        print(got)
    """,
    "a timer": """
        import signal
        got = []
        signal.signal(signal.SIGALRM, lambda *_: got.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        signal.pause()
        print(got)
    """,
    "temporary files": """
        import os, tempfile
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile('w', dir=folder) as file:
            print(file.write('ab'), os.path.commonpath([folder, os.environ['TMPDIR']]) == os.environ['TMPDIR'])
    """,
    "files": """
        import os, pathlib, shutil
        path = pathlib.Path('a'); path.write_text('1'); path.write_text('2')
        os.makedirs('b/c'); shutil.copyfile('a', 'b/c/a'); os.replace('a', 'b/a'); os.symlink('b', 'l')
        shutil.make_archive('z', 'zip', 'b')
        shutil.unpack_archive('z.zip', 'd')
        print(sorted(str(p) for p in pathlib.Path('d').rglob('*')), pathlib.Path('l/c/a').read_text())
        shutil.rmtree('b')
    """,
    "socket pairs": "import socket\na, b = socket.socketpair()\na.send(b'hi')\nprint(b.recv(9))",
    "time zones": "import zoneinfo, datetime\nprint(datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('UTC')).utcoffset())",
    "random": "import os, secrets, random\nprint(len(os.urandom(8)), len(secrets.token_hex(4)), open('/dev/urandom', 'rb').read(1) != b'')",
}  # fmt: skip
