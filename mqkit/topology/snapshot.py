"""A snapshot of a broker's objects, read over its management HTTP API.

Left out is what no file declares: the default exchange and its bindings, and everything named
``amq.``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.topology.live.management import Management, NotAllowed, Row, open_management
from mqkit.topology.live.product import Product
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel

OBJECTS = ("exchanges", "queues", "bindings")
POLICIES = ("policies", "operator-policies")
REFUSALS = (
    *(HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND),
    HTTPStatus.METHOD_NOT_ALLOWED,
)
"""Of a question about policies, after the objects of the vhost have been told: this user may not
ask it, or this product has no such page."""


@dataclass(frozen=True, slots=True)
class LiveQueue:
    """A queue of the broker; ``None`` for a count that the broker has not gathered yet.

    ``messages`` are those ready and those unacked.
    """

    queue: Queue
    messages: int | None = None
    consumers: int | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The objects of one vhost, in the order of the broker's answers; policies by name.

    ``product`` is ``None`` where nobody said. ``unseen`` says, in words, what this user may not
    see. ``bound_besides`` are exchanges with a binding to a queue that the broker has named.
    """

    vhost: str
    exchanges: tuple[Exchange, ...] = ()
    queues: tuple[LiveQueue, ...] = ()
    bindings: tuple[Binding, ...] = ()
    policies: tuple[PolicyModel, ...] = ()
    operator_policies: tuple[PolicyModel, ...] = ()
    product: Product | None = None
    unseen: tuple[str, ...] = ()
    bound_besides: frozenset[str] = frozenset()

    @property
    def declarations(self) -> tuple[Declaration, ...]:
        """The declarations of all objects: exchanges, queues, bindings."""
        return (*self.exchanges, *(live.queue for live in self.queues), *self.bindings)

    @classmethod
    def of(cls, vhost: str, declarations: tuple[Declaration, ...]) -> Snapshot:
        """A broker that has exactly ``declarations``, all queues empty."""
        return cls(
            vhost,
            tuple(item for item in declarations if isinstance(item, Exchange)),
            tuple(LiveQueue(item, 0, 0) for item in declarations if isinstance(item, Queue)),
            tuple(item for item in declarations if isinstance(item, Binding)),
        )


async def take_snapshot(management_url: str, vhost: str, *, timeout_s: float = 10.0) -> Snapshot:
    """Read the topology of ``vhost`` from ``http://user:password@host:port``, or from ``https://``
    with what :mod:`mqkit.tls` knows behind a question mark.

    All of it within ``timeout_s`` seconds, or :exc:`~mqkit.errors.DeadlineExceeded`. Raises
    :exc:`~mqkit.errors.Unreachable` when nobody answers, and
    :exc:`~mqkit.errors.ConfigurationError` for a wrong URL, login or vhost. Messages never show
    the password. Policies that this user may not see are no error: ``unseen`` says so.
    """
    async with open_management(management_url, vhost, timeout_s=timeout_s) as management:
        return await read_snapshot(management)


async def read_snapshot(management: Management) -> Snapshot:
    """Like :func:`take_snapshot`, over an API that is open already."""
    rows = {kind: await management.rows(kind) for kind in OBJECTS}
    unseen = []
    for kind in POLICIES:
        try:
            rows[kind] = await management.rows(kind)
        except NotAllowed as refusal:
            if refusal.status not in REFUSALS:
                raise
            words = kind.replace("-", " ")
            unseen.append(f"{words} can't be seen by this user (HTTP status {refusal.status})")
            rows[kind] = []
    product = Product.of(await management.overview())
    try:
        return _snapshot(management.vhost, rows, product, tuple(unseen))
    except (KeyError, TypeError, ValueError) as error:
        raise management.strange(f" ({error!r})") from None


def _snapshot(
    vhost: str, rows: Mapping[str, list[Row]], product: Product, unseen: tuple[str, ...]
) -> Snapshot:
    return Snapshot(
        vhost,
        tuple(_exchange(row) for row in rows["exchanges"] if _is_declared(row["name"])),
        tuple(live_queue(row) for row in rows["queues"] if _is_declared(row["name"])),
        tuple(
            live_binding(row)
            for row in rows["bindings"]
            if row["source"] and _is_declared(row["destination"])
        ),
        _policies(rows["policies"]),
        _policies(rows["operator-policies"]),
        product,
        unseen,
        frozenset(row["source"] for row in rows["bindings"] if not _is_declared(row["destination"]))
        - {""},
    )


def _policies(rows: list[Row]) -> tuple[PolicyModel, ...]:
    """By name: the broker's order is by priority, and of equal ones any."""
    found = [
        PolicyModel(
            row["name"],
            row["pattern"],
            ApplyTo(row["apply-to"]),
            row["priority"],
            row["definition"],
        )
        for row in rows
    ]
    return tuple(sorted(found, key=lambda policy: policy.name))


def _is_declared(name: str) -> bool:
    return bool(name) and not name.startswith("amq.")


def _exchange(row: Row) -> Exchange:
    return Exchange(
        row["name"],
        type=row["type"],
        durable=row["durable"],
        auto_delete=row["auto_delete"],
        internal=row["internal"],
        arguments=row["arguments"],
    )


def live_queue(row: Row) -> LiveQueue:
    """A queue, as the management API shows it."""
    queue = Queue(
        row["name"],
        durable=row["durable"],
        exclusive=row.get("exclusive", False),
        auto_delete=row["auto_delete"],
        arguments=row["arguments"],
    )
    # A queue that is a few seconds old has no counts yet: RabbitMQ gathers them every 5 seconds.
    return LiveQueue(queue, row.get("messages"), row.get("consumers"))


def live_binding(row: Row) -> Binding:
    """A binding, as the management API shows it."""
    return Binding(
        row["source"],
        row["destination"],
        key=row["routing_key"],
        to_exchange=row["destination_type"] == "exchange",
        arguments=row["arguments"],
    )
