"""CC and BCC: more routing keys in a message's headers (rabbitmq.com/docs/sender-selected).

A message goes to every queue that its routing key or one of these keys finds, and to each of them
once. The BCC header is taken off before anybody sees it; CC stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mqkit.wire import WireError, decode_table, encode_table, table_type_name
from reference_broker.core.access.permission import Action
from reference_broker.core.message.copy_keys import cc_keys
from reference_broker.core.message.header import (
    COPIES_MARK,
    HEADERS,
    join_properties,
    split_properties,
)
from reference_broker.errors import ChannelException, ConnectionException, ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.exchange.exchange import Exchange
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.vhost.method_access import Access
    from reference_broker.core.vhost.vhost import VHost

COPIES_MAX = 1_024
"""Routing keys in CC and BCC together. Each is a look-up, in every exchange on the way, while
nobody else is served; and a header of one frame has room for twenty thousand."""

COPIES_PER_UNIT = 1
"""Such keys that cost a unit: decoding them, looking them up and counting where they lead takes
2.5 us each."""


def resolve_all(
    vhost: VHost,
    exchange: Exchange,
    routing_key: str,
    header: bytes,
    access: Access,
    route: Callable[[Exchange, str, bytes, Sequence[str]], tuple[Queue, ...]] | None = None,
) -> tuple[tuple[Queue, ...], bytes]:
    """The queues for the routing key and the keys in ``header``, and the header to keep. ``access``
    is asked for those keys, as RabbitMQ 4 does. ``route`` finds the queues, where it is not
    :meth:`VHost.resolve`; it may raise :exc:`NotYet`.

    Raises ``ChannelException`` (406) for a CC or BCC that is no array or too long, (403) for a
    topic that may not be written to, and ``ConnectionException`` (502) for a header table that
    can't be read.
    """
    octets, header = _copies(header)
    keys = [key.decode(errors="surrogateescape") for key in octets]
    for text in keys:
        access.require_topic(Action.WRITE, exchange, text)
    vhost.budget.left -= len(keys) // COPIES_PER_UNIT
    return (route or vhost.resolve)(exchange, routing_key, header, keys), header


def behind_windows(
    vhost: VHost, exchange: Exchange, routing_key: str, header: bytes
) -> list[Queue]:
    """As things are now, the queues that a message with ``header`` as it was published does not
    reach because windows have seen it. Where it can't be routed any more, that is none."""
    octets, header = _copies(header) if COPIES_MARK in header else ([], header)
    keys = [key.decode(errors="surrogateescape") for key in octets]
    try:
        asked = vhost.resolve(exchange, routing_key, header, keys)
        unasked = vhost.resolve(exchange, routing_key, header, keys, again=True)
    except ChannelException:  # patterns since: it would look at too many places
        return []
    return [queue for queue in unasked if queue not in asked]


def _copies(header: bytes) -> tuple[list[bytes], bytes]:
    properties = split_properties(header)
    table = properties.get(HEADERS)
    if table is None:
        return [], header
    try:
        headers = decode_table(table, exact=True)[0]
    except WireError as error:
        raise ConnectionException(ReplyCode.SYNTAX_ERROR, error.text) from error
    keys = []
    for name in ("CC", "BCC"):
        if name in headers and not isinstance(headers[name], list):
            raise ChannelException(
                ReplyCode.PRECONDITION_FAILED,
                f'invalid message: {{unacceptable_type_in_header,"{name}",'
                f"{table_type_name(headers[name])}}}",
            )
        keys += cc_keys(headers, name)
    if len(keys) > COPIES_MAX:
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED,
            f"invalid message: {len(keys)} keys in CC and BCC, at most {COPIES_MAX} are routed",
        )
    if headers.pop("BCC", None) is not None:
        properties[HEADERS] = encode_table(headers)
        header = join_properties(header, properties)
    return keys, header
