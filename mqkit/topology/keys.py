"""The keys of a topology file as typed dictionaries, for :meth:`Topology.of`.

Type checkers know each key and its values; what they can't know (a duration's form, a range) is a
fault when the topology is made. docs/topology.md says what each key means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

BindKeys = TypedDict(
    "BindKeys",
    {"from": Required[str], "key": str, "arguments": Mapping[str, Any]},
    total=False,
)
"""A binding from the exchange ``from``."""

RetryKeys = TypedDict(
    "RetryKeys",
    {
        "after": Sequence[str],
        "from": str,
        "factor": float,
        "most": str,
        "times": int,
        "jitter": float,
        "errors": Mapping[str, str | Sequence[str]],
        "give_up_after": str,
        "then": Literal["park", "drop"],
        "park": str,
        "tiers": str,
    },
    total=False,
)
"""A retry policy: ``after``, or ``from`` and ``times``."""


class DeadLetterKeys(TypedDict, total=False):
    """The dead-letter target of a queue."""

    exchange: Required[str]
    key: str


class ExchangeKeys(TypedDict, total=False):
    """An exchange."""

    type: str
    durable: bool
    auto_delete: bool
    internal: bool
    external: bool
    alternate: str
    delays: Sequence[str]
    bind: Sequence[BindKeys]
    arguments: Mapping[str, Any]


class DepthKeys(TypedDict):
    """The bound of a queue beyond which there is an alert."""

    depth: int


class AlertKeys(TypedDict, total=False):
    """The bounds of a lot beyond which there is an alert."""

    depth: int
    age: str


class QueueKeys(TypedDict, total=False):
    """A queue."""

    type: Literal["classic", "quorum", "stream"]
    durable: bool
    exclusive: bool
    auto_delete: bool
    external: bool
    bind: Sequence[BindKeys]
    max_length: int
    max_length_bytes: int
    overflow: Literal["drop-head", "reject-publish", "reject-publish-dlx"]
    message_ttl: str
    expires: str
    max_priority: int
    dead_letter: DeadLetterKeys
    retry: RetryKeys
    via_policy: Sequence[str]
    alert: DepthKeys
    arguments: Mapping[str, Any]


class PolicyKeys(TypedDict, total=False):
    """A policy, with RabbitMQ's own names in its ``definition``."""

    pattern: Required[str]
    apply_to: Literal["all", "queues", "classic_queues", "quorum_queues", "streams", "exchanges"]
    priority: float
    definition: Required[Mapping[str, Any]]


class ReplayKeys(TypedDict):
    """A lot's replay by the clock."""

    every: str
    at_most: int


class ArchiveKeys(TypedDict):
    """A lot's archive by the clock."""

    after: str
    to: str


class LotKeys(TypedDict, total=False):
    """A lot: the work of the clock on its messages."""

    replay: ReplayKeys
    archive: ArchiveKeys
    alert: AlertKeys
