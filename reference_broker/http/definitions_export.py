"""The definitions of a broker as a file in RabbitMQ's format, a slice at a time.

A user is exported only if RabbitMQ could check the password: it takes the first four octets of a
hash for the salt, and gives an account without a hash a password that nobody knows.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, NamedTuple

from reference_broker.core.binding import Binding
from reference_broker.core.broker import Broker
from reference_broker.core.exchange import Exchange
from reference_broker.core.handshake import PRODUCT
from reference_broker.core.names import RESERVED_PREFIX
from reference_broker.core.queue import Queue
from reference_broker.core.topology import survives_restart
from reference_broker.core.users import User
from reference_broker.core.vhost import VHost
from reference_broker.http.answer import Row, encode
from reference_broker.http.definitions_beside import EVERYTHING
from reference_broker.http.definitions_policies import (
    exported_global_parameters,
    exported_policies,
)
from reference_broker.http.json_value import json_value
from reference_broker.http.listing import SLICE_ROWS
from reference_broker.http.overview import RABBITMQ_VERSION
from reference_broker.http.rendering import binding_row, exchange_row
from reference_broker.http.vhosts import Placed, placed

RABBITMQ_SALT_BYTES = 4
RABBITMQ_HASHING = "rabbit_password_hashing_sha256"


class _Section(NamedTuple):
    """A list of the file that is rendered a slice at a time."""

    name: str
    subjects: Sequence[Any]
    render: Callable[[Any], Row]


def exported(broker: Broker) -> AsyncIterator[bytes]:
    """All of the broker, as of this moment: what a restart would find, and transient exchanges."""
    return _pieces(_head(broker), _sections(list(broker.vhosts.values()), without=_OF_NO_FILE))


def exported_vhost(vhost: VHost) -> AsyncIterator[bytes]:
    """One virtual host. Its items don't name it, so that the file fits any other."""
    head: Row = {"rabbit_version": RABBITMQ_VERSION, **exported_policies([vhost])}
    return _pieces(head, _sections([vhost], without=("vhost", *_OF_NO_FILE)))


_OF_NO_FILE = ("properties_key",)
"""What listings have, and files have not."""


def _head(broker: Broker) -> Row:
    """What stands before the large sections."""
    users = [user for user in broker.users.all() if _is_checkable_by_rabbitmq(user)]
    return {
        "rabbit_version": RABBITMQ_VERSION,
        "rabbitmq_version": RABBITMQ_VERSION,
        "product_name": PRODUCT,
        "product_version": broker.version,
        "users": [_user_row(user) for user in users],
        "vhosts": [{"name": name} for name in broker.vhosts],
        "permissions": [
            {"user": user.name, "vhost": vhost}
            | dict.fromkeys(("configure", "write", "read"), EVERYTHING)
            for user in users
            for vhost in broker.vhosts
        ],
        "topic_permissions": [],
        **exported_global_parameters(broker.global_parameters),
        **exported_policies(list(broker.vhosts.values())),
    }


def _is_checkable_by_rabbitmq(user: User) -> bool:
    return len(user.password.salt) == RABBITMQ_SALT_BYTES


def _user_row(user: User) -> Row:
    hashed = user.password.salt + user.password.digest
    return {
        "name": user.name,
        "password_hash": base64.b64encode(hashed).decode(),
        "hashing_algorithm": RABBITMQ_HASHING,
        "tags": list(user.tags),
        "limits": {},
    }


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
    """All but the broker's own: every broker has those."""
    return [
        exchange
        for exchange in vhost.exchanges.values()
        if exchange.name and not exchange.name.startswith(RESERVED_PREFIX)
    ]


def _queues(vhost: VHost) -> list[Queue]:
    return [queue for queue in vhost.queues.values() if _is_exported(queue)]


def _bindings(vhost: VHost) -> Iterable[Binding]:
    """What somebody has bound, as far as both ends are in the file or everywhere."""
    for exchange in vhost.exchanges.values():
        for binding in exchange.bindings.values():
            to_queue = binding.destination_is_queue
            if not to_queue or _is_exported(vhost.queues[binding.destination]):
                yield binding


def _is_exported(queue: Queue) -> bool:
    """A name that the broker gave is not in a file: nobody may declare it."""
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
    """The JSON object. The loop has its turn between slices."""
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
