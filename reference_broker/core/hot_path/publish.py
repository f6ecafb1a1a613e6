"""basic.publish, from three frames to the queues. This is the hot path of the broker.

    method frame                    header frame                        body frames, 0 or more
    60 40, exchange, key, bits      60, weight, body size, properties   octets

The method's arguments are not decoded again for every message: their bytes are the key of a small
dictionary of resolved targets, valid while the virtual host's ``topology_version`` stands. The
content header is not decoded at all, beyond the facts that a queue acts on.

Two ways lead to :func:`publish`. :func:`take_publishes` eats complete messages (one body frame or
none) straight out of what was read; :func:`take_content_frame` collects anything else a frame at a
time: a message that is cut by a read, or by frame_max.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from mqkit.wire import FrameType, WireError, decode_method
from mqkit.wire.methods import BasicPublish
from reference_broker.core.access.permission import Action
from reference_broker.core.access.users import check_user_id
from reference_broker.core.channel.after_routing import (
    deliver_reply,
    place,
    publish_away,
    return_unroutable,
)
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.channel.direct_reply import addressed
from reference_broker.core.channel.publish_target import UNRESOLVED, PublishAssembly, PublishTarget
from reference_broker.core.exchange.long_route import ROUTE_LOOKS_MAX, LongRoute, TooLong
from reference_broker.core.hot_path.message_span import form_of, message_at
from reference_broker.core.hot_path.publish_run import run_for
from reference_broker.core.journal.free_space import NoSpace
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import COPIES_MARK, facts_of, user_id_of
from reference_broker.core.queue.enqueue import enqueue, require_rest
from reference_broker.core.queue.fan_out import FanOut, all_of, is_too_many
from reference_broker.core.remote.forward import are_all_here, require_room
from reference_broker.core.vhost.sender_selected import resolve_all
from reference_broker.core.vhost.traffic import count_routed
from reference_broker.core.work.budget import TABLE_OCTETS_PER_UNIT
from reference_broker.core.work.until import NotYet
from reference_broker.errors import AmqpError, ChannelException, ConnectionException, ReplyCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.exchange.exchange import Exchange
    from reference_broker.core.message.content import Body
    from reference_broker.core.message.header import HeaderFacts
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.vhost.vhost import VHost

PUBLISH_IDS = (60, 40)

RUN_MESSAGES_PER_UNIT = 2
"""Messages of a run that cost as much as one that goes alone."""

_CONFIRMING = (ChannelState.OPEN, ChannelState.SUSPENDED)
_BASIC = 60
_CONTENT_FIXED = struct.Struct(">HHQ")


def take_publishes(channel: Channel, data: bytes, position: int, end: int) -> int:
    """Publish the complete messages that stand one after another in ``data`` from ``position``.

    The caller has checked that a complete basic.publish frame of this channel is there. Returns
    where it should go on; ``position`` itself if not one message was complete or well-formed,
    and then :func:`take_content_frame` finds out what is wrong with it, if anything.
    """
    targets = channel.targets
    form = form_of(channel)
    tail = channel.vhost.journal.tail
    count = counted = 0
    target = run = None
    budget = channel.broker.budget
    while (span := message_at(data, position, end, form)) is not None:
        start, header_at, header_stop, position = span
        try:
            found = targets.get(data[start + 11 : header_at - 8])
            if found is None:
                found = _new_target(channel, data[start + 7 : header_at - 8])
            header = data[header_at:header_stop]
            body = data[header_stop + 8 : position - 1]
            if run is not None and found is target and run.add(header, body):
                before = len(run.contents)
                position = run.add_alike(data, span, end, form.body_max)
                count += 1 + len(run.contents) - before
                continue
            if run is not None:
                budget.left -= len(run.contents) // RUN_MESSAGES_PER_UNIT
                missed, octets = run.close()
                run = None
                if missed:
                    count, position = count - missed, start - octets
                    break
            if found is not target:
                _note_routed(channel, target, count - counted)
                target, counted = found, count
            fan_out = publish(channel, target, header, body)
            if fan_out is not None:
                _publish_in_portions(channel, target, fan_out)
                break
            if budget.left <= 0:
                count += 1
                break
            if data.startswith(data[start : header_at - 7], position):
                run = run_for(channel, target, header_at - 7 - start)
        except (AmqpError, WireError, NoSpace, NotYet) as error:
            if run is not None:  # That goes first, and this is met again.
                position = start
            else:
                position = _not_published(channel, error, start, position)
            break
        count += 1
    if run is not None:
        budget.left -= len(run.contents) // RUN_MESSAGES_PER_UNIT
        missed, octets = run.close()
        count, position = count - missed, position - octets
    if count:
        _note_routed(channel, target, count - counted)
        _note_published(channel, count, tail)
    return position


def _not_published(
    channel: Channel, error: AmqpError | WireError | NoSpace | NotYet, start: int, end: int
) -> int:
    """Have the message from ``start`` to ``end`` wait, or refuse it; returns where to go on."""
    if isinstance(error, NoSpace):
        channel.await_room()
        return start
    if isinstance(error, NotYet):
        channel.wait_until(error.until)
        return start
    channel.connection.refuse(channel, error, *PUBLISH_IDS)
    return end


def publish(channel: Channel, target: PublishTarget, header: bytes, body: Body) -> FanOut | None:
    """Route one message and put it into its queues; or, where they are more than the turn has time
    for, return what is to be done in portions. Raises ``ChannelException``: 403 or 404 for the
    exchange, 406 for a property that can't be used; and ``NoSpace`` and ``NotYet``."""
    vhost = channel.vhost
    if target.version == vhost.topology_version:
        queues = target.queues
    else:
        queues = _resolve(channel, target, header, len(body))
    try:
        facts = facts_of(header)
    except ChannelException:  # the expiration, which RabbitMQ looks at after these
        _check_sender(channel, header)
        raise
    budget = vhost.budget
    if facts.has_headers:
        budget.left -= len(header) // TABLE_OCTETS_PER_UNIT
    if not (facts.plain and target.plain):
        return _publish_with_care(channel, target, queues, header, body, facts)
    confirms = channel.confirms
    content = Content(target.route, header, body)
    if queues:
        if len(queues) > 1 and is_too_many(queues, budget):
            return FanOut(queues, content, facts, vhost)
        budget.left -= 1
        taken = enqueue(queues, content, facts, vhost)
        if confirms is not None:
            confirms.published += 1
            if not taken:
                confirms.refuse()
        return None
    budget.left -= 1
    if confirms is not None:
        confirms.published += 1
    if target.mandatory:
        return_unroutable(channel, target, content)
    else:
        channel.unroutable += 1
    return None


