"""Methods against pamqp, both ways, and everything that a peer can get wrong."""

from __future__ import annotations

import struct
from dataclasses import fields
from typing import Any

import pamqp.commands
import pamqp.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import (
    LENIENT,
    EncodeError,
    MalformedText,
    ReplyCode,
    WireError,
    decode_method,
    encode_method,
    method_frame,
    method_name,
    methods,
)
from mqkit.wire.methods import ALL_METHODS, Method

Strategy = st.SearchStrategy[Any]

RESERVED = {"ticket", "out_of_band", "channel_id", "capabilities", "insist", "known_hosts"}
"""The reserved arguments that pamqp shows. (basic.get-empty's is called cluster_id.)"""

OLDER = {methods.AccessRequest, methods.AccessRequestOk}
"""Of AMQP 0-8 and 0-9, which pamqp does not know."""

BY_NAME = {method.NAME: method for method in ALL_METHODS if method not in OLDER}


def pamqp_class(method_class: type[Method]) -> Any:
    return pamqp.commands.INDEX_MAPPING[method_class.CLASS_ID << 16 | method_class.METHOD_ID]


def pamqp_names(method_class: type[Method]) -> list[str]:
    """pamqp's names of our fields, in wire order, without the reserved ones."""
    reserved = RESERVED | {"cluster_id"} if method_class is methods.BasicGetEmpty else RESERVED
    return [name for name in pamqp_class(method_class).__slots__ if name not in reserved]


def values_of(method: Method) -> list[Any]:
    return [getattr(method, field.name) for field in fields(method)]  # type: ignore[arg-type]


def test_every_method_of_pamqp_is_there_under_its_ids() -> None:
    ours = {method.CLASS_ID << 16 | method.METHOD_ID for method in BY_NAME.values()}
    assert ours == set(pamqp.commands.INDEX_MAPPING)
    for method in BY_NAME.values():
        spelled = pamqp_class(method).name.replace(".", "").lower()
        assert method.NAME.replace(".", "").replace("-", "") == spelled


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
@given(data=st.data())
def test_pamqp_reads_what_we_write(
    name: str, data: st.DataObject, methods_by_class: dict[type[Method], Strategy]
) -> None:
    method = data.draw(methods_by_class[BY_NAME[name]])
    octets = method_frame(7, method)
    consumed, channel, theirs = pamqp.frame.unmarshal(octets)
    assert (consumed, channel, type(theirs)) == (len(octets), 7, pamqp_class(type(method)))
    for theirs_name, ours in zip(pamqp_names(type(method)), values_of(method), strict=True):
        value = getattr(theirs, theirs_name)
        if isinstance(ours, bytes) and isinstance(value, str):
            value = value.encode()  # pamqp takes long strings for text where it can
        assert value == ours


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
@given(data=st.data())
def test_we_read_what_pamqp_writes(
    name: str,
    data: st.DataObject,
    methods_by_class: dict[type[Method], Strategy],
) -> None:
    method = data.draw(methods_by_class[BY_NAME[name]])
    theirs = pamqp_class(type(method))()
    for field, theirs_name in zip(fields(method), pamqp_names(type(method)), strict=True):
        value = getattr(method, field.name)
        if isinstance(value, bytes):
            value = value.hex()  # pamqp writes long strings from text only
            setattr(method, field.name, value.encode())
        elif isinstance(value, str):
            value = value.encode().hex()[:127]  # and checks names against the specification
            setattr(method, field.name, value)
        setattr(theirs, theirs_name, value)
    octets = pamqp.frame.marshal(theirs, 1)
    assert decode_method(octets[7:-1]) == method


@given(data=st.data())
def test_a_method_survives_from_bytes_and_from_a_memoryview(
    data: st.DataObject, any_method: Strategy
) -> None:
    method = data.draw(any_method)
    payload = encode_method(method)
    assert decode_method(payload) == method
    assert decode_method(memoryview(payload)) == method
    assert encode_method(decode_method(payload)) == payload


@given(data=st.data())
def test_no_prefix_of_a_method_is_a_method(data: st.DataObject, any_method: Strategy) -> None:
    method = data.draw(any_method)
    payload = encode_method(method)
    cut = data.draw(st.integers(0, len(payload) - 1))
    with pytest.raises(WireError) as refused:
        decode_method(payload[:cut])
    assert refused.value.reply_code in (ReplyCode.FRAME_ERROR, ReplyCode.SYNTAX_ERROR)
    if cut >= 4:
        assert refused.value.class_id == method.CLASS_ID
        assert refused.value.method_id == method.METHOD_ID


@given(data=st.data())
def test_one_octet_too_many_is_refused(data: st.DataObject, any_method: Strategy) -> None:
    payload = encode_method(data.draw(any_method))
    with pytest.raises(WireError, match="cannot decode <<") as refused:
        decode_method(payload + b"\x00")
    assert refused.value.reply_code == ReplyCode.FRAME_ERROR


