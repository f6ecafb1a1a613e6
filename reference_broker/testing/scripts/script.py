"""The inputs of a script: bytes of clients, an operator's policies, time, and syncs of the disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Connect:
    """A client connects, logs in, and opens ``channels``."""

    client: int
    channels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Send:
    """A client sends frames in one piece. ``about`` says which, for people."""

    client: int
    data: bytes
    about: str


@dataclass(frozen=True, slots=True)
class Disconnect:
    """A client's socket is gone."""

    client: int


@dataclass(frozen=True, slots=True)
class SetPolicy:
    """An operator sets a policy; one without a ``value`` is removed."""

    name: str
    value: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Wait:
    """Time passes."""

    milliseconds: int


@dataclass(frozen=True, slots=True)
class SyncDisk:
    """The disk has synced all that was logged so far."""


Input: TypeAlias = Connect | Send | Disconnect | SetPolicy | Wait | SyncDisk
