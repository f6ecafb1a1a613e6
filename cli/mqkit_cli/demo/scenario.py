"""The scenario of a demo run: messages, the queues that they must reach, and faults. Decided before
anything starts.

records + topology + exchange + a way to make keys  ->  Scenario, or one line that says why not
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import Formatter

from mqkit.message import Message, Properties
from mqkit.topology import ExchangeModel, QueueModel, QueueType, Topology
from mqkit_cli.demo.faults import Faults
from mqkit_cli.demo.journal import Entry
from mqkit_cli.demo.records import Record
from mqkit_cli.demo.routes import DEFAULT_EXCHANGE, Routes
from mqkit_cli.errors import CommandError

WAREHOUSE = "warehouse"
"""The queue that the Spark job fills: the topology's queue of that name, if nothing else comes into
it."""

OWN_WAREHOUSE = "mqkit.demo.warehouse"
"""The queue that is added for it otherwise."""

LATE_MINUTES = 15
"""From here on the Bureau of Transportation Statistics counts a flight as delayed."""

KEY_BYTES_MAX = 255
"""A routing key is a short string (AMQP 0-9-1, section 4.2.5.3)."""

KeyOf = Callable[[int, Record], str]
"""Makes the routing key of a record from its number (from 0) and its fields."""


@dataclass(frozen=True, slots=True)
class Item:
    """A message, and the queues that it must arrive in."""

    message: Message
    queues: tuple[str, ...]

    @property
    def message_id(self) -> str:
        return self.message.properties.message_id or ""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that a run needs to know. ``numbers`` gives a message's number by its id."""

    topology: Topology
    exchange: str
    items: tuple[Item, ...]
    warehouse: str
    numbers: Mapping[str, int]

    @property
    def queues(self) -> tuple[QueueModel, ...]:
        """The queues that messages arrive in, in the file's order."""
        reached = {queue for item in self.items for queue in item.queues}
        return tuple(queue for queue in self.topology.queues if queue.name in reached)

    @property
    def expected(self) -> frozenset[Entry]:
        """Every queue with every id that must be processed there."""
        return frozenset((queue, item.message_id) for item in self.items for queue in item.queues)

    @property
    def incurable(self) -> frozenset[Entry]:
        """The expected messages that fail until the bug is fixed."""
        faults = {queue.name: Faults(queue.retry) for queue in self.queues}
        return frozenset(
            (queue, identity)
            for queue, identity in self.expected
            if faults[queue].fails_for_ever(self.numbers[identity])
        )


def make_scenario(
    records: Sequence[Record],
    topology: Topology,
    *,
    exchange: str | None,
    key_of: KeyOf | None,
    prefix: str,
) -> Scenario:
    """The scenario of ``records``, sent to ``exchange`` (or the file's first one) under the keys
    of ``key_of`` (or keys that fit the bindings, queue by queue). Ids are ``prefix`` and a number.

    Raises :exc:`~mqkit_cli.errors.CommandError` for what can't work, with what to change.
    """
    # The demo's broker is its own, and has one vhost.
    topology = replace(topology, vhost=None)
    target = _exchange(topology, exchange)
    routes = Routes(topology)
    make_key = key_of or cycling_keys(routes, target)
    items = []
    for number, record in enumerate(records):
        key = make_key(number, record)
        queues = routes.queues(target, key)
        if not queues:
            raise CommandError(
                f"{record.place}: no queue of {topology.file} takes the routing key {key!r} from"
                f" exchange {target!r} (bind one, or choose keys with --routing-key)"
            )
        properties = Properties(
            content_type="application/json", message_id=f"{prefix}-{number:06d}"
        )
        items.append(Item(Message(target, key, record.body, properties), queues))
    topology, warehouse = _with_warehouse(topology)
    numbers = {item.message_id: number for number, item in enumerate(items)}
    scenario = Scenario(topology, target, tuple(items), warehouse, numbers)
    _check_survival(scenario)
    return scenario


def flight_key(_: int, record: Record) -> str:
    """``DTW.late`` or ``DTW.ontime``: the key of a record of ``examples/flights``."""
    is_late = record.fields["delay"] >= LATE_MINUTES
    return f"{record.fields['origin']}.{'late' if is_late else 'ontime'}"


