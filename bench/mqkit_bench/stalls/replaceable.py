"""Replaceable brokers: one that does not answer any more is killed, and another one started."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from mqkit_bench.broker.entrant import RABBITMQ, allow_many_connections, contestant_at
from mqkit_bench.contestant import Contestant
from mqkit_bench.data_folder import data_folder
from mqkit_bench.server import ReferenceServer, Server, rabbitmq_server, reference_server


class ReplaceableBroker:
    """A broker that ``start`` makes. Call :meth:`close`."""

    def __init__(self, start: Callable[[], AbstractContextManager[Server]]) -> None:
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
    starts = [_reference, *(_rabbitmq if name == RABBITMQ else _running(name) for name in others)]
    with ExitStack() as stack:
        brokers = []
        for start in starts:
            brokers.append(ReplaceableBroker(start))
            stack.callback(brokers[-1].close)
        yield brokers


@contextmanager
def _reference() -> Iterator[ReferenceServer]:
    with data_folder() as folder, reference_server(folder) as server:
        yield server


def _rabbitmq() -> AbstractContextManager[Server]:
    return rabbitmq_server()


def _running(wish: str) -> Callable[[], AbstractContextManager[Server]]:
    @contextmanager
    def start() -> Iterator[Server]:
        yield RunningServer(contestant_at(wish))

    return start
