"""The server as the management API sees it: its sockets, its store, its process."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from reference_broker.core.broker import Broker


class ListenerTls(NamedTuple):
    """The TLS of a listening socket: its files, and when the certificates in them expire."""

    certificate: Path
    key: Path
    authority: Path | None
    versions: tuple[str, ...]
    verifies: bool
    """Clients' certificates are verified, where clients show one."""
    requires: bool
    """Clients have to show a certificate."""
    certificate_expiries: tuple[datetime, ...]
    authority_expiries: tuple[datetime, ...]


class Listening(NamedTuple):
    """A socket that the server accepts connections on."""

    protocol: str
    host: str
    port: int
    tls: ListenerTls | None = None


class StoreDamage(NamedTuple):
    """Records that had been synced and could not be read. All zeros: nothing is known to be
    lost."""

    lost_messages: int = 0
    """Upper bound of the messages that are lost: where nobody can tell whether a message was acked,
    it counts."""
    quarantined_bytes: int = 0
    quarantined_files: int = 0
    missing_segments: int = 0
    unreadable_reads: int = 0
    """Messages that the index had, and that could not be read when they were wanted."""


NO_DAMAGE = StoreDamage()


@dataclass(frozen=True, slots=True)
class Node:
    """The process around the core.

    ``sync_count`` is how often the store has called fdatasync or fsync since the start.
    ``data_dir`` is ``None`` where nothing is kept on disk.
    ``longest_turn_ms`` is the processor time of the longest turn of the loop since the start, and
    ``longest_turn_cause`` what took most of it.
    ``store_damage`` counts what the store could not read, at the start and since.
    """

    name: str
    started_at_ms: int
    data_dir: Path | None
    sync_count: int
    listening: tuple[Listening, ...]
    store_damage: StoreDamage = NO_DAMAGE
    disk_free_limit_bytes: int = 0
    longest_turn_ms: float = 0.0
    longest_turn_cause: str = ""
    running: bool = True
    """False while the node is paused and accepts no AMQP connection."""
    paused_for: str = ""
    """The reason why it is not running, where there is one."""
    draining: bool = False
    """It accepts no AMQP connection either, and gets no queues: it is about to be stopped."""


class Host(Protocol):
    """The server, as the management API sees it."""

    broker: Broker

    def now(self) -> tuple[float, int]:
        """Monotonic seconds, and wall-clock milliseconds."""
        ...

    def input_handled(self) -> None:
        """The core was given something: there may be something to flush."""
        ...

    def node(self) -> Node:
        """The process, as it is just now. Cheap."""
        ...


class NodeHost(Protocol):
    """The server, where it has a process of its own, as operators steer it."""

    async def pause(self) -> None:
        """Accept no AMQP connection any more, and close those that there are (320). What is stored
        stays. Idempotent."""
        ...

    async def resume(self) -> None:
        """Accept connections again, where they were accepted before; a node that is cut off from
        its cluster does so when it reaches that. Idempotent. Raises ``OSError`` when somebody else
        has the address."""
        ...

    async def drain(self) -> None:
        """Accept no AMQP connection any more, close those that there are (320) in portions, and
        tell the other nodes of the cluster; returns when all that is done, which is an etcd away.
        Queues go on serving the clients of other nodes. Idempotent."""
        ...

    async def revive(self) -> None:
        """End draining. Idempotent. Raises ``OSError`` when somebody else has the address."""
        ...

    def set_disk_free_limit(self, limit_bytes: int) -> None:
        """Put another limit in force: with less free on the disk of the data folder publishers are
        blocked."""
        ...
