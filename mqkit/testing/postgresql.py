"""Finds a PostgreSQL for tests: one that is named, or a private cluster of its own.

1. ``MQKIT_TEST_POSTGRESQL_URL`` (``postgresql://USER:PASSWORD@HOST:PORT/NAME``): a database that
   somebody else runs. It is used as it is, and left as it is.
2. The newest installed package's programs (Debian's are not on ``PATH``), in a temporary folder and
   on a free port of 127.0.0.1. PostgreSQL does not run as root: as root, it runs as the package's
   user ``postgres``. Data is not synced to the disk, for it does not outlive the test; what a
   killed server had committed is there when it starts again all the same.

    with mqkit.testing.postgresql() as database:
        engine = create_engine(database.url("psycopg"))
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from mqkit.errors import Unreachable
from mqkit.testing.servers.free_ports import free_ports
from mqkit.testing.servers.package_user import NoPackageUser, as_package_user
from mqkit.url import redact

URL_VARIABLE = "MQKIT_TEST_POSTGRESQL_URL"
PACKAGED = Path("/usr/lib/postgresql")
PACKAGE_USER = "postgres"
DATABASE_USER = "mqkit"
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 20.0
POLL_INTERVAL_S = 0.05
LOG_TAIL_CHARACTERS = 600


class PostgreSQLUnavailable(Unreachable):
    """No PostgreSQL could be found or started. The message says why: skip with it."""


class PostgreSQL:
    """A PostgreSQL that is up; one that was started here can be killed, and started again."""

    def __init__(self, url: str, server: Server | None = None) -> None:
        self._url = url
        self.server = server

    def __repr__(self) -> str:
        return f"PostgreSQL({redact(self._url)!r})"

    def url(self, driver: str = "psycopg") -> str:
        """SQLAlchemy's URL with that driver: "psycopg", "asyncpg"."""
        return urlunsplit(urlsplit(self._url)._replace(scheme=f"postgresql+{driver}"))


class Server:
    """One cluster in one folder, on one port. :meth:`start` it, and :meth:`stop` it in the end."""

    def __init__(self, programs: Path, folder: Path, port: int, prefix: list[str]) -> None:
        self._programs = programs
        self._folder = folder
        self._prefix = prefix
        self._process: subprocess.Popen[bytes] | None = None
        self.port = port

    def start(self) -> None:
        """Start it, and return when it takes connections. Raises :exc:`PostgreSQLUnavailable`."""
        with open(self._folder / "output.txt", "ab") as output:
            self._process = subprocess.Popen(
                [
                    *(*self._prefix, str(self._programs / "postgres")),
                    *("-D", str(self._folder / "data")),
                    *("-c", "listen_addresses=127.0.0.1", "-p", str(self.port)),
                    *("-c", "unix_socket_directories=", "-c", "fsync=off"),
                ],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise PostgreSQLUnavailable(f"postgres did not start: {self._tail()}")
            time.sleep(POLL_INTERVAL_S)

    def kill(self) -> None:
        """End it as a crash does: every process of it is killed at once."""
        if self._process is not None:
            for group in (self._process.pid, *self._children(self._process.pid)):
                try:
                    os.kill(group, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self._process.wait(STOP_TIMEOUT_S)
            self._process = None

    def stop(self) -> None:
        """End it, without waiting for its clients. Idempotent."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(STOP_TIMEOUT_S)
            self._process = None
        except subprocess.TimeoutExpired:
            self.kill()

    def _is_ready(self) -> bool:
        answer = subprocess.run(
            [self._programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)],
            check=False,
        )
        return answer.returncode == 0

    def _children(self, parent: int) -> list[int]:
        """Each of its processes has a group of its own, so they are found by their parent."""
        found = []
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = status.read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            if int(fields[1]) == parent:
                found.append(int(status.parent.name))
        return found

    def _tail(self) -> str:
        text = (self._folder / "output.txt").read_text(errors="replace").strip()
        return text[-LOG_TAIL_CHARACTERS:] or "it printed nothing"


@contextmanager
def postgresql(environ: Mapping[str, str] = os.environ) -> Iterator[PostgreSQL]:
    """A PostgreSQL for the time of the block. Use it as a session-wide fixture.

    What had to be started is ended at the end of the block, and its folder removed. Raises
    :exc:`PostgreSQLUnavailable` when there is none.
    """
    if named := environ.get(URL_VARIABLE):
        yield PostgreSQL(named)
        return
    programs = _programs()
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="mqkit-postgresql-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        try:
            prefix = as_package_user(PACKAGE_USER, "postgres", folder)
        except NoPackageUser as why:
            raise PostgreSQLUnavailable(str(why)) from None
        _initialise(programs, folder, prefix)
        server = Server(programs, folder, free_ports(1)[0], prefix)
        stack.callback(server.stop)
        server.start()
        url = f"postgresql://{DATABASE_USER}@127.0.0.1:{server.port}/postgres"
        yield PostgreSQL(url, server)


def _programs() -> Path:
    versions = [path for path in PACKAGED.glob("*/bin") if (path / "initdb").exists()]
    if versions:
        return max(versions, key=lambda path: float(path.parent.name))
    found = shutil.which("initdb")
    if found is None:
        raise PostgreSQLUnavailable(
            f"no PostgreSQL for this test: {URL_VARIABLE} is not set, and there is no initdb on"
            " this machine"
        )
    return Path(found).resolve().parent


def _initialise(programs: Path, folder: Path, prefix: list[str]) -> None:
    made = subprocess.run(
        [
            *(*prefix, str(programs / "initdb"), "-D", str(folder / "data")),
            *("-U", DATABASE_USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise PostgreSQLUnavailable(f"initdb failed: {made.stderr[-LOG_TAIL_CHARACTERS:]}")
