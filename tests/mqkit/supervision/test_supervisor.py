"""The supervisor: connecting, hooks in order, recovery, refusals, blocking, draining."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from mqkit.errors import (
    Closed,
    ConfigurationError,
    ConnectionLost,
    ConnectionRefused,
    DeadlineExceeded,
    MqkitError,
    Unreachable,
)
from mqkit.settings import Settings
from mqkit.supervision.states import State
from mqkit.supervision.supervisor import Supervisor
from mqkit.testing.clock import FakeClock
from mqkit.testing.proxy import FaultyProxy
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Connection, Credentials, Endpoint, OnBlocked, OnClosed
from mqkit.url import parse

pytestmark = pytest.mark.anyio

WAIT_S = 10.0
FAST = Settings.load(urls="amqp://127.0.0.1/", reconnect_first_s=0.01, reconnect_max_s=0.05)


def fast(*urls: str, **options: Any) -> tuple[NativeTransport, tuple[Endpoint, ...], Settings]:
    """Arguments for a supervisor that reconnects at once."""
    return NativeTransport(), tuple(parse(url) for url in urls), FAST.model_copy(update=options)


class States:
    """Records the states, and waits for one."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.seen: list[State] = []
        self._supervisor = supervisor
        self._news = asyncio.Event()
        supervisor.observe(self._changed)

    def _changed(self, change: Any) -> None:
        self.seen.append(change.after)
        self._news.set()

    async def until(self, state: State, times: int = 1) -> None:
        async with asyncio.timeout(WAIT_S):
            while self.seen.count(state) < times:
                self._news.clear()
                await self._news.wait()


# -- against a broker ------------------------------------------------------------------------


async def test_hooks_run_in_order_before_and_after_ready(broker_url: str) -> None:
    order: list[str] = []

    def hook(what: str) -> Callable[..., Awaitable[None]]:
        async def run(*connections: Connection) -> None:
            assert all(connection.is_open for connection in connections)
            order.append(f"{what} while {supervisor.state}")

        return run

    supervisor = Supervisor(
        *fast(broker_url),
        on_declare=hook("topology"),
        on_consume=hook("consumers"),
        on_ready=hook("ready"),
    )
    states = States(supervisor)
    async with supervisor:
        await supervisor.wait_ready(WAIT_S)
        assert supervisor.publishing_connection().is_open
    assert order == ["topology while declaring", "consumers while declaring", "ready while ready"]
    assert states.seen == [State.DECLARING, State.READY, State.CLOSED]
    with pytest.raises(Closed):
        supervisor.publishing_connection()


async def test_a_lost_connection_is_replaced_and_everything_set_up_again(
    proxy: FaultyProxy,
) -> None:
    declared: list[Connection] = []

    async def declare(connection: Connection) -> None:
        declared.append(connection)

    async with Supervisor(*fast(proxy.url), on_declare=declare) as supervisor:
        states = States(supervisor)
        await supervisor.wait_ready(WAIT_S)
        old = supervisor.publishing_connection()
        proxy.cut()
        await states.until(State.READY, 2)
        assert len(declared) == 2
        assert not old.is_open
        assert supervisor.publishing_connection().is_open
        assert proxy.accepted == 4


async def test_a_host_that_is_down_is_passed_over(broker_url: str, unused_port: int) -> None:
    dead = f"amqp://guest:guest@127.0.0.1:{unused_port}/"
    async with Supervisor(*fast(dead, broker_url)) as supervisor:
        await supervisor.wait_ready(WAIT_S)


async def test_a_wrong_password_ends_the_first_start_at_once(broker_url: str) -> None:
    transport, endpoints, settings = fast(broker_url)
    wrong = [replace(endpoints[0], credentials=Credentials("guest", "s3cret"))]
    async with Supervisor(transport, wrong, settings) as supervisor:
        with pytest.raises(ConnectionRefused, match="403"):
            await supervisor.wait_ready(WAIT_S)
        assert supervisor.state is State.CLOSED
        with pytest.raises(ConnectionRefused):
            await supervisor.wait_writable()


