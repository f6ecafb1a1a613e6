"""The definitions of a broker, and those that are in its log, read inside."""

from __future__ import annotations

from collections.abc import Mapping

from reference_broker.core.broker import Broker
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.definitions import (
    decode_binding,
    decode_exchange,
    decode_queue,
)
from reference_broker.core.exchange.exchange import Exchange
from reference_broker.core.journal.definition_keys import BINDING, EXCHANGE, QUEUE, key_prefix
from reference_broker.core.policy.policy import Policy, PolicyKind
from reference_broker.core.policy.policy_definition import stored_policies
from reference_broker.core.vhost.topology import survives_restart
from reference_broker.core.vhost.vhost import VHost
from reference_broker.simulation.events import definitions
from reference_broker.simulation.events.definitions import Definition, Definitions, Key
from reference_broker.store import Log
from reference_broker.store.doctor.queue_names import queue_names


def of_vhost(vhost: VHost) -> dict[Key, Definition]:
    """All that is defined in a virtual host, but for what every virtual host begins with."""
    found = [
        *(_of_exchange(each) for each in vhost.exchanges.values() if not _is_predeclared(each)),
        *(_of_binding(each) for each in vhost.bindings() if each.source),
        *(_of_policy(each) for kind in PolicyKind for each in vhost.policies.of(kind)),
    ]
    for queue in vhost.queues.values():
        lasts = survives_restart(queue)
        found.append(
            definitions.queue(
                queue.name, queue.arguments, durable=lasts, auto_delete=queue.auto_delete
            )
        )
    return {each.key: each for each in found}


def durable_of(broker: Broker) -> dict[Key, Definition]:
    """All that is durable in any virtual host of a broker, each with its virtual host's name before
    its key."""
    return {
        (vhost.name, *key): each
        for vhost in broker.vhosts.values()
        for key, each in of_vhost(vhost).items()
        if each.durable
    }


def logged_of(broker: Broker, logged: Mapping[str, bytes]) -> Definitions:
    """The same for the definitions that are in a log, of the virtual hosts of ``broker``."""
    return {
        (name, *key): each
        for name in broker.vhosts
        for key, each in _logged_in(name, logged).items()
    }


def logged_queue_ids(broker: Broker) -> set[int]:
    """The ids of the queues, inner queues included, whose definitions the log of a broker has: as
    soon as it is synced, a start finds those."""
    log = broker.journal
    assert isinstance(log, Log)
    return set(queue_names(log._definitions.values))


def _logged_in(vhost: str, logged: Mapping[str, bytes]) -> dict[Key, Definition]:
    found = [_of_exchange(decode_exchange(each)) for each in _values(EXCHANGE, vhost, logged)]
    found += [_of_binding(decode_binding(each)) for each in _values(BINDING, vhost, logged)]
    for kind in PolicyKind:
        found += [_of_policy(each) for each in stored_policies(kind, vhost, logged)]
    for value in _values(QUEUE, vhost, logged):
        queue = decode_queue(value)
        found.append(
            definitions.queue(
                queue.name, queue.arguments, durable=True, auto_delete=queue.auto_delete
            )
        )
    return {each.key: each for each in found}


def _values(kind: str, vhost: str, logged: Mapping[str, bytes]) -> list[bytes]:
    prefix = key_prefix(kind, vhost)
    return [value for key, value in logged.items() if key.startswith(prefix)]


def _is_predeclared(exchange: Exchange) -> bool:
    return not exchange.name or exchange.name.startswith("amq.")


def _of_exchange(exchange: Exchange) -> Definition:
    return definitions.exchange(
        exchange.name,
        exchange.type.value,
        exchange.arguments,
        durable=exchange.durable,
        auto_delete=exchange.auto_delete,
    )


def _of_binding(binding: Binding) -> Definition:
    named = definitions.queue_key if binding.destination_is_queue else definitions.exchange_key
    destination = named(binding.destination)
    made = definitions.binding(binding.source, destination, binding.key, binding.arguments)
    return made._replace(durable=binding.durable)


def _of_policy(policy: Policy) -> Definition:
    return definitions.policy(policy.name, policy.pattern.text, policy.definition)
