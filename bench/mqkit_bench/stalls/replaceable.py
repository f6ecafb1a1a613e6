"""Replaceable brokers: one that does not answer any more is killed, and another one started."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

from mqkit.testing.certificates import Authority
from mqkit.testing.rabbitmq_node import NodeTls
from mqkit_bench.broker.entrant import RABBITMQ, allow_many_connections, contestant_at
from mqkit_bench.contestant import Contestant
from mqkit_bench.data_folder import data_folder
from mqkit_bench.server import ReferenceServer, Server, rabbitmq_server, reference_server

Start: TypeAlias = Callable[[], AbstractContextManager[Server]]


class ReplaceableBroker:
    """A broker that ``start`` makes. Call :meth:`close`."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._stack = ExitStack()
        self._server: Server = self._stack.enter_context(start())
        self.name = self.contestant.name

    @property
    def contestant(self) -> Contestant:
        """The broker that runs now."""
        return self._server.contestant

    def replace(self) -> None:
        """Kill it, and start one that has none of its data."""
        self._server.kill()
        self._stack.close()
        self._server = self._stack.enter_context(self._start())

    def close(self) -> None:
        self._stack.close()


class RunningServer:
    """Somebody else's broker, which is not ours to end."""

    def __init__(self, contestant: Contestant) -> None:
        self.contestant = contestant

    def stop(self) -> None:
        """Raises :exc:`RuntimeError`, as the other two do."""
        raise RuntimeError(f"{self.contestant.name} does not answer, and has to be started anew")

    kill = start = stop


@contextmanager
def replaceable_brokers(others: Sequence[str]) -> Iterator[list[ReplaceableBroker]]:
    """The reference broker first, then each of ``others``.

    Raises ``typer.BadParameter`` for what is no ``name=url,management-url``, and what the starting
    of a broker raises.
    """
    allow_many_connections()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mqkit-bench-"))
        authority = Authority(Path(folder))
        files = authority.issue("server", "localhost", "127.0.0.1")
        tls = NodeTls(files.certificate, files.key, authority.path)
        brokers: list[ReplaceableBroker] = []
        starts: list[Start] = [partial(_reference, tls)]
        for name in others:
            private = partial(rabbitmq_server, tls)
            starts.append(private if name == RABBITMQ else _running(name))
        for start in starts:
            brokers.append(ReplaceableBroker(start))
            stack.callback(brokers[-1].close)
        yield brokers


@contextmanager
def _reference(tls: NodeTls) -> Iterator[ReferenceServer]:
    with data_folder() as folder, reference_server(folder, tls) as server:
        yield server


def _running(wish: str) -> Start:
    @contextmanager
    def start() -> Iterator[Server]:
        yield RunningServer(contestant_at(wish))

    return start
