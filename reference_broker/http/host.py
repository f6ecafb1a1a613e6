"""What the management API needs of the server that it runs in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from reference_broker.core.broker import Broker


class Listening(NamedTuple):
    """A socket that the server accepts connections on."""

    protocol: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Node:
    """What the core doesn't know of itself: the process around it.

    ``sync_count`` is how often the store has called fdatasync or fsync since the start.
    ``data_dir`` is ``None`` where nothing is kept on disk.
    """

    name: str
    started_at_ms: int
    data_dir: Path | None
    sync_count: int
    listening: tuple[Listening, ...]


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
