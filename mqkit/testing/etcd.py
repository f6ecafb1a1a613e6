"""Starts a private etcd for tests, of one member or several, on free ports of 127.0.0.1.

    with mqkit.testing.etcd(members=3) as etcd:
        etcd.kill(etcd.leader())

Its data lies in a temporary folder, and is gone with it. No etcd that somebody else runs is used:
tests stop its members.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from mqkit.errors import Unreachable
from mqkit.testing.etcd_member import EtcdMember, EtcdTls
from mqkit.testing.servers.free_ports import free_ports

START_TIMEOUT_S = 60.0
"""A member is up in about 1 s on an idle machine, once most of the others are there."""
POLL_INTERVAL_S = 0.05


class EtcdUnavailable(Unreachable):
    """No etcd could be started. The message says why: skip with it."""


class Etcd:
    """An etcd that is up. Members are numbered from 0; a method that is given none is for all."""

    def __init__(self, members: Sequence[EtcdMember]) -> None:
        self._members = members
        self._cluster = ",".join(f"{each.name}={each.peer_url}" for each in members)

    def __repr__(self) -> str:
        return f"Etcd({', '.join(self.endpoints)})"

    @property
    def endpoints(self) -> tuple[str, ...]:
        """The members' addresses for clients: ``http://127.0.0.1:PORT``."""
        return tuple(each.url for each in self._members)

    def start(self, *members: int) -> None:
        """Start members that were stopped or killed, with the data that they had, and return when
        they are up: that takes most of all members. Raises :exc:`EtcdUnavailable`."""
        chosen = self._chosen(members)
        for each in chosen:
            if each.has_ended():
                each.start(self._cluster)
        deadline = time.monotonic() + START_TIMEOUT_S
        for each in chosen:
            while not each.is_up():
                if each.has_ended() or time.monotonic() > deadline:
                    raise EtcdUnavailable(f"etcd did not start: {each.tail()}")
                time.sleep(POLL_INTERVAL_S)

    def stop(self, *members: int) -> None:
        """End members, as their operator would. Idempotent."""
        for each in self._chosen(members):
            each.stop()

    def kill(self, *members: int) -> None:
        """End members as a crash does. Idempotent."""
        for each in self._chosen(members):
            each.kill()

    def pause(self, *members: int) -> None:
        """Have members stand still: connections to them are made, and nothing is answered."""
        for each in self._chosen(members):
            each.signal(signal.SIGSTOP)

    def resume(self, *members: int) -> None:
        """Have paused members go on. Idempotent."""
        for each in self._chosen(members):
            each.signal(signal.SIGCONT)

    def leader(self) -> int:
        """The number of the member that leads. Waits until there is one; raises
        :exc:`EtcdUnavailable` if there is none for a minute."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            for number, each in enumerate(self._members):
                if not each.has_ended() and each.is_leader():
                    return number
            time.sleep(POLL_INTERVAL_S)
        raise EtcdUnavailable("etcd has no leader")

    def _chosen(self, members: Sequence[int]) -> Sequence[EtcdMember]:
        return [self._members[number] for number in members] if members else self._members


@contextmanager
def etcd(
    *,
    members: int = 1,
    tls: EtcdTls | None = None,
    progress_every_s: float | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Iterator[Etcd]:
    """An etcd of so many members for the time of the block; then its processes are ended, and its
    folder is removed.

    ``tls`` is for its clients. A watch that has nothing to tell says so each ``progress_every_s``
    seconds, and each 10 minutes without it.

    Raises :exc:`EtcdUnavailable` where there is no ``etcd`` on ``PATH``, or none that starts.
    """
    program = shutil.which("etcd", path=environ.get("PATH"))
    if program is None:
        raise EtcdUnavailable("no etcd for this test: there is no etcd on this machine")
    options: tuple[str, ...] = ()
    if progress_every_s is not None:
        interval = f"{max(1, round(progress_every_s * 1000))}ms"
        options = ("--experimental-watch-progress-notify-interval", interval)
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="mqkit-etcd-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        ports = free_ports(2 * members)
        made = Etcd(
            [
                EtcdMember(program, f"m{number}", folder / f"m{number}", pair, tls, options)
                for number, pair in enumerate(zip(ports[::2], ports[1::2], strict=True))
            ]
        )
        # Nobody needs the data, and a member takes its time to leave the others.
        stack.callback(made.kill)
        made.start()
        yield made