async def test_a_broker_that_is_down_is_waited_for_until_the_deadline(unused_port: int) -> None:
    dead = f"amqp://guest:s3cret@127.0.0.1:{unused_port}/"
    async with Supervisor(*fast(dead)) as supervisor:
        with pytest.raises(DeadlineExceeded) as late:
            await supervisor.wait_ready(0.2)
        assert str(unused_port) in str(late.value)
        assert "s3cret" not in str(late.value)


async def test_the_broker_blocks_and_unblocks(proxy: FaultyProxy) -> None:
    async with Supervisor(*fast(proxy.url)) as supervisor:
        states = States(supervisor)
        await supervisor.wait_ready(WAIT_S)
        proxy.block("low on disk")
        await states.until(State.BLOCKED)
        assert "low on disk" in supervisor.describe()
        waiting = asyncio.create_task(supervisor.wait_writable())
        proxy.unblock()
        async with asyncio.timeout(WAIT_S):
            await waiting
        assert supervisor.state is State.READY
        proxy.block()
        await states.until(State.BLOCKED, 2)
        proxy.cut()
        await states.until(State.READY, 3)
        assert supervisor.describe() == "ready"


async def test_draining_keeps_the_connections_and_replaces_them_no_more(
    proxy: FaultyProxy,
) -> None:
    async with Supervisor(*fast(proxy.url)) as supervisor:
        states = States(supervisor)
        await supervisor.wait_ready(WAIT_S)
        supervisor.drain()
        supervisor.drain()
        assert supervisor.state is State.DRAINING
        await supervisor.wait_writable()
        assert (await supervisor.open_publishing_channel()).is_open
        with pytest.raises(Closed):
            await supervisor.wait_ready(WAIT_S)
        proxy.cut()
        await states.until(State.CLOSED)
        with pytest.raises(Closed):
            await supervisor.wait_writable()
    assert proxy.accepted == 2


async def test_a_connection_lost_during_set_up_starts_over(proxy: FaultyProxy) -> None:
    attempts = 0

    async def declare(connection: Connection) -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            proxy.cut()
        await (await connection.channel()).close()

    async with Supervisor(*fast(proxy.url), on_declare=declare) as supervisor:
        await supervisor.wait_ready(WAIT_S)
    assert attempts == 2


async def test_a_topology_that_cant_be_used_ends_the_first_start(broker_url: str) -> None:
    async def declare(_: Connection) -> None:
        raise ConfigurationError("line 3: no such thing")

    async with Supervisor(*fast(broker_url), on_declare=declare) as supervisor:
        with pytest.raises(ConfigurationError, match="line 3"):
            await supervisor.wait_ready(WAIT_S)


# -- without one: time, and what a broker rarely does ------------------------------------------


class ScriptedConnection:
    """A connection of a :class:`ScriptedTransport`."""

    def __init__(self) -> None:
        self.is_open = True
        self.server_properties: dict[str, object] = {}
        self._callbacks: list[OnClosed] = []

    async def channel(self, *, confirms: bool = False) -> Any:
        """Never opens; as long as nothing ends the connection, it does not fail either."""
        ended = asyncio.Event()
        self.on_closed(lambda _: ended.set())
        await ended.wait()
        raise Closed("the channel was closed by this program")

    async def close(self) -> None:
        self.ends(None)

    def ends(self, error: MqkitError | None) -> None:
        if self.is_open:
            self.is_open = False
            for callback in self._callbacks:
                callback(error)

    def on_blocked(self, callback: OnBlocked) -> None:
        """This broker never blocks."""

    def on_closed(self, callback: OnClosed) -> None:
        self._callbacks.append(callback)


class ScriptedTransport:
    """Connects, or fails with ``problem`` while there is one."""

    def __init__(self) -> None:
        self.problem: MqkitError | None = None
        self.connections: list[ScriptedConnection] = []
        self.asked: list[str] = []
        self.accepting = asyncio.Event()
        self.accepting.set()

    async def connect(
        self, endpoint: Endpoint, *, name: str, timeout_s: float, heartbeat_s: int = 60
    ) -> Connection:
        self.asked.append(endpoint.host)
        if self.problem is not None:
            raise self.problem
        await self.accepting.wait()
        self.connections.append(ScriptedConnection())
        return self.connections[-1]


HOSTS = (Endpoint("one"), Endpoint("two"))
SLOW = Settings.load(urls="amqp://127.0.0.1/", reconnect_first_s=1.0, reconnect_max_s=4.0)