def _publish_with_care(
    channel: Channel,
    target: PublishTarget,
    queues: tuple[Queue, ...],
    header: bytes,
    body: Body,
    facts: HeaderFacts,
) -> FanOut | None:
    """The second half of :func:`publish`, for what the hot path doesn't look for."""
    sent = header
    vhost = channel.vhost
    counted = None
    if not facts.plain:
        sent = header = _check_sender(channel, header)
        if facts.has_headers and COPIES_MARK in header:
            exchange = vhost.exchange_for_publish(target.exchange)
            counted = queues  # those of the routing key alone
            access = channel.connection.access
            route = partial(_route, channel, target)
            queues, header = resolve_all(vhost, exchange, target.routing_key, header, access, route)
    content = Content(target.route, header, body)
    is_here = are_all_here(queues)
    if channel.transaction is None:
        if not is_here:
            require_room(queues)
        if counted is None:
            require_rest(queues)
        else:
            _count_copies(vhost, target, header, queues, counted)
    firehose = vhost.firehose
    if firehose is not None:
        firehose.published(channel, queues, content, sent)
    if channel.transaction is not None:
        channel.transaction.publish(target, queues, content, facts, sent)
        return None
    if not is_here:
        queues = publish_away(channel, queues, content)
        if not queues:
            deliver_reply(channel, target, content)
            return None
    budget = vhost.budget
    if is_too_many(queues, budget):
        deliver_reply(channel, target, content)
        return FanOut(queues, content, facts, vhost)
    budget.left -= 1
    confirms = channel.confirms
    if confirms is not None:
        confirms.published += 1
    if not place(channel, target, queues, content, facts) and confirms is not None:
        confirms.refuse()
    return None


def _count_copies(
    vhost: VHost,
    target: PublishTarget,
    header: bytes,
    queues: Sequence[Queue],
    counted: Sequence[Queue],
) -> None:
    """Count a message with CC or BCC, which goes to ``queues``, instead of those of its routing key
    alone. Raises :exc:`NotYet`, and counts nothing then: it is published again from the start."""
    exchange = vhost.exchange_for_publish(target.exchange)
    try:
        require_rest(queues)
        vhost.arriving.require_none(header)
    except NotYet:
        if vhost.depends_on_headers(exchange, target.routing_key):  # counted as it was resolved
            count_routed(vhost, exchange, (), instead_of=counted)
        raise
    count_routed(vhost, exchange, queues, instead_of=counted)