def template_keys(template: str) -> KeyOf:
    """Keys from a template like ``{origin}.late`` or ``{properties.magType}.x``, whose names are
    fields of the record, and of the objects in it."""
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise CommandError(f"--routing-key {template!r}: {error}") from None
    if any(spec or (name is not None and not _is_path(name)) for _, name, spec, _ in parts):
        raise CommandError(
            f"--routing-key {template!r}: expected text with names of fields, like {{origin}}.late"
            " or {properties.kind}.late"
        )

    def key_of(_: int, record: Record) -> str:
        key = "".join(text + _field(record, name) for text, name, _, _ in parts)
        # A lone surrogate is all that JSON can say and UTF-8 can't.
        if len(key.encode(errors="surrogatepass")) > KEY_BYTES_MAX or not _is_text(key):
            raise CommandError(
                f"{record.place}: the routing key is not text of at most {KEY_BYTES_MAX} bytes"
            )
        return key

    return key_of


def cycling_keys(routes: Routes, exchange: str) -> KeyOf:
    """Keys that fit the bindings of ``exchange``, so that every queue gets its share."""
    keys = routes.example_keys(exchange)
    if not keys:
        raise CommandError(
            f"nothing that exchange {exchange!r} of {routes.topology.file} gets would reach a queue"
            " by its routing key (bind a queue to it, or name another with --exchange)"
        )
    return lambda number, _: keys[number % len(keys)]


def _is_path(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _field(record: Record, name: str | None) -> str:
    if name is None:
        return ""
    value: object = record.fields
    for part in name.split("."):
        fields = value if isinstance(value, Mapping) else {}
        if part not in fields:
            known = ", ".join(map(str, fields)) or "none: it is not an object"
            raise CommandError(
                f"{record.place}: no field {name!r} for the routing key (has: {known})"
            )
        value = fields[part]
    return str(value)


def _is_text(key: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in key)


def _exchange(topology: Topology, wanted: str | None) -> str:
    names = [exchange.name for exchange in topology.exchanges if not exchange.internal]
    if wanted is None:
        return names[0] if names else DEFAULT_EXCHANGE
    if wanted != DEFAULT_EXCHANGE and wanted not in names:
        known = ", ".join(map(repr, names)) or "none"
        raise CommandError(
            f"{topology.file} has no exchange {wanted!r} that takes publishes (it has: {known})"
        )
    return wanted


def _with_warehouse(topology: Topology) -> tuple[Topology, str]:
    queue = topology.queue(WAREHOUSE)
    if queue is not None and not queue.bind and not queue.is_limited and _problem(queue) is None:
        return topology, WAREHOUSE
    return (
        replace(topology, queues=(*topology.queues, QueueModel(OWN_WAREHOUSE))),
        OWN_WAREHOUSE,
    )


def _check_survival(scenario: Scenario) -> None:
    """The broker is killed in the middle: what could not survive that is refused, not counted."""
    topology = scenario.topology
    for what, models in (("queue", scenario.queues), ("exchange", topology.exchanges)):
        for model in models:
            if (problem := _problem(model)) is not None:
                place = f"{topology.file}:{model.line}" if model.line else topology.file
                raise CommandError(f"{place}: {what} {model.name!r} {problem}")


def _problem(model: QueueModel | ExchangeModel) -> str | None:
    """The reason why the ledger could not vouch for the messages of ``model``; ``None`` if it
    can."""
    if model.external:
        return "is external: the demo's broker is its own and has not got it"
    if not model.durable:
        return "is not durable: the demo kills its broker, and the messages would be gone"
    if model.auto_delete:
        return "is deleted by itself when the demo's broker is killed (auto_delete)"
    if isinstance(model, QueueModel):
        if model.exclusive:
            return "is exclusive: it ends with its connection, and the demo kills its broker"
        if model.type is QueueType.STREAM:
            return "is a stream, which has no retries and no parking lot to show"
        loses = model.message_ttl_ms is not None or model.expires_ms is not None
        if loses and not model.has_parking_lot:
            return "lets messages expire and has no parking lot: the ledger would call them lost"
    return None
