"""Entrants: the contestants of a run, each with the way in which it sets a scenario up."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import typer

from mqkit.errors import ConfigurationError
from mqkit.url import parse
from mqkit_bench.broker.relay import NAME, relay_stage
from mqkit_bench.broker.scenario import Scenario
from mqkit_bench.broker.stage import Stage, stage
from mqkit_bench.broker.sync_mode import NO_DISK, REFERENCE, sync_mode
from mqkit_bench.contestant import Contestant
from mqkit_bench.data_folder import data_folder
from mqkit_bench.server import rabbitmq_server, reference_server
from mqkit_bench.session import Address, Session

RABBITMQ = "rabbitmq"
"""As ``--against``: the private node of this machine."""
LISTENING = "0A"
"""The state of a listening socket in /proc/net/tcp (TCP_LISTEN)."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """A contestant that can be given scenarios. ``contestant`` is ``None`` for the relay, which has
    a process for each stage."""

    name: str
    sync_mode: str
    set_up: Callable[[Scenario], AbstractContextManager[Stage]]
    contestant: Contestant | None = None

    def plays(self, scenario: Scenario) -> bool:
        """A relay knows one queue, and nothing of exchanges, deadlines or priorities."""
        return self.contestant is not None or scenario.is_plain

    def syncs(self) -> int | None:
        if self.contestant is None or not self.contestant.management_url:
            return None
        return self.contestant.syncs()


RELAY = Entrant(NAME, NO_DISK, relay_stage)


def entrant(contestant: Contestant, mode: str = "") -> Entrant:
    """That broker; what is not told of its syncs is looked up by what it says it is.

    Raises ``OSError`` when it doesn't answer.
    """
    if not mode:
        with closing(Session(contestant.address)) as session:
            mode = sync_mode(session.server_properties)
    return Entrant(contestant.name, mode, partial(stage, contestant), contestant)


@contextmanager
def entrants(against: Sequence[str], *, relay: bool) -> Iterator[list[Entrant]]:
    """The reference broker first, then each of ``against``, then the floor.

    Raises ``typer.BadParameter`` for what is no ``name=url[,management-url]``, and what the
    starting of a broker raises.
    """
    allow_many_connections()
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        ours = stack.enter_context(reference_server(folder)).contestant
        found = [entrant(ours, REFERENCE)]
        for wish in against:
            if wish == RABBITMQ:
                found.append(entrant(stack.enter_context(rabbitmq_server()).contestant))
            else:
                found.append(entrant(contestant_at(wish)))
        yield [*found, RELAY] if relay else found


def contestant_at(wish: str) -> Contestant:
    """A broker that runs already, as ``name=url[,management-url]``. Its process is the one that
    listens on the port, where that can be seen; else its CPU and memory are not told."""
    name, _, places = wish.partition("=")
    url, _, management_url = places.partition(",")
    try:
        endpoint = parse(url)
    except ConfigurationError as why:
        raise typer.BadParameter(f"--against {name}: {why}") from None
    if endpoint.vhost != "/" or endpoint.tls:
        raise typer.BadParameter(f"--against {name}: only amqp:// and the virtual host / are known")
    credentials = endpoint.credentials
    address = Address(endpoint.host, endpoint.port, credentials.username, credentials.password)
    return Contestant(name, address, management_url.rstrip("/"), listener(endpoint.port))


def listener(port: int) -> int:
    """The process that listens on a port of this machine; 0 when it can't be seen."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{fields[9]}]")
    for process in Path("/proc").glob("[0-9]*"):
        if not inodes.isdisjoint(_open_files(process)):
            return int(process.name)
    return 0


def _open_files(process: Path) -> Iterator[str]:
    """The targets of a process's file descriptors; none of a process that has ended, or is somebody
    else's."""
    try:
        descriptors = list((process / "fd").iterdir())
    except OSError:
        return
    for descriptor in descriptors:
        try:
            yield os.readlink(descriptor)
        except OSError:  # closed meanwhile
            continue


def allow_many_connections() -> None:
    """Allow this process as many file descriptors as the system does; the brokers started here
    inherit the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
