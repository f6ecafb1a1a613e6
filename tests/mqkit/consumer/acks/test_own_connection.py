"""A connection for one consumer alone."""

from __future__ import annotations

from typing import Any, cast

import pytest

from mqkit.consumer.acks.own_connection import OwnConnection
from mqkit.errors import ConfigurationError, ConnectionLost
from mqkit.transport.seam import Connection

pytestmark = pytest.mark.anyio


class Silent:
    """A connection that can't pause reading."""

    def __init__(self) -> None:
        self.is_open = True
        self.said: list[str] = []
        self.closed: Any = None

    def on_closed(self, callback: Any) -> None:
        self.closed = callback

    async def close(self) -> None:
        self.is_open = False
        self.said.append("close")


class Pausing(Silent):
    def pause_reading(self) -> None:
        self.said.append("pause")

    def resume_reading(self) -> None:
        self.said.append("resume")


class Link:
    """The app, which opens connections of a kind."""

    def __init__(self, kind: type[Silent]) -> None:
        self.kind = kind
        self.opened: list[Silent] = []
        self.roles: list[str] = []

    def consuming_connection(self) -> Connection:
        raise AssertionError("not the client's")

    async def open_connection(self, role: str) -> Connection:
        self.roles.append(role)
        self.opened.append(self.kind())
        return cast(Connection, self.opened[-1])

    async def declare(self, connection: Connection) -> None: ...

    def current_name(self, queue: str) -> str:
        return f"{queue}-now"


async def test_it_is_opened_once_and_again_when_it_is_gone() -> None:
    link = Link(Pausing)
    own = OwnConnection(link, "a test")
    with pytest.raises(ConnectionLost, match="for a test is gone"):
        own.consuming_connection()
    first = await own.connect()
    assert await own.connect() is first
    assert own.consuming_connection() is first
    link.opened[0].is_open = False
    link.opened[0].closed(ConnectionLost("cut"))
    assert own.lost.is_set()
    with pytest.raises(ConnectionLost):
        own.consuming_connection()
    assert await own.connect() is not first
    assert link.roles == ["a test", "a test"]
    assert own.current_name("q") == "q-now"


async def test_reading_is_paused_and_goes_on_before_it_closes() -> None:
    link = Link(Pausing)
    own = OwnConnection(link, "a test")
    own.pause_reading()
    await own.close()
    await own.connect()
    own.pause_reading()
    await own.close()
    assert link.opened[0].said == ["pause", "resume", "close"]


async def test_a_transport_that_can_not_pause_is_refused() -> None:
    link = Link(Silent)
    with pytest.raises(ConfigurationError, match="Silent can't pause reading"):
        await OwnConnection(link, "a test").connect()
    assert link.opened[0].said == ["close"]
