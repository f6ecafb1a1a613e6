"""The one that keeps a client connected, and the only one.

It owns two connections - mqkit never publishes and consumes on the same one, for a broker that is
short of memory stops reading a connection that publishes, and acks would be stuck behind. When
either is lost, both are replaced: connect with backoff over the hosts, then topology, then
consumers, then "ready". The states and all moves between them are in
:mod:`mqkit.supervision.states`.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mqkit.errors import Closed, ConnectionLost, DeadlineExceeded, MqkitError
from mqkit.supervision.attempts import is_lasting, most_telling
from mqkit.supervision.pauses import ReconnectPauses
from mqkit.supervision.readiness_log import ReadinessLog
from mqkit.supervision.states import Change, Event, State, after
from mqkit.timing.clock import SYSTEM_CLOCK, Clock
from mqkit.transport.seam import Channel, Connection, Endpoint, Transport

if TYPE_CHECKING:
    from mqkit.settings import Settings

_LOG = logging.getLogger(__name__)

ConnectionHook = Callable[[Connection], Awaitable[None]]
ReadyHook = Callable[[], Awaitable[None]]


Observer = Callable[[Change], None]
"""Called on the event loop, in order, right after each move. Must not block or raise."""


class _Pair:
    """The two connections, and what became of the first of them to go."""

    def __init__(self, endpoint: Endpoint, publishing: Connection, consuming: Connection) -> None:
        self.endpoint = endpoint
        self.publishing = publishing
        self.consuming = consuming
        self.lost: asyncio.Future[MqkitError] = asyncio.get_running_loop().create_future()
        self.blocked: dict[str, str] = {}

    async def close(self) -> None:
        await asyncio.gather(self.publishing.close(), self.consuming.close())


async def _nothing(_: Connection) -> None:
    """The hook of who has nothing to set up."""


async def _nothing_more() -> None:
    """The hook of who waits for nothing."""


class Supervisor:
    """An async context manager: entering starts connecting and returns at once; leaving closes.

    After each connect ``on_declare`` and then ``on_consume`` are called with the consuming
    connection, then the state turns ready, then ``on_ready`` is called. A hook that raises a
    transport error, or that takes longer than ``settings.setup_timeout_s``, is called again
    after another connect. Any other error of a hook is final at the first start; later it is
    logged, and tried again.
    """

    def __init__(
        self,
        transport: Transport,
        endpoints: Sequence[Endpoint],
        settings: Settings,
        *,
        on_declare: ConnectionHook = _nothing,
        on_consume: ConnectionHook = _nothing,
        on_ready: ReadyHook = _nothing_more,
        clock: Clock = SYSTEM_CLOCK,
        rng: Callable[[], float] = random.random,
    ) -> None:
        self._transport = transport
        self._endpoints = tuple(endpoints)
        self._settings = settings
        self._on_declare = on_declare
        self._on_consume = on_consume
        self._on_ready = on_ready
        self._clock = clock
        self._pauses = ReconnectPauses(settings.reconnect_first_s, settings.reconnect_max_s, rng)
        self._readiness_log = ReadinessLog(clock)
        self._state = State.CONNECTING
        self._changed = asyncio.Event()
        self._observers: list[Observer] = []
        self._pair: _Pair | None = None
        self._was_ready = False
        self._problem: BaseException | None = None
        self._failure: BaseException | None = None
        self._task: asyncio.Task[None] | None = None
        self._reminding: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()

    # -- what its users call -----------------------------------------------------------------

    @property
    def state(self) -> State:
        return self._state

    async def __aenter__(self) -> Supervisor:
        self._readiness_log.begin()
        self._task = asyncio.create_task(self._run())
        self._reminding = asyncio.create_task(self._remind())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call ``observer`` after each move from now on, until the returned function is called."""
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    def describe(self) -> str:
        """The state in words, with the last problem where there is one."""
        if self._pair is not None and self._pair.blocked:
            return f"{self._state}: the broker blocks: {', '.join(self._pair.blocked.values())}"
        if self._state in (State.CONNECTING, State.DECLARING) and self._problem is not None:
            return f"{self._state}: {self._problem}"
        return str(self._state)

    async def wait_ready(self, timeout_s: float | None = None) -> None:
        """Return when the state is ready, at once if it is.

        Raises what made the first start fail, if it has failed - a refused login or vhost ends it,
        a host that does not answer does not; :exc:`~mqkit.errors.DeadlineExceeded`, naming the
        last problem, after ``timeout_s`` seconds; :exc:`~mqkit.errors.Closed` after
        :meth:`drain` or :meth:`close`.
        """
        try:
            async with self._clock.timeout(timeout_s):
                while self._state is not State.READY:
                    self._raise_if_over(State.DRAINING, State.CLOSED)
                    await self._changed.wait()
        except TimeoutError:
            raise DeadlineExceeded(f"not ready within {timeout_s:g} s; {self.describe()}") from None

    @property
    def is_writable(self) -> bool:
        """True when the broker takes publishes: when ready, or draining and not blocked."""
        if self._state is State.READY:
            return True
        pair = self._pair
        return self._state is State.DRAINING and pair is not None and not pair.blocked

    async def wait_writable(self) -> None:
        """Return when it :attr:`is_writable`.

        Waits as long as it takes. Raises what made the first start fail, or
        :exc:`~mqkit.errors.Closed` after :meth:`close`.
        """
        while not self.is_writable:
            self._raise_if_over(State.CLOSED)
            await self._changed.wait()

    @property
    def blocked(self) -> str | None:
        """The broker's reason while it blocks publishers, else ``None``."""
        if self._pair is None:
            return None
        return next(iter(self._pair.blocked.values()), None)

    @property
    def endpoint(self) -> Endpoint | None:
        """The broker that it is connected to; ``None`` while there is none."""
        return None if self._pair is None else self._pair.endpoint

    def on_blocked(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Call ``callback`` with the reason each time that the broker begins to block, until the
        returned function is called. As an observer, it must not block or raise."""

        def tell(change: Change) -> None:
            if change.event is Event.BLOCKED and (reason := self.blocked) is not None:
                callback(reason)

        return self.observe(tell)

    def publishing_connection(self) -> Connection:
        """The connection for publishing.

        Raises :exc:`~mqkit.errors.ConnectionLost` while there is none, and
        :exc:`~mqkit.errors.Closed` when there will be none any more.
        """
        return self._connected().publishing

    def consuming_connection(self) -> Connection:
        """The connection for everything else. Raises as :meth:`publishing_connection`."""
        return self._connected().consuming

    async def open_publishing_channel(self) -> Channel:
        """Wait for the broker to take publishes, then open a confirm channel: for a pool.

        Raises as :meth:`wait_writable`, and :exc:`~mqkit.errors.TransportError` when the connection
        goes in the meantime.
        """
        await self.wait_writable()
        try:
            return await self.publishing_connection().channel(confirms=True)
        except Closed as error:
            # Closed here, because its twin was lost: to a pool that is a connection like any other.
            self._raise_if_over(State.CLOSED)
            raise ConnectionLost(str(error)) from error

    async def open_another(self, role: str) -> Connection:
        """Open one more connection to the broker that the two lead to. It is the caller's to keep
        and to close. Raises as :meth:`publishing_connection`, and as connecting does."""
        return await self._open(self._connected().endpoint, role)

    def drain(self) -> None:
        """Connect no more; an open pair of connections stays until :meth:`close`. Idempotent."""
        if self._state is not State.CLOSED:
            self._fire(Event.DRAIN)
            if self._pair is None:
                self._fire(Event.LOST, "there is no connection to finish anything on")

    async def close(self) -> None:
        """Close both connections. Idempotent."""
        if self._state is not State.CLOSED:
            self._fire(Event.CLOSE)
        tasks = [task for task in (self._task, self._reminding) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        pair, self._pair = self._pair, None
        if pair is not None:
            await pair.close()
        await asyncio.gather(*self._closing)

    # -- how it keeps connected --------------------------------------------------------------

    async def _run(self) -> None:
        while self._state is State.CONNECTING:
            problem = await self._live_once()
            if self._state is not State.CONNECTING:
                return
            self._problem = problem
            if self._is_final(problem):
                self._failure = problem
                self._fire(Event.CLOSE, str(problem))
                return
            self._readiness_log.failed(problem)
            await self._clock.sleep(self._pauses.next_s(problem))

    async def _remind(self) -> None:
        """Have it said now and then that the client is not ready, while it is not."""
        while self._state is not State.CLOSED:
            changed = self._changed
            try:
                async with self._clock.timeout(self._readiness_log.reminder_s):
                    await changed.wait()
            except TimeoutError:
                self._readiness_log.remind(self.describe())

    async def _live_once(self) -> BaseException:
        """Connect, set up, stay until it ends; returns why it ended."""
        try:
            pair = await self._connect()
        except MqkitError as error:
            return error
        if self.state is not State.CONNECTING:  # drained meanwhile
            self._let_go(pair)
            return Closed(f"the client is {self._state}")
        self._adopt(pair)
        try:
            async with self._clock.timeout(self._settings.setup_timeout_s):
                await self._on_declare(pair.consuming)
                await self._on_consume(pair.consuming)
            self._now_ready(pair)
            await self._on_ready()
            problem: BaseException = await pair.lost
        except TimeoutError:
            problem = DeadlineExceeded(
                f"topology and consumers were not set up in {self._settings.setup_timeout_s:g} s"
            )
        except Exception as error:  # noqa: BLE001 - hooks are other people's code
            problem = error
        if pair.lost.done():
            # Whatever a hook made of it: losing one connection closes its twin under the hook.
            problem = pair.lost.result()
        if self._pair is pair and self._state is not State.CLOSED:
            self._lose(pair, str(problem))
        return problem

    async def _connect(self) -> _Pair:
        problems: list[MqkitError] = []
        for endpoint in self._endpoints:
            try:
                return await self._connect_to(endpoint)
            except MqkitError as error:
                _LOG.info("can't connect to %s: %s", endpoint, error)
                problems.append(error)
                self._problem = error
        raise most_telling(problems)

    async def _connect_to(self, endpoint: Endpoint) -> _Pair:
        publishing = await self._open(endpoint, "publishing")
        try:
            return _Pair(endpoint, publishing, await self._open(endpoint, "consuming"))
        except BaseException:
            await publishing.close()
            raise

    async def _open(self, endpoint: Endpoint, role: str) -> Connection:
        return await self._transport.connect(
            endpoint,
            name=f"{self._settings.connection_name} ({role})",
            timeout_s=self._settings.connect_timeout_s,
            heartbeat_s=self._settings.heartbeat_s,
        )

    def _adopt(self, pair: _Pair) -> None:
        self._pair = pair
        self._fire(Event.CONNECTED)
        for role, connection in (("publishing", pair.publishing), ("consuming", pair.consuming)):
            connection.on_blocked(partial(self._blocked, pair, role))
            connection.on_closed(partial(self._connection_closed, pair))

    def _now_ready(self, pair: _Pair) -> None:
        if self._pair is not pair:
            raise ConnectionLost("the connection was lost while setting up")
        if self._state is State.DRAINING:
            return
        self._was_ready = True
        self._problem = None
        self._pauses.reset()
        self._fire(Event.DECLARED)
        if pair.blocked:
            self._fire(Event.BLOCKED, ", ".join(pair.blocked.values()))

    def _connection_closed(self, pair: _Pair, error: MqkitError | None) -> None:
        why = error or ConnectionLost("the connection was closed by this program")
        if not pair.lost.done():
            pair.lost.set_result(why)
        if self._pair is pair and self._state is not State.CLOSED:
            self._lose(pair, str(why))

    def _lose(self, pair: _Pair, detail: str) -> None:
        self._pair = None
        self._let_go(pair)
        self._fire(Event.LOST, detail)

    def _let_go(self, pair: _Pair) -> None:
        closing = asyncio.create_task(pair.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _blocked(self, pair: _Pair, role: str, reason: str | None) -> None:
        if self._pair is not pair or self._state is State.CLOSED:
            return
        if reason is not None:
            pair.blocked[role] = reason
            self._fire(Event.BLOCKED, reason)
        elif pair.blocked.pop(role, None) is not None and not pair.blocked:
            self._fire(Event.UNBLOCKED)

    def _fire(self, event: Event, detail: str = "") -> None:
        change = Change(self._state, event, after(self._state, event), detail)
        self._state = change.after
        _LOG.info("%s -> %s %s", change.before, change.after, detail)
        self._readiness_log.changed(change)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        for observer in tuple(self._observers):
            observer(change)

    def _is_final(self, problem: BaseException) -> bool:
        if self._was_ready:
            if not isinstance(problem, MqkitError):
                _LOG.error("a hook failed; it is tried again", exc_info=problem)
            return False
        return is_lasting(problem)

    def _raise_if_over(self, *states: State) -> None:
        if self._failure is not None:
            raise self._failure
        if self._state in states:
            raise Closed(f"the client is {self._state}")

    def _connected(self) -> _Pair:
        self._raise_if_over(State.CLOSED)
        if self._pair is None:
            raise ConnectionLost(f"there is no connection; {self.describe()}")
        return self._pair
