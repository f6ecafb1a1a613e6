"""``/api/exchanges``: listing, declaring and deleting exchanges, and publishing to one."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from mqkit.wire import FRAME_OVERHEAD, EncodeError, encode_shortstr
from reference_broker.core.access.permission import Action
from reference_broker.core.access.users import check_user_id
from reference_broker.core.exchange.exchange import Exchange
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import facts_of
from reference_broker.core.queue.fan_out import FanOut, all_of
from reference_broker.core.remote.elsewhere import Elsewhere
from reference_broker.core.remote.forward import require_room
from reference_broker.core.vhost.method_access import Access
from reference_broker.core.vhost.sender_selected import resolve_all
from reference_broker.core.vhost.traffic import Traffic, count_routed
from reference_broker.core.vhost.vhost import VHost
from reference_broker.errors import ReplyCode
from reference_broker.http.access.vhosts import Placed, exchange_name, placed, vhost_of, vhosts_of
from reference_broker.http.objects.bindings import bindings_from, is_bound, listable_row
from reference_broker.http.objects.declaring import (
    arguments_of,
    check_name,
    flag,
    put_answer,
    refusals,
    vhost_to_change,
    wants,
)
from reference_broker.http.request.answer import Row, bad_request, json_response, not_found
from reference_broker.http.request.authentication import user_of
from reference_broker.http.request.authorization import access_of, entered
from reference_broker.http.request.body import BESIDE_THE_MESSAGE_BYTES, body_bytes_max, read_object
from reference_broker.http.request.core_input import CoreInputs, refuse_while_short, settle
from reference_broker.http.request.host import Host
from reference_broker.http.request.listing import listed, shown_columns, stats_disabled
from reference_broker.http.request.turn_share import next_turn
from reference_broker.http.rows.message import header_of, payload_pieces, properties_from_json
from reference_broker.http.rows.rendering import exchange_row
from reference_broker.http.rows.statistics import Spans, Statistics

PUBLISH_KEYS = ("routing_key", "properties", "payload", "payload_encoding")


class PublishRequest(NamedTuple):
    """The body of a publish request."""

    routing_key: bytes
    header: bytes
    body: bytes

    @classmethod
    async def parse(cls, body: dict[str, Any], request: Request) -> PublishRequest:
        """The publish request in a JSON object; a large payload is decoded in portions. Raises
        :exc:`ApiError` 400."""
        if not isinstance(body["routing_key"], str):
            raise bad_request(["not_string", "routing_key"])
        try:
            routing_key = encode_shortstr(body["routing_key"])
        except (EncodeError, UnicodeEncodeError) as error:
            raise bad_request(f"routing_key: {error}") from error
        pieces: list[bytes] = []
        for piece in payload_pieces(body["payload"], body["payload_encoding"]):
            pieces.append(piece)
            if len(pieces) > 1:
                await next_turn(request)
        payload = b"".join(pieces)
        return cls(
            routing_key, header_of(properties_from_json(body["properties"]), payload), payload
        )


class Exchanges:
    """``/api/exchanges`` and the paths below."""

    def __init__(self, host: Host, statistics: Statistics) -> None:
        self._host = host
        self._statistics = statistics
        self._inputs = CoreInputs(host)

    async def index(self, request: Request) -> Response:
        exchanges = placed(
            vhosts_of(self._host.broker, request), lambda vhost: list(vhost.exchanges.values())
        )
        spans = Spans.parse(request.query_params)

        def row_of(each: Placed[Exchange]) -> Row:
            row = exchange_row(each.item, each.vhost.name)
            if stats_disabled(request):
                return row
            return self._statistics.of_exchange(row, each.item, spans)

        return await listed(
            request,
            exchanges,
            row_of,
            lambda each: each.item.name,
            order=lambda each: (each.vhost.name, each.item.name),
            is_there=lambda each: each.vhost.exchanges.get(each.item.name) is each.item,
        )

    async def show(self, request: Request) -> Response:
        vhost, exchange = self._exchange(request)
        row = {**exchange_row(exchange, vhost.name), "incoming": [], "outgoing": []}
        spans = Spans.parse(request.query_params)
        if not stats_disabled(request):
            row = self._statistics.of_exchange(row, exchange, spans)
        return shown_columns(request, row)

    def _exchange(self, request: Request) -> tuple[VHost, Exchange]:
        vhost = vhost_of(self._host.broker, request)
        exchange = vhost.exchanges.get(exchange_name(request, "exchange"))
        if exchange is None:
            raise not_found()
        return vhost, exchange

    async def put(self, request: Request) -> Response:
        """Declare an exchange. Answered when its definition is on disk, if it is durable."""
        body = await read_object(request, (), bytes_max=BESIDE_THE_MESSAGE_BYTES)
        name, type = exchange_name(request, "exchange"), body.get("type", "direct")
        check_name("exchange", name)
        if not isinstance(type, str):
            raise bad_request(["not_string", "type"])
        flags = {each: flag(body, each) for each in ("durable", "auto_delete", "internal")}
        with self._inputs.begin(request) as broker, refusals():
            vhost = vhost_to_change(broker, request)
            existed = name in vhost.exchanges
            vhost.declare_exchange(
                name,
                type,
                **flags,
                arguments=arguments_of(body),
                access=access_of(broker, request, vhost),
            )
        if flags["durable"]:
            await self._inputs.defined()
        return put_answer(existed=existed)

    async def delete(self, request: Request) -> Response:
        """Delete an exchange; with ``if-unused=true`` only if nothing is bound to it."""
        with self._inputs.begin(request) as broker, refusals():
            vhost, exchange = self._exchange(request)
            done = self._inputs.awaited()
            vhost.delete_exchange(
                exchange.name,
                if_unused=wants(request, "if-unused"),
                access=access_of(broker, request, vhost),
                answer=partial(settle, done),
            )
        await done
        if exchange.durable:
            await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def bindings_from(self, request: Request) -> Response:
        """Bindings whose source is the exchange; none for an exchange that is not there."""
        name = request.path_params["vhost"]
        vhost = self._host.broker.vhosts.get(name)
        if vhost is None:
            return json_response([])
        found = placed([vhost], lambda _: bindings_from(vhost, exchange_name(request, "exchange")))
        return await listed(request, found, listable_row, is_there=is_bound)

    async def bindings_to(self, request: Request) -> Response:
        """Bindings whose destination is the exchange; none for an exchange that is not there."""
        name, exchange = request.path_params["vhost"], exchange_name(request, "exchange")
        vhost = self._host.broker.vhosts.get(name)
        if vhost is None:
            return json_response([])
        found = placed([vhost], lambda _: vhost.bindings_to(exchange, is_queue=False))
        return await listed(request, found, listable_row, is_there=is_bound)

    async def publish(self, request: Request) -> Response:
        """Publish one message, as an AMQP client would with ``mandatory`` and a confirm: answered
        when it is in every queue that it was routed to, and on disk where it has to be."""
        broker = self._host.broker
        vhost_of(broker, request)
        size_max = broker.limits.message_size_max
        body = await read_object(request, PUBLISH_KEYS, bytes_max=body_bytes_max(size_max))
        message = await PublishRequest.parse(body, request)
        if len(message.body) > size_max:
            raise bad_request(
                f"{ReplyCode.PRECONDITION_FAILED.value} PRECONDITION_FAILED - message size"
                f" {len(message.body)} is larger than configured max size {size_max}"
            )
        header_max = broker.limits.frame_max - FRAME_OVERHEAD
        if len(message.header) > header_max:
            raise bad_request(
                f"properties of {len(message.header)} bytes are larger than a frame carries,"
                f" {header_max} bytes"
            )
        check_user_id(user_of(request), facts_of(message.header).user_id)
        tail_before = broker.journal.tail
        with self._inputs.begin(request) as broker:
            refuse_while_short(broker)
            vhost = vhost_of(broker, request)
            name = exchange_name(request, "exchange")
            elsewhere = Elsewhere()
            access = entered(broker, request, vhost)
            routed, fan_out = _publish(vhost, name, message, access, elsewhere)
        if fan_out is not None:
            await self._inputs.perform(all_of(fan_out), vhost.name)
        broker.memory.received(len(message.body))
        if broker.journal.tail != tail_before:
            await self._inputs.on_disk()
        await self._inputs.perform(elsewhere.until_answered(), vhost.name)
        if elsewhere.refused or (fan_out is not None and fan_out.refused):
            raise bad_request("rejected Unable to publish message. Check queue limits.")
        return json_response({"routed": routed})


def _publish(
    vhost: VHost,
    exchange_name: str,
    message: PublishRequest,
    access: Access,
    elsewhere: Elsewhere,
) -> tuple[bool, FanOut | None]:
    """Route the message in an input of the core, and send it to the queues of other nodes. Returns
    whether there are any queues, and its way into those here, which is still to be gone."""
    access.require_publish(exchange_name)
    exchange = vhost.exchange_for_publish(exchange_name)
    routing_key = message.routing_key[1:].decode()
    access.require_topic(Action.WRITE, exchange, routing_key)
    queues, header = resolve_all(vhost, exchange, routing_key, message.header, access)
    vhost.arriving.require_none(header)
    require_room(queues)
    exchange.published += 1
    count_routed(vhost, exchange, queues)
    vhost.traffic.past = vhost.traffic.past.plus(
        Traffic(publish=1, confirm=1, return_unroutable=0 if queues else 1)
    )
    content = Content(encode_shortstr(exchange.name) + message.routing_key, header, message.body)
    here = elsewhere.publish(queues, content)
    fan_out = FanOut(here, content, facts_of(header), vhost) if here else None
    return bool(queues), fan_out