async def test_waits_between_attempts_grow_to_the_ceiling_and_start_over_when_ready() -> None:
    transport, clock = ScriptedTransport(), FakeClock()
    transport.problem = Unreachable("down")
    async with Supervisor(transport, HOSTS, SLOW, clock=clock, rng=lambda: 1.0) as supervisor:
        for wait_s in (1.0, 2.0, 4.0, 4.0):
            await clock.until_waiting(2)
            rounds = len(transport.asked)
            clock.advance(wait_s - 0.01)
            await asyncio.sleep(0)
            assert len(transport.asked) == rounds
            clock.advance(0.01)
        await clock.until_waiting(2)
        assert transport.asked == ["one", "two"] * 5
        transport.problem = None
        clock.advance(4.0)
        await supervisor.wait_ready()
        transport.connections[0].ends(ConnectionLost("cut"))
        await clock.until_waiting(2)
        clock.advance(1.0)
        await supervisor.wait_ready()


async def test_a_broker_that_is_down_is_told_at_first_and_then_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    transport, clock = ScriptedTransport(), FakeClock()
    transport.problem = Unreachable("down")
    async with Supervisor(transport, HOSTS, SLOW, clock=clock, rng=lambda: 1.0):
        for _ in range(100):
            await clock.until_waiting(2)  # the next attempt, and the next reminder
            clock.advance(4.0)
    attempts, minutes = caplog.messages[:3], caplog.messages[3:]
    assert attempts == ["can't connect, trying again: down"] * 3
    assert minutes == [f"not ready for {n} min; connecting: down" for n in range(1, 7)]


async def test_losing_one_connection_closes_the_other() -> None:
    transport, clock = ScriptedTransport(), FakeClock()
    async with Supervisor(transport, HOSTS, SLOW, clock=clock) as supervisor:
        await supervisor.wait_ready()
        publishing, consuming = transport.connections
        closed = asyncio.Event()
        publishing.on_closed(lambda _: closed.set())
        consuming.ends(ConnectionLost("cut"))
        assert supervisor.state is State.CONNECTING
        async with asyncio.timeout(WAIT_S):
            await closed.wait()


async def test_a_refusal_is_not_final_once_it_has_worked() -> None:
    transport, clock = ScriptedTransport(), FakeClock()
    async with Supervisor(transport, HOSTS, SLOW, clock=clock) as supervisor:
        await supervisor.wait_ready()
        transport.problem = ConnectionRefused(403, "ACCESS_REFUSED")
        transport.connections[0].ends(ConnectionLost("cut"))
        for _ in range(3):
            await clock.until_waiting(2)
            clock.advance(4.0)
        await clock.until_waiting(2)
        assert "403" in supervisor.describe()
        transport.problem = None
        clock.advance(4.0)
        await supervisor.wait_ready()


async def test_a_broker_that_is_starting_is_not_a_refusal() -> None:
    transport, clock = ScriptedTransport(), FakeClock()
    transport.problem = ConnectionRefused(320, "CONNECTION_FORCED")
    async with Supervisor(transport, HOSTS, SLOW, clock=clock) as supervisor:
        await clock.until_waiting(2)
        transport.problem = None
        clock.advance(4.0)
        await supervisor.wait_ready()


async def test_a_hook_that_takes_too_long_is_called_again() -> None:
    transport, clock = ScriptedTransport(), FakeClock()
    calls = 0

    async def declare(_: Connection) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            await asyncio.Event().wait()

    supervisor = Supervisor(transport, HOSTS, SLOW, on_declare=declare, clock=clock)
    async with supervisor:
        states = States(supervisor)
        await clock.until_waiting(2)
        clock.advance(SLOW.setup_timeout_s)
        await states.until(State.CONNECTING)
        await clock.until_waiting(2)
        assert "set up" in supervisor.describe()
        clock.advance(4.0)
        await supervisor.wait_ready()
    assert calls == 2


