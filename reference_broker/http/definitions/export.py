"""The definitions of a broker as a file in RabbitMQ's format, a portion at a time.

A user whose hash is argon2id is known to a RabbitMQ that imports the file, and can't log in there
until it is given a password: RabbitMQ has no such algorithm.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from starlette.requests import Request

from reference_broker.core.base.names import RESERVED_PREFIX
from reference_broker.core.base.vhost_info import UNDEFINED
from reference_broker.core.broker import Broker
from reference_broker.core.connection.handshake import PRODUCT, RABBITMQ_VERSION
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.exchange import DEFAULT_EXCHANGE, Exchange
from reference_broker.core.policy.policy import Policy, PolicyKind
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.topology import survives_restart
from reference_broker.core.vhost.vhost import VHost
from reference_broker.http.access.permissions import permission_rows, topic_permission_rows
from reference_broker.http.access.users import user_row
from reference_broker.http.access.vhosts import Placed, placed
from reference_broker.http.definitions.access import LIMITS_COMPONENT, LIMITS_NAME
from reference_broker.http.definitions.policies import operator_policy_row
from reference_broker.http.objects.bindings import is_bound
from reference_broker.http.policies.global_parameters import global_parameter_row
from reference_broker.http.policies.policies import policy_rank, policy_row
from reference_broker.http.request.answer import Row, encode
from reference_broker.http.request.json_value import json_value
from reference_broker.http.request.portions import encoded_rows, everything, in_order
from reference_broker.http.rows.rendering import binding_row, exchange_row


class _Section(NamedTuple):
    """A list of the file, which is rendered in portions."""

    name: str
    subjects: Iterable[Any]
    render: Callable[[Any], Row]
    is_there: Callable[[Any], bool] = everything
    order: Callable[[Any], Any] | None = None


def exported(broker: Broker, request: Request) -> AsyncIterator[bytes]:
    """All of the broker, as of this moment and without what goes meanwhile: every definition that a
    restart would find, and transient exchanges."""
    head: Row = {
        "rabbit_version": RABBITMQ_VERSION,
        "rabbitmq_version": RABBITMQ_VERSION,
        "product_name": PRODUCT,
        "product_version": broker.version,
    }
    vhosts = list(broker.vhosts.values())
    users = sorted(broker.users.all(), key=lambda user: user.name)
    sections = [
        _Section("users", users, user_row),
        _Section("vhosts", vhosts, _vhost_row),
        _Section("permissions", permission_rows(broker), _itself),
        _Section("topic_permissions", topic_permission_rows(broker), _itself),
        _Section("global_parameters", broker.global_parameters.items(), global_parameter_row),
        *_parameters_and_policies(vhosts),
        *_objects(vhosts, without=_OF_NO_FILE),
    ]
    return _pieces(request, head, sections)


def exported_vhost(vhost: VHost, request: Request) -> AsyncIterator[bytes]:
    """One virtual host, as of this moment and without what goes meanwhile. Its items don't name it,
    so that the file fits any other."""
    sections = [
        *_parameters_and_policies([vhost]),
        *_objects([vhost], without=("vhost", *_OF_NO_FILE)),
    ]
    return _pieces(request, {"rabbit_version": RABBITMQ_VERSION}, sections)


_OF_NO_FILE = ("properties_key",)
"""Columns of listings that files do not have."""


def _vhost_row(vhost: VHost) -> Row:
    """A virtual host. Labels are written where there are some, in the words of RabbitMQ 4."""
    info = vhost.info
    row: Row = {"name": vhost.name}
    if info.description or info.tags:
        row |= {"description": info.description, "tags": list(info.tags)}
    if info.default_queue_type != UNDEFINED:
        row["default_queue_type"] = info.default_queue_type
    return row


def _parameters_and_policies(vhosts: list[VHost]) -> list[_Section]:
    """The limits of virtual hosts, which RabbitMQ has among the parameters, and policies."""
    operators = placed(vhosts, lambda vhost: vhost.policies.of(PolicyKind.OPERATOR))
    limits = [vhost for vhost in vhosts if vhost.info.limits]
    return [
        _Section("parameters", [*limits, *sorted(operators, key=policy_rank)], _parameter_row),
        _Section(
            "policies",
            placed(vhosts, lambda vhost: vhost.policies.of(PolicyKind.USER)),
            lambda each: policy_row(each.item, each.vhost.name),
            order=policy_rank,
        ),
    ]


def _parameter_row(parameter: VHost | Placed[Policy]) -> Row:
    if isinstance(parameter, Placed):
        return operator_policy_row(parameter.item, parameter.vhost.name)
    return {
        "component": LIMITS_COMPONENT,
        "name": LIMITS_NAME,
        "vhost": parameter.name,
        "value": dict(parameter.info.limits),
    }


def _objects(vhosts: list[VHost], *, without: Sequence[str]) -> list[_Section]:
    def rendered(render: Callable[[Any, str], Row]) -> Callable[[Placed[Any]], Row]:
        return lambda each: {
            name: value
            for name, value in render(each.item, each.vhost.name).items()
            if name not in without
        }

    return [
        _Section("queues", placed(vhosts, _queues), rendered(_queue_row), _has_queue),
        _Section("exchanges", placed(vhosts, _exchanges), rendered(exchange_row), _has_exchange),
        _Section("bindings", placed(vhosts, _bindings), rendered(binding_row), _has_binding),
    ]


def _exchanges(vhost: VHost) -> list[Exchange]:
    return list(vhost.exchanges.values())


def _queues(vhost: VHost) -> list[Queue]:
    return list(vhost.queues.values())


def _bindings(vhost: VHost) -> list[Binding]:
    """The bindings that somebody has made."""
    exchanges = vhost.exchanges.values()
    held = [list(exchange.bindings.values()) for exchange in exchanges if exchange.bindings]
    return list(chain.from_iterable(held))


def _has_exchange(each: Placed[Exchange]) -> bool:
    """True for an exchange that is there and not the broker's own: every broker has those."""
    exchange = each.item
    return (
        exchange.name != DEFAULT_EXCHANGE
        and not exchange.name.startswith(RESERVED_PREFIX)
        and each.vhost.exchanges.get(exchange.name) is exchange
    )


def _has_queue(each: Placed[Queue]) -> bool:
    return not each.item.deleted and _is_exported(each.item)


def _has_binding(each: Placed[Binding]) -> bool:
    """True for a binding whose ends are both in the file or everywhere."""
    binding = each.item
    if not is_bound(each):
        return False
    return not binding.destination_is_queue or _is_exported(each.vhost.queues[binding.destination])


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


async def _pieces(
    request: Request, head: Row, sections: Iterable[_Section]
) -> AsyncIterator[bytes]:
    """The JSON object in pieces, a portion of work for each."""
    yield encode(head)[:-1]
    for section in sections:
        yield b"," + encode(section.name) + b":["
        subjects = section.subjects
        if section.order is not None:
            subjects = await in_order(request, subjects, section.order)
        before = b""
        async for rows in encoded_rows(request, subjects, section.render, section.is_there):
            if rows:
                yield before + b",".join(rows)
                before = b","
        yield b"]"
    yield b"}"


def _itself(row: Row) -> Row:
    return row
