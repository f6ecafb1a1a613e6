"""The values of the hot path, made at the price of ordinary objects.

A frozen dataclass sets each field through ``object.__setattr__``, at many times the price of an
assignment; with thirteen properties that is more than all the frames of a publish. A draft has the
same slots and nothing that stops an assignment. When it is filled in it takes the class of what it
is to be, and is that from then on, frozen like any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from mqkit.message import Delivery, Headers, Message, Properties
from mqkit.outcome import Confirmed


def draft_of(frozen: type) -> Any:
    """Slots in the same places: that is what Python asks of two classes to let objects change."""
    slots = {"__slots__": frozen.__slots__}  # type: ignore[attr-defined]
    return type(f"{frozen.__name__}Draft", frozen.__bases__, slots)


_PropertiesDraft = draft_of(Properties)
_MessageDraft = draft_of(Message)
_DeliveryDraft = draft_of(Delivery)
_ConfirmedDraft = draft_of(Confirmed)


def new_properties(
    content_type: str | None,
    content_encoding: str | None,
    headers: Headers,
    persistent: bool,
    priority: int | None,
    correlation_id: str | None,
    reply_to: str | None,
    expiration_ms: int | None,
    message_id: str | None,
    timestamp: datetime | None,
    type_: str | None,
    user_id: str | None,
    app_id: str | None,
) -> Properties:
    """``Properties`` of all its fields, in their order."""
    draft = _PropertiesDraft()
    draft.content_type = content_type
    draft.content_encoding = content_encoding
    draft.headers = headers
    draft.persistent = persistent
    draft.priority = priority
    draft.correlation_id = correlation_id
    draft.reply_to = reply_to
    draft.expiration_ms = expiration_ms
    draft.message_id = message_id
    draft.timestamp = timestamp
    draft.type = type_
    draft.user_id = user_id
    draft.app_id = app_id
    draft.__class__ = Properties
    return draft  # type: ignore[no-any-return]


def new_message(
    exchange: str, routing_key: str, body: bytes, properties: Properties, mandatory: bool
) -> Message:
    """``Message`` of all its fields."""
    draft = _MessageDraft()
    draft.exchange = exchange
    draft.routing_key = routing_key
    draft.body = body
    draft.properties = properties
    draft.mandatory = mandatory
    draft.__class__ = Message
    return draft  # type: ignore[no-any-return]


def new_outgoing(
    exchange: str,
    routing_key: str,
    body: bytes,
    content_type: str,
    headers: Headers,
    message_id: str,
) -> Message:
    """A ``Message`` with what most of them have: one call makes it and its properties."""
    draft = _PropertiesDraft()
    draft.content_type = content_type
    draft.headers = headers
    draft.persistent = True
    draft.message_id = message_id
    draft.content_encoding = draft.priority = draft.correlation_id = draft.reply_to = None
    draft.expiration_ms = draft.timestamp = draft.type = draft.user_id = draft.app_id = None
    draft.__class__ = Properties
    message = _MessageDraft()
    message.exchange = exchange
    message.routing_key = routing_key
    message.body = body
    message.properties = draft
    message.mandatory = True
    message.__class__ = Message
    return message  # type: ignore[no-any-return]


def new_delivery(
    exchange: str,
    routing_key: str,
    body: bytes,
    properties: Properties,
    delivery_tag: int,
    redelivered: bool,
    consumer_tag: str,
) -> Delivery:
    """``Delivery`` of all its fields."""
    draft = _DeliveryDraft()
    draft.exchange = exchange
    draft.routing_key = routing_key
    draft.body = body
    draft.properties = properties
    draft.delivery_tag = delivery_tag
    draft.redelivered = redelivered
    draft.consumer_tag = consumer_tag
    draft.__class__ = Delivery
    return draft  # type: ignore[no-any-return]


def new_confirmed(messages: Iterable[Message]) -> list[Confirmed]:
    """The ``Confirmed`` of each."""
    made = []
    for message in messages:
        draft = _ConfirmedDraft()
        draft.message_id = message.properties.message_id
        draft.__class__ = Confirmed
        made.append(draft)
    return made
