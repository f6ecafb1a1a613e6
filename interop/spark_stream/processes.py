"""The processes of a session: those that a program of ours has started, and theirs."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

JAVA = "java"
DAEMON = "pyspark.daemon"


@dataclass(frozen=True, slots=True)
class Found:
    """A process of the session, with its command line."""

    pid: int
    parent: int
    command: str

    @property
    def is_java(self) -> bool:
        return Path(self.command.partition(" ")[0]).name == JAVA


def of_session(session: int) -> list[Found]:
    """The processes whose session is that of the process ``session``."""
    return [found for found, of in _all() if of == session]


def python_workers(session: int) -> list[Found]:
    """The Python workers of Spark: forked by a daemon whose parent is Java."""
    found = of_session(session)
    daemons = {each.pid for each in found if DAEMON in each.command}
    return [each for each in found if each.parent in daemons]


def kill(pid: int) -> None:
    """SIGKILL, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _all() -> Iterator[tuple[Found, int]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:  # it has ended meanwhile
            continue
        if fields[0] != "Z":
            yield Found(int(folder.name), int(fields[1]), command), int(fields[3])
