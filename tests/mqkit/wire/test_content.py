"""Joining frames into commands, and refusing what does not belong: RabbitMQ's codes and texts."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import (
    FRAME_MIN_SIZE,
    Command,
    ContentAssembler,
    Frame,
    FrameParser,
    FrameType,
    Properties,
    WireError,
    content_frames,
    encode_header,
    encode_method,
    methods,
)

Strategy = st.SearchStrategy[Any]

PUBLISH = methods.BasicPublish("e", "k")


def method(value: methods.Method) -> Frame:
    return Frame(FrameType.METHOD, 1, encode_method(value))


def header(body_size: int) -> Frame:
    return Frame(FrameType.HEADER, 1, encode_header(body_size, Properties()))


def body(octets: bytes) -> Frame:
    return Frame(FrameType.BODY, 1, octets)


@given(data=st.data(), octets=st.binary(max_size=100), frame_max=st.integers(4096, 4200))
def test_a_message_is_joined_again(
    data: st.DataObject, octets: bytes, frame_max: int, any_properties: Strategy
) -> None:
    properties = data.draw(any_properties)
    octets *= 100  # several frames, most of the time
    parser = FrameParser(frame_max)
    parser.receive_data(content_frames(1, PUBLISH, properties, octets, frame_max))
    assembler = ContentAssembler()
    commands = []
    while (frame := parser.next_frame()) is not None:
        commands.append(assembler.receive(frame))
    assert commands[:-1] == [None] * (len(commands) - 1)
    command = commands[-1]
    assert command == Command(PUBLISH, encode_header(len(octets), properties), octets)
    assert command is not None
    assert command.properties() == properties


def test_a_method_without_content_is_a_command_at_once() -> None:
    assembler = ContentAssembler()
    assert assembler.receive(method(methods.BasicQos())) == Command(methods.BasicQos())


def test_an_empty_body_needs_no_frame_and_an_empty_frame_is_no_harm() -> None:
    assembler = ContentAssembler()
    assert assembler.receive(method(PUBLISH)) is None
    assert assembler.receive(header(0)) == Command(PUBLISH, header(0).payload, b"")
    assert assembler.receive(method(PUBLISH)) is None
    assert assembler.receive(header(2)) is None
    for octets in (b"", b"a", b""):
        assert assembler.receive(body(octets)) is None
    assert assembler.receive(body(b"b")) == Command(PUBLISH, header(2).payload, b"ab")


@pytest.mark.parametrize(
    ("before", "refused", "code", "text"),
    [
        ([], header(1), 505, "expected method frame, got non method frame instead"),
        ([], body(b"x"), 505, "expected method frame, got non method frame instead"),
        (
            [method(PUBLISH)],
            method(PUBLISH),
            505,
            "expected content header for class 60, got non content header frame instead",
        ),
        (
            [method(PUBLISH)],
            body(b"x"),
            505,
            "expected content header for class 60, got non content header frame instead",
        ),
        (
            [method(PUBLISH)],
            Frame(FrameType.HEADER, 1, struct.pack(">HHQH", 50, 0, 1, 0)),
            505,
            "expected content header for class 60, got one for class 50 instead",
        ),
        (
            [method(PUBLISH)],
            Frame(FrameType.HEADER, 1, struct.pack(">HHQH", 60, 1, 1, 0)),
            505,
            "expected content header for class 60, got non content header frame instead",
        ),
        (
            [method(PUBLISH)],
            Frame(FrameType.HEADER, 1, b"\x00\x3c"),
            501,
            "content header is cut short",
        ),
        (
            [method(PUBLISH), header(2)],
            method(PUBLISH),
            505,
            "expected content body, got non content body frame instead",
        ),
        (
            [method(PUBLISH), header(2)],
            header(2),
            505,
            "expected content body, got non content body frame instead",
        ),
        (
            [method(PUBLISH), header(2)],
            body(b"xxx"),
            501,
            "content body frame exceeds remaining content size",
        ),
        (
            [method(PUBLISH), header(2), body(b"x")],
            body(b"xx"),
            501,
            "content body frame exceeds remaining content size",
        ),
    ],
)
def test_a_frame_that_does_not_belong_is_refused_and_changes_nothing(
    before: list[Frame], refused: Frame, code: int, text: str
) -> None:
    assembler = ContentAssembler()
    for frame in before:
        assert assembler.receive(frame) is None
    with pytest.raises(WireError) as error:
        assembler.receive(refused)
    assert (error.value.reply_code, error.value.text) == (code, text)
    named = (60, 40) if before else (0, 0)
    assert (error.value.class_id, error.value.method_id) == named

    rest = [method(PUBLISH), header(2), body(b"x"), body(b"y")][len(before) :]
    commands = [assembler.receive(frame) for frame in rest]
    assert commands[-1] == Command(PUBLISH, header(2).payload, b"xy")


def test_a_body_is_bounded_by_what_its_header_may_say() -> None:
    assembler = ContentAssembler(max_body_size=10)
    assembler.receive(method(PUBLISH))
    with pytest.raises(WireError) as error:
        assembler.receive(header(11))
    assert error.value.reply_code == 501
    assert error.value.text == "content body size 11 exceeds maximum allowed size 10"
    assert assembler.receive(header(10)) is None
    assert assembler.receive(body(b"x" * 10)) == Command(PUBLISH, header(10).payload, b"x" * 10)


def test_the_largest_size_a_header_can_say_is_refused_by_default() -> None:
    assembler = ContentAssembler()
    assembler.receive(method(PUBLISH))
    with pytest.raises(WireError, match="exceeds maximum allowed size 16777216"):
        assembler.receive(header(2**64 - 1))


def test_properties_that_cannot_be_read_are_refused_only_when_asked_for() -> None:
    assembler = ContentAssembler()
    assembler.receive(method(PUBLISH))
    broken = Frame(FrameType.HEADER, 1, struct.pack(">HHQH", 60, 0, 0, 0x8000))
    command = assembler.receive(broken)
    assert command is not None
    with pytest.raises(WireError):
        command.properties()
    assert assembler.receive(method(methods.BasicAck(1))) == Command(methods.BasicAck(1))


@given(st.lists(st.tuples(st.sampled_from([1, 2, 3]), st.binary(max_size=30)), max_size=10))
def test_random_frames_raise_nothing_but_wire_error(frames: list[tuple[int, bytes]]) -> None:
    assembler = ContentAssembler()
    for type, payload in frames:
        try:
            assembler.receive(Frame(FrameType(type), 1, payload))
        except WireError:
            pass


def test_a_message_may_be_as_large_as_the_bound() -> None:
    assembler = ContentAssembler(max_body_size=3 * FRAME_MIN_SIZE)
    assembler.receive(method(PUBLISH))
    assembler.receive(header(3 * FRAME_MIN_SIZE))
    for _ in range(2):
        assert assembler.receive(body(b"x" * FRAME_MIN_SIZE)) is None
    command = assembler.receive(body(b"x" * FRAME_MIN_SIZE))
    assert command is not None
    assert command.body == b"x" * (3 * FRAME_MIN_SIZE)