async def test_a_hook_that_fails_later_is_logged_and_called_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    transport, clock = ScriptedTransport(), FakeClock()
    calls = 0

    async def consume(_: Connection) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise ZeroDivisionError("the hook's own mistake")

    async with Supervisor(transport, HOSTS, SLOW, on_consume=consume, clock=clock) as supervisor:
        await supervisor.wait_ready()
        transport.connections[0].ends(ConnectionLost("cut"))
        for _ in range(2):
            await clock.until_waiting(2)
            clock.advance(4.0)
        await supervisor.wait_ready()
    assert calls == 3
    assert "the hook's own mistake" in caplog.text


async def test_draining_without_a_connection_is_the_end() -> None:
    transport, clock = ScriptedTransport(), FakeClock()
    transport.problem = Unreachable("down")
    async with Supervisor(transport, HOSTS, SLOW, clock=clock) as supervisor:
        await clock.until_waiting(2)
        supervisor.drain()
        assert supervisor.state is State.CLOSED
        with pytest.raises(Closed):
            await supervisor.wait_writable()


async def test_a_pair_that_is_lost_while_a_pool_opens_a_channel_is_no_end() -> None:
    transport, clock = ScriptedTransport(), FakeClock()
    async with Supervisor(transport, HOSTS, SLOW, clock=clock) as supervisor:
        await supervisor.wait_ready()
        opening = asyncio.create_task(supervisor.open_publishing_channel())
        await asyncio.sleep(0)
        transport.connections[1].ends(ConnectionLost("cut"))
        with pytest.raises(ConnectionLost):
            await opening
    with pytest.raises(Closed):
        await supervisor.open_publishing_channel()


async def test_a_pair_that_is_lost_under_a_hook_at_the_first_start_starts_over() -> None:
    transport, clock = ScriptedTransport(), FakeClock()
    calls = 0

    async def declare(connection: Connection) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            asyncio.get_running_loop().call_soon(
                transport.connections[0].ends, ConnectionLost("cut")
            )
            await connection.channel()

    async with Supervisor(transport, HOSTS, SLOW, on_declare=declare, clock=clock) as supervisor:
        states = States(supervisor)
        await states.until(State.CONNECTING)
        async with asyncio.timeout(WAIT_S):
            while "cut" not in supervisor.describe():  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0)
        await clock.until_waiting(2)
        clock.advance(4.0)
        await supervisor.wait_ready()
    assert calls == 2


async def test_a_connection_that_comes_while_draining_is_closed_again() -> None:
    transport, clock = ScriptedTransport(), FakeClock()
    transport.accepting.clear()
    async with Supervisor(transport, HOSTS, SLOW, clock=clock) as supervisor:
        states = States(supervisor)
        await asyncio.sleep(0)
        supervisor.drain()
        transport.accepting.set()
        for _ in range(10):  # more turns of the loop than connecting takes
            await asyncio.sleep(0)
        assert len(transport.connections) == 2
        assert not any(connection.is_open for connection in transport.connections)
    assert states.seen == [State.DRAINING, State.CLOSED]


async def test_what_one_host_said_is_told_while_the_next_is_tried() -> None:
    class FirstIsDown(ScriptedTransport):
        async def connect(self, endpoint: Endpoint, **options: Any) -> Connection:
            if endpoint is HOSTS[0]:
                raise Unreachable("one is down")
            return await super().connect(endpoint, **options)

    transport, clock = FirstIsDown(), FakeClock()
    transport.accepting.clear()
    async with Supervisor(transport, HOSTS, SLOW, clock=clock) as supervisor:
        await asyncio.sleep(0)
        assert "one is down" in supervisor.describe()


async def test_a_block_is_told_with_its_reason_also_during_set_up(proxy: FaultyProxy) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def declare(_: Connection) -> None:
        proxy.block("low on disk")
        assert await told.get() == supervisor.blocked == "low on disk"

    supervisor = Supervisor(*fast(proxy.url), on_declare=declare)
    assert supervisor.blocked is None
    stop_telling = supervisor.on_blocked(told.put_nowait)
    states = States(supervisor)
    async with supervisor:
        await states.until(State.BLOCKED)
        proxy.unblock()
        await states.until(State.READY, 2)
        assert supervisor.blocked is None
        stop_telling()
        while not told.empty():
            told.get_nowait()
        proxy.block("low on memory")
        await states.until(State.BLOCKED, 2)
        assert supervisor.blocked == "low on memory"
        assert told.empty()
    assert supervisor.blocked is None
