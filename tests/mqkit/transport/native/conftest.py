"""A native connection without a network: the test plays the broker, in methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqkit.message import Delivery
from mqkit.transport.native.channel import Consumer, NativeChannel
from mqkit.transport.native.connection import NativeConnection
from mqkit.transport.seam import Credentials, Endpoint
from mqkit.wire import (
    PROTOCOL_HEADER,
    Command,
    ContentAssembler,
    FrameParser,
    FrameType,
    Properties,
    content_frames,
    method_frame,
    methods,
)
from mqkit.wire.methods import Method


class Answer:
    """A promise that remembers what it was given."""

    def __init__(self) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self._done = False

    def done(self) -> bool:
        return self._done

    def cancel(self) -> None:
        """Nobody waits any more."""
        self._done = True

    def set_result(self, result: Any, /) -> None:
        assert not self._done
        self.result, self._done = result, True

    def set_exception(self, exception: BaseException, /) -> None:
        assert not self._done
        self.error, self._done = exception, True


class Played:
    """A connection, and the broker that the test plays."""

    def __init__(self) -> None:
        self.opened = Answer()
        self.wakes = 0
        endpoint = Endpoint("mq", vhost="flights", credentials=Credentials("ann", "s3cret"))
        self.connection = NativeConnection(endpoint, "a test", 20, self.opened, self._wake)
        self._parser = FrameParser(131_072)
        self._assemblers: dict[int, ContentAssembler] = {}
        assert b"".join(self.connection.take_output()) == PROTOCOL_HEADER

    def _wake(self) -> None:
        self.wakes += 1

    answer = Answer

    @staticmethod
    def consumer(on_delivery: Callable[[Delivery], None]) -> Consumer:
        return Consumer(on_delivery, None, False)

    def says(self, *sent: Method, channel: int = 0) -> None:
        """The broker sends these methods."""
        self.connection.receive(b"".join(method_frame(channel, method) for method in sent))

    def sends(
        self,
        method: Method,
        body: bytes = b"",
        properties: Properties | None = None,
        channel: int = 1,
        frame_max: int = 131_072,
    ) -> None:
        """The broker sends a method with content."""
        properties = properties or Properties()
        self.connection.receive(content_frames(channel, method, properties, body, frame_max))

    def commands(self) -> list[Command]:
        """The methods that the connection wants written, with their contents."""
        self._parser.receive_data(b"".join(self.connection.take_output()))
        commands = []
        while (frame := self._parser.next_frame()) is not None:
            if frame.type is FrameType.HEARTBEAT:
                continue
            assembler = self._assemblers.setdefault(frame.channel, ContentAssembler())
            if (command := assembler.receive(frame)) is not None:
                commands.append(command)
        return commands

    def written(self) -> list[Method]:
        return [command.method for command in self.commands()]

    def open(self, frame_max: int = 131_072, heartbeat: int = 60) -> Played:
        capabilities = {"accept_consumer_cancel_ok": True}
        self.says(methods.ConnectionStart(server_properties={"capabilities": capabilities}))
        self.says(methods.ConnectionTune(2047, frame_max, heartbeat))
        self.says(methods.ConnectionOpenOk())
        self.written()
        assert self.opened.done()
        return self

    def channel(self, *, confirms: bool = False) -> NativeChannel:
        channel = self.connection.open_channel(confirms=confirms, promise=Answer())
        self.says(methods.ChannelOpenOk(), channel=channel.number)
        if confirms:
            self.says(methods.ConfirmSelectOk(), channel=channel.number)
        self.written()
        return channel


@pytest.fixture
def starting() -> Played:
    """Nothing has come from the broker yet."""
    return Played()


@pytest.fixture
def played() -> Played:
    """An open connection."""
    return Played().open()


@pytest.fixture
def new_played() -> Callable[[], Played]:
    """Makes open connections."""
    return lambda: Played().open()


@pytest.fixture
def answer() -> Callable[[], Answer]:
    return Answer
