"""A topology as a person thinks of it: exchanges, queues, and what becomes of failures.

All values are frozen. What a broker is told is compiled from them
(:mod:`mqkit.topology.compile`); each remembers the line that it came from, for faults that show
only when the parts are seen together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from mqkit.retry.policy import RetryPolicy
from mqkit.topology.lot_model import AlertModel, LotModel
from mqkit.topology.policy.policy_model import PolicyModel

if TYPE_CHECKING:
    from mqkit.topology.keys import ExchangeKeys, LotKeys, PolicyKeys, QueueKeys


class QueueType(StrEnum):
    """``x-queue-type``."""

    CLASSIC = "classic"
    QUORUM = "quorum"
    STREAM = "stream"


class Overflow(StrEnum):
    """``x-overflow``: what a full queue does."""

    DROP_HEAD = "drop-head"
    REJECT_PUBLISH = "reject-publish"
    REJECT_PUBLISH_DLX = "reject-publish-dlx"


@dataclass(frozen=True, slots=True)
class Bind:
    """A binding from the exchange ``source``; ``arguments`` are for headers exchanges."""

    source: str
    key: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """The dead-letter target of a queue; without ``key`` a message keeps its own routing key."""

    exchange: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ExchangeModel:
    """An exchange. ``external`` ones are somebody else's: referred to, never declared.

    ``delays`` are the times, in milliseconds, that messages for it may wait before they are routed
    (:mod:`mqkit.delay`).
    """

    name: str
    type: str = "direct"
    durable: bool = True
    auto_delete: bool = False
    internal: bool = False
    external: bool = False
    alternate: str | None = None
    delays: tuple[int, ...] = ()
    bind: tuple[Bind, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    line: int = field(default=0, compare=False)
    key_lines: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)

    def line_of(self, *keys: str) -> int:
        """The line of the first of ``keys`` that the file has, else the object's own."""
        return next((self.key_lines[key] for key in keys if key in self.key_lines), self.line)


@dataclass(frozen=True, slots=True)
class QueueModel:
    """A queue. ``None`` means "not said". ``arguments`` go to the broker as they are; the keys that
    ``via_policy`` lists become a policy of the queue's own."""

    name: str
    type: QueueType | None = None
    durable: bool = True
    exclusive: bool = False
    auto_delete: bool = False
    external: bool = False
    max_length: int | None = None
    max_length_bytes: int | None = None
    overflow: Overflow | None = None
    message_ttl_ms: int | None = None
    expires_ms: int | None = None
    max_priority: int | None = None
    dead_letter: DeadLetter | None = None
    retry: RetryPolicy | None = None
    via_policy: tuple[str, ...] = ()
    alert: AlertModel | None = None
    bind: tuple[Bind, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    line: int = field(default=0, compare=False)
    key_lines: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)

    def line_of(self, *keys: str) -> int:
        """The line of the first of ``keys`` that the file has, else the object's own."""
        return next((self.key_lines[key] for key in keys if key in self.key_lines), self.line)

    @property
    def has_parking_lot(self) -> bool:
        """True if the queue's retry policy ends in a parking lot."""
        return self.retry is not None and self.retry.parks

    @property
    def parking_lot(self) -> str | None:
        """The name of the parking lot in which the retry policy ends, if it ends in one."""
        return self.retry.names.lot(self.name) if self.retry and self.retry.parks else None

    @property
    def tiers(self) -> Mapping[str, int]:
        """The names of the retry tiers, with their milliseconds, shortest first."""
        if self.retry is None:
            return {}
        return {self.retry.names.tier(self.name, after): after for after in self.retry.tiers}

    @property
    def is_limited(self) -> bool:
        """True if the queue has a length limit of the model's (not a raw argument)."""
        return self.max_length is not None or self.max_length_bytes is not None


@dataclass(frozen=True, slots=True)
class Topology:
    """Everything that one file declares, in its order. ``file`` is for messages only."""

    exchanges: tuple[ExchangeModel, ...] = ()
    queues: tuple[QueueModel, ...] = ()
    vhost: str | None = None
    file: str = field(default="topology", compare=False)
    policies: tuple[PolicyModel, ...] = ()
    lots: tuple[LotModel, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        queues: Mapping[str, QueueKeys | None] | None = None,
        exchanges: Mapping[str, ExchangeKeys | None] | None = None,
        vhost: str | None = None,
        policies: Mapping[str, PolicyKeys] | None = None,
        lots: Mapping[str, LotKeys] | None = None,
    ) -> Topology:
        """The same as a file that says so: dictionaries with the keys of docs/topology.md.

        Text has no variables here. Raises :exc:`~mqkit.errors.TopologyError` with every fault, each
        with its path in place of a line.
        """
        from mqkit.topology.file.values import topology_of  # most topologies come from files

        return topology_of(
            {
                "vhost": vhost,
                "exchanges": exchanges,
                "queues": queues,
                "policies": policies,
                "lots": lots,
            }
        )

    def exchange(self, name: str) -> ExchangeModel | None:
        """The exchange of that name, if the file has it."""
        return next((exchange for exchange in self.exchanges if exchange.name == name), None)

    def queue(self, name: str) -> QueueModel | None:
        """The queue of that name, if the file has it."""
        return next((queue for queue in self.queues if queue.name == name), None)

    def lot(self, name: str) -> LotModel | None:
        """The lot of that name under ``lots:``, if the file has it."""
        return next((lot for lot in self.lots if lot.name == name), None)
