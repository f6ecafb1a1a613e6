"""Reprocessing of dead letters: a message goes back to the queue in which it died first.

Straight into that queue, and not through its exchange, whose other queues have had the message.
Only if the queue is gone, the exchange and routing key of the first death decide. The way from
queue to queue is one record of the log, so a crash leaves the message in exactly one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mqkit.wire import EncodeError, encode_shortstr
from reference_broker.core.access.permission import Action
from reference_broker.core.dead_letter.x_death import X_DEATH
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import headers_of, read_facts
from reference_broker.core.queue.death import is_in_doubt
from reference_broker.core.queue.enqueue import store
from reference_broker.core.queue.fan_out import FanOut, is_too_many
from reference_broker.core.remote.forward import are_all_here, distribute_anywhere
from reference_broker.core.work.budget import DEAD_LETTER_UNITS, FAN_OUT_UNITS
from reference_broker.errors import ChannelException, ConnectionException

if TYPE_CHECKING:
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.vhost.method_access import Access
    from reference_broker.core.vhost.vhost import VHost


class Origin(NamedTuple):
    """The queue in which a message died first, and the exchange and routing key of its publish."""

    queue: str
    exchange: str
    routing_key: str


def origin_of(header: bytes) -> Origin | None:
    """The first death in a content header; ``None`` for a header without any."""
    try:
        headers = headers_of(header)
    except ConnectionException:  # a table that can't be read
        return None
    deaths = headers.get(X_DEATH)
    tables = [each for each in deaths if isinstance(each, dict)] if isinstance(deaths, list) else []
    if not tables:
        return None
    first = headers.get("x-first-death-queue")
    death = next((each for each in tables if each.get("queue") == first), tables[-1])
    keys = death.get("routing-keys")
    return Origin(
        _text(death.get("queue")),
        _text(death.get("exchange")),
        _text(keys[0]) if isinstance(keys, list) and keys else "",
    )


def reprocess(lease: Lease, vhost: VHost, access: Access) -> bool:
    """Move the message of a lease, which somebody of the broker's own holds, back to its origin.

    ``access`` is that of whoever asks, who may write to the default exchange: headers that any
    publisher can make up say which queue it is.

    False, and nothing is changed, when it is no dead letter, no queue would take it, or ``access``
    refuses its exchange. It is safe once the journal is synced up to its tail. Into many queues it
    goes in portions, which :meth:`VHost.follow_letters` ends: call that before the next one.
    """
    content = lease.content
    origin = origin_of(content.header)
    if origin is None:
        return False
    try:
        route = encode_shortstr(origin.exchange) + encode_shortstr(origin.routing_key)
    except (EncodeError, UnicodeEncodeError):
        return False
    letter = Content(route, content.header, content.body)
    targets = _targets(origin, letter, vhost, access)
    departure = lease.queue.depart(lease) if targets else None
    if departure is None:
        return False
    facts = read_facts(letter.header)
    if not are_all_here(targets):
        distribute_anywhere(targets, letter, facts, vhost, departure)
    elif is_too_many(targets, vhost.budget):
        vhost.mark_urgent(FanOut(targets, letter, facts, vhost, departure))
    else:
        vhost.budget.left -= DEAD_LETTER_UNITS + FAN_OUT_UNITS * len(targets)
        store(targets, letter, facts, vhost, departure, is_in_doubt(departure))
    return True


def _targets(origin: Origin, letter: Content, vhost: VHost, access: Access) -> list[Queue]:
    """The queues that the message goes to; none at all if one of them refuses, as the others would
    get the message again next time."""
    own = vhost.queues.get(origin.queue)
    if own is not None:
        queues: list[Queue] = [own]
    else:
        queues = _routed(origin, letter, vhost, access)
    for queue in queues:
        if queue.length_limit is not None and queue.length_limit.refuses(queue, letter):
            return []
    return queues


def _routed(origin: Origin, letter: Content, vhost: VHost, access: Access) -> list[Queue]:
    try:
        access.require_publish(origin.exchange)
        exchange = vhost.exchange_for_publish(origin.exchange)
        access.require_topic(Action.WRITE, exchange, origin.routing_key)
        return list(vhost.resolve(exchange, origin.routing_key, letter.header, again=True))
    except ChannelException:  # it is gone, internal, not for this user, or too costly a topic
        return []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