def _publish_in_portions(channel: Channel, target: PublishTarget, fan_out: FanOut) -> None:
    """Put a message into its many queues. It counts as published, and can be confirmed, when all of
    them have it."""
    tail = channel.vhost.journal.tail

    def published() -> None:
        confirms = channel.confirms
        if confirms is not None:
            confirms.published += 1
            if fan_out.refused:
                confirms.refuse()
        _note_routed(channel, target, 1)
        _note_published(channel, 1, tail)

    channel.perform(all_of(fan_out), published, PUBLISH_IDS)


def _check_sender(channel: Channel, header: bytes) -> bytes:
    """Check reply-to and user-id of a message; returns the header to send on."""
    header = addressed(channel, header)
    _check_user_id(channel, user_id_of(header))
    return header


def begin_publish(channel: Channel, payload: bytes) -> None:
    """Begin to collect a message of which the basic.publish frame arrived; its content header is
    awaited.

    ``payload`` is the method frame's. Raises ``WireError``, and ``ConnectionException`` (540) for
    ``immediate``, which RabbitMQ does not have either.
    """
    target = channel.targets.get(payload[4:])
    channel.assembly = PublishAssembly(target or _new_target(channel, payload))


def _new_target(channel: Channel, payload: bytes) -> PublishTarget:
    method = decode_method(payload)
    assert isinstance(method, BasicPublish)
    if method.immediate:
        raise ConnectionException(ReplyCode.NOT_IMPLEMENTED, "immediate=true")
    target = PublishTarget(method, transactional=channel.transaction is not None)
    channel.broker.targets.remember(channel, payload[4:], target)
    return target


def take_content_frame(
    channel: Channel, assembly: PublishAssembly, kind: int, payload: bytes
) -> None:
    """Add a frame to the message that is being collected, and publish that when it is complete.

    Raises ``ConnectionException`` (505) for a frame that has no place here, ``ChannelException``
    (406) for a message that is too large, before any of its body was kept.
    """
    channel.connection.has_published = True
    if not assembly.header:
        _take_header(channel, assembly, kind, payload)
    elif kind != FrameType.BODY:
        raise _unexpected("expected content body, got non content body frame instead")
    elif len(payload) > assembly.missing:
        raise _unexpected("content body frame exceeds remaining content size")
    elif payload:
        assembly.body.append(payload)
        assembly.missing -= len(payload)
    if not assembly.missing:
        publish_assembled(channel, assembly)


def publish_assembled(channel: Channel, assembly: PublishAssembly) -> None:
    """Publish the message that was collected, and is complete; or have the channel wait with it.
    Raises ``AmqpError`` and ``WireError`` as :func:`publish` does."""
    channel.assembly = None
    target = assembly.target
    journal = channel.vhost.journal
    tail = journal.tail
    if len(assembly.header) + len(assembly.body) > journal.free_space.plain_bytes:
        target.version = UNRESOLVED  # whoever looks up the route asks for room
    try:
        fan_out = publish(channel, target, assembly.header, assembly.take_body())
    except NoSpace:
        channel.assembly = assembly
        channel.await_room()
    except NotYet as wait:
        channel.assembly = assembly
        channel.wait_until(wait.until)
    except BaseException:
        _note_published(channel, 1, tail)
        raise
    else:
        if fan_out is not None:
            _publish_in_portions(channel, target, fan_out)
            return
        _note_routed(channel, target, 1)
        _note_published(channel, 1, tail)


def _take_header(channel: Channel, assembly: PublishAssembly, kind: int, payload: bytes) -> None:
    expected = "expected content header for class 60, got "
    if kind != FrameType.HEADER:
        raise _unexpected(expected + "non content header frame instead")
    class_id, weight, body_size = _CONTENT_FIXED.unpack_from(payload)
    if weight:
        raise _unexpected(expected + "non content header frame instead")
    if class_id != _BASIC:
        raise _unexpected(f"{expected}one for class {class_id} instead")
    message_size_max = channel.connection.message_size_max
    if body_size > message_size_max:
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED,
            f"message size {body_size} is larger than configured max size {message_size_max}",
        )
    assembly.header = payload
    assembly.missing = body_size


