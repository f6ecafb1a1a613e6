"""The definitions of a broker as a file in RabbitMQ's format, a slice at a time.

A user whose hash is argon2id is known to a RabbitMQ that imports the file, and can't log in there
until it is given a password: RabbitMQ has no such algorithm.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, NamedTuple

from reference_broker.core.base.names import RESERVED_PREFIX
from reference_broker.core.base.vhost_info import UNDEFINED
from reference_broker.core.broker import Broker
from reference_broker.core.connection.handshake import PRODUCT, RABBITMQ_VERSION
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.exchange import Exchange
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.topology import survives_restart
from reference_broker.core.vhost.vhost import VHost
from reference_broker.http.access.permissions import permission_rows, topic_permission_rows
from reference_broker.http.access.users import user_row
from reference_broker.http.access.vhosts import Placed, placed
from reference_broker.http.definitions.access import LIMITS_COMPONENT, LIMITS_NAME
from reference_broker.http.definitions.policies import (
    exported_global_parameters,
    exported_policies,
)
from reference_broker.http.request.answer import Row, encode
from reference_broker.http.request.json_value import json_value
from reference_broker.http.request.listing import SLICE_ROWS
from reference_broker.http.rows.rendering import binding_row, exchange_row


class _Section(NamedTuple):
    """A list of the file that is rendered a slice at a time."""

    name: str
    subjects: Sequence[Any]
    render: Callable[[Any], Row]


def exported(broker: Broker) -> AsyncIterator[bytes]:
    """All of the broker, as of this moment: every definition that a restart would find, and
    transient exchanges."""
    return _pieces(_head(broker), _sections(list(broker.vhosts.values()), without=_OF_NO_FILE))


def exported_vhost(vhost: VHost) -> AsyncIterator[bytes]:
    """One virtual host, as of this moment. Its items don't name it, so that the file fits any
    other."""
    head: Row = {"rabbit_version": RABBITMQ_VERSION, **_parameters_and_policies([vhost])}
    return _pieces(head, _sections([vhost], without=("vhost", *_OF_NO_FILE)))


_OF_NO_FILE = ("properties_key",)
"""Columns of listings that files do not have."""


def _head(broker: Broker) -> Row:
    """The sections before the large ones."""
    users = sorted(broker.users.all(), key=lambda user: user.name)
    return {
        "rabbit_version": RABBITMQ_VERSION,
        "rabbitmq_version": RABBITMQ_VERSION,
        "product_name": PRODUCT,
        "product_version": broker.version,
        "users": [user_row(user) for user in users],
        "vhosts": [_vhost_row(vhost) for vhost in broker.vhosts.values()],
        "permissions": permission_rows(broker),
        "topic_permissions": topic_permission_rows(broker),
        **exported_global_parameters(broker.global_parameters),
        **_parameters_and_policies(list(broker.vhosts.values())),
    }


def _vhost_row(vhost: VHost) -> Row:
    """A virtual host. Labels are written where there are some, in the words of RabbitMQ 4."""
    info = vhost.info
    row: Row = {"name": vhost.name}
    if info.description or info.tags:
        row |= {"description": info.description, "tags": list(info.tags)}
    if info.default_queue_type != UNDEFINED:
        row["default_queue_type"] = info.default_queue_type
    return row


def _parameters_and_policies(vhosts: list[VHost]) -> Row:
    sections = exported_policies(vhosts)
    return {**sections, "parameters": [*_limits(vhosts), *sections["parameters"]]}


def _limits(vhosts: Iterable[VHost]) -> list[Row]:
    """The limits of virtual hosts, which RabbitMQ has among the parameters."""
    return [
        {
            "component": LIMITS_COMPONENT,
            "name": LIMITS_NAME,
            "vhost": vhost.name,
            "value": dict(vhost.info.limits),
        }
        for vhost in vhosts
        if vhost.info.limits
    ]


def _sections(vhosts: list[VHost], *, without: Sequence[str]) -> list[_Section]:
    def rendered(render: Callable[[Any, str], Row]) -> Callable[[Placed[Any]], Row]:
        return lambda each: {
            name: value
            for name, value in render(each.item, each.vhost.name).items()
            if name not in without
        }

    return [
        _Section("queues", placed(vhosts, _queues), rendered(_queue_row)),
        _Section("exchanges", placed(vhosts, _exchanges), rendered(exchange_row)),
        _Section("bindings", placed(vhosts, _bindings), rendered(binding_row)),
    ]


def _exchanges(vhost: VHost) -> list[Exchange]:
    """All exchanges but the broker's own: every broker has those."""
    return [
        exchange
        for exchange in vhost.exchanges.values()
        if exchange.name and not exchange.name.startswith(RESERVED_PREFIX)
    ]


def _queues(vhost: VHost) -> list[Queue]:
    return [queue for queue in vhost.queues.values() if _is_exported(queue)]


def _bindings(vhost: VHost) -> Iterable[Binding]:
    """The bindings that somebody has made, as far as both ends are in the file or everywhere."""
    for exchange in vhost.exchanges.values():
        for binding in exchange.bindings.values():
            to_queue = binding.destination_is_queue
            if not to_queue or _is_exported(vhost.queues[binding.destination]):
                yield binding


def _is_exported(queue: Queue) -> bool:
    """False for a queue whose name the broker gave: nobody may declare such a name."""
    return survives_restart(queue) and not queue.name.startswith(RESERVED_PREFIX)


def _queue_row(queue: Queue, vhost: str) -> Row:
    return {
        "name": queue.name,
        "vhost": vhost,
        "durable": queue.durable,
        "auto_delete": queue.auto_delete,
        "arguments": json_value(queue.arguments),
    }


async def _pieces(head: Row, sections: Iterable[_Section]) -> AsyncIterator[bytes]:
    """The JSON object in pieces. The loop has its turn between slices."""
    yield encode(head)[:-1]
    for section in sections:
        before = b"," + encode(section.name) + b":["
        for start in range(0, len(section.subjects), SLICE_ROWS):
            subjects = section.subjects[start : start + SLICE_ROWS]
            yield before + encode([section.render(subject) for subject in subjects])[1:-1]
            before = b","
            await asyncio.sleep(0)
        yield b"]" if section.subjects else before + b"]"
    yield b"}"