@given(st.binary(max_size=200))
def test_random_arguments_raise_nothing_but_wire_error(arguments: bytes) -> None:
    for method in ALL_METHODS:
        try:
            decode_method(struct.pack(">HH", method.CLASS_ID, method.METHOD_ID) + arguments)
        except WireError:
            pass


@given(data=st.data())
def test_changed_octets_raise_nothing_but_wire_error(
    data: st.DataObject, any_method: Strategy
) -> None:
    payload = bytearray(encode_method(data.draw(any_method)))
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    try:
        decode_method(bytes(payload))
    except WireError:
        pass


def test_bits_share_an_octet_lowest_first_and_unknown_ones_are_ignored() -> None:
    payload = encode_method(methods.QueueDelete("q", if_unused=False, if_empty=True, nowait=True))
    assert payload == b"\x00\x32\x00\x28\x00\x00\x01q\x06"
    assert decode_method(payload[:-1] + b"\xfe") == decode_method(payload)


def test_reserved_arguments_are_sent_as_zero_and_skipped() -> None:
    assert encode_method(methods.ConnectionOpen("v")) == b"\x00\x0a\x00\x28\x01v\x00\x00"
    assert decode_method(b"\x00\x0a\x00\x28\x01v\x03abc\x01") == (methods.ConnectionOpen("v"))
    assert encode_method(methods.ChannelOpenOk()) == b"\x00\x14\x00\x0b\x00\x00\x00\x00"


def test_delivery_tags_are_unsigned() -> None:
    ack = methods.BasicAck(2**64 - 1, multiple=True)
    assert encode_method(ack) == b"\x00\x3c\x00\x50" + b"\xff" * 8 + b"\x01"
    assert decode_method(encode_method(ack)) == ack


def test_an_unknown_method_is_503_and_named() -> None:
    with pytest.raises(WireError, match=r"unknown method 50\.99") as refused:
        decode_method(b"\x00\x32\x00\x63")
    assert refused.value.reply_code == ReplyCode.COMMAND_INVALID
    assert (refused.value.class_id, refused.value.method_id) == (50, 99)


def test_text_that_is_not_utf8_is_refused_in_rabbitmqs_words() -> None:
    with pytest.raises(MalformedText) as refused:
        decode_method(b"\x00\x32\x00\x0a\x00\x00\x01\xff\x00\x00\x00\x00\x00")
    assert str(refused.value) == "FRAME_ERROR - Malformed UTF-8 in shortstr"
    assert (refused.value.class_id, refused.value.method_id) == (0, 0)


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b"\x00\x32\x00\x0a\x00\x00\x03ab", "cannot decode <<0,0,3,97,98>>"),
        (b"\x00\x3c\x00\x0a" + bytes(7) + b"zz", "cannot decode <<0,0,0,0,0,0,0,122,122>>"),
        (b"\x00\x32\x00\x0a\x00\x00\x01q\x00\x00\x00\xff\xff",
         "cannot decode <<0,0,1,113,0,0,0,255,255>>"),
        (b"\x00\x32\x00\x1e", "cannot decode <<>>"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused_in_rabbitmqs_words(
    payload: bytes, text: str
) -> None:
    with pytest.raises(WireError) as refused:
        decode_method(payload)
    assert (refused.value.reply_code, refused.value.text) == (ReplyCode.FRAME_ERROR, text)
    assert refused.value.class_id == payload[1]


def test_a_routing_key_may_be_any_octets() -> None:
    payload = encode_method(methods.BasicPublish("x", "KEY")).replace(b"KEY", b"\xff\x00\xc3")
    method = decode_method(payload)
    assert isinstance(method, methods.BasicPublish)
    assert method.routing_key.encode(errors=LENIENT) == b"\xff\x00\xc3"
    assert encode_method(method) == payload


def test_access_request_has_the_layout_of_amqp_0_9() -> None:
    request = methods.AccessRequest("Narnia", passive=False)
    assert encode_method(request) == b"\x00\x1e\x00\x0a\x06Narnia\x1c"
    assert decode_method(encode_method(request)) == request
    assert encode_method(methods.AccessRequestOk()) == b"\x00\x1e\x00\x0b\x00\x01"


@pytest.mark.parametrize(
    ("method", "complaint"),
    [
        (methods.BasicQos(prefetch_count=2**16), "basic.qos: "),
        (methods.BasicAck(-1), "basic.ack: "),
        (methods.QueueDeclare("x" * 256), "queue.declare: a short string holds 255 bytes, got 256"),
        (methods.QueueDeclare("\ud800"), "queue.declare: not a text"),
        (methods.QueueDeclare(arguments={"x": object()}), "queue.declare: a field table has no"),
    ],
)
def test_an_argument_that_does_not_fit_names_its_method(method: Method, complaint: str) -> None:
    with pytest.raises(EncodeError, match=complaint):
        encode_method(method)


def test_names() -> None:
    assert method_name(50, 10) == "queue.declare"
    assert method_name(40, 51) == "exchange.unbind-ok"
    assert method_name(50, 99) == "50.99"