def _unexpected(text: str) -> ConnectionException:
    return ConnectionException(ReplyCode.UNEXPECTED_FRAME, text)


def _resolve(
    channel: Channel, target: PublishTarget, header: bytes, body_size: int
) -> tuple[Queue, ...]:
    vhost = channel.vhost
    access = channel.connection.access
    access.require_publish(target.exchange)
    exchange = vhost.exchange_for_publish(target.exchange)
    access.require_topic(Action.WRITE, exchange, target.routing_key)
    router = vhost.router
    version = vhost.topology_version
    try:
        queues = router.resolve(exchange, target.routing_key, header, (), ROUTE_LOOKS_MAX)
        asked = router.asked
    except TooLong:
        route = _long_route(channel, target, exchange, (), header)
        queues, asked, version = route.result(), route.asked, route.version
    is_plain = not (target.transactional or target.reply_address or vhost.firehose)
    is_here = are_all_here(queues)
    target.plain = is_plain and is_here
    target.is_forwarded = is_plain and not is_here
    room = vhost.journal.free_space
    asks = room.scarce or len(header) + body_size > room.plain_bytes
    if (asks or len(queues) > room.plain_entries) and channel.transaction is None:
        entries = sum(queue.durable and not queue.is_elsewhere for queue in queues)
        if entries and not room.admits(len(target.route) + len(header) + body_size, entries):
            raise NoSpace
    if not (asked or router.looks_at_headers(exchange)):
        target.queues = queues
        if not room.scarce and len(queues) <= room.plain_entries:
            target.version = version
        return queues
    if channel.transaction is None:
        require_room(queues)  # before it is counted
        require_rest(queues)
        vhost.arriving.require_none(header)
        count_routed(vhost, exchange, queues)
    if not queues and channel.confirms is not None:
        # It may be one that was seen before: confirmed when that is on disk, nacked if it fails.
        channel.confirms.position = vhost.journal.tail
    return queues


def _route(
    channel: Channel,
    target: PublishTarget,
    exchange: Exchange,
    key: str,
    header: bytes,
    copies: Sequence[str],
) -> tuple[Queue, ...]:
    """The queues for a message with more keys than one. Raises :exc:`NotYet`."""
    try:
        return channel.vhost.router.resolve(exchange, key, header, copies, ROUTE_LOOKS_MAX)
    except TooLong:
        return _long_route(channel, target, exchange, tuple(copies), header).result()


def _long_route(
    channel: Channel,
    target: PublishTarget,
    exchange: Exchange,
    copies: tuple[str, ...],
    header: bytes,
) -> LongRoute:
    """The route of a message, found in portions. Raises :exc:`NotYet` until it is there; then the
    same message asks again, and it is forgotten."""
    place = exchange, copies
    awaited = target.awaited
    route = None if awaited is None else awaited.get(place)
    if route is None:
        vhost = channel.vhost
        route = LongRoute(vhost.topology_version)
        steps = vhost.router.find(route, exchange, (target.routing_key, *copies), header)
        channel.broker.work.start(steps, vhost.name, channel.connection.id, route.end)
        if route.queues is None:
            if awaited is None:
                awaited = target.awaited = {}
            awaited[place] = route
    elif route.queues is not None and awaited is not None:
        del awaited[place]
    if route.queues is None:
        raise NotYet(route.until)
    return route


def _check_user_id(channel: Channel, user_id: bytes | None) -> None:
    user = channel.connection.user
    assert user is not None
    check_user_id(user, user_id)


def _note_routed(channel: Channel, target: PublishTarget | None, count: int) -> None:
    """Count ``count`` messages in a row that had this target, at their exchange. Routes that depend
    on each message's headers are counted as they are resolved, and what a transaction holds when it
    is committed."""
    if target is None or channel.transaction is not None:
        return
    exchange = channel.vhost.exchanges.get(target.exchange)
    if exchange is not None:
        exchange.published += count
        exchange.routed += count * len(target.queues)
        channel.vhost.traffic.routed += count * len(target.queues)


def _note_published(channel: Channel, count: int, tail_before: int) -> None:
    channel.published += count
    channel.connection.has_published = True
    confirms = channel.confirms
    if confirms is not None and channel.state in _CONFIRMING:
        channel.broker.ledger.published(confirms, tail_before)
