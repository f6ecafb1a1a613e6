"""The server: a listening socket, the core, the journal's driver, and the order in which they turn.

    sockets --> core --(end of the loop's turn)--> flush: a portion of the work that is left over,
    disk ----> core --(end of the loop's turn)-->        sockets, disk kick, next tick

While work is left over, turn follows turn, and each looks at the sockets first.

Runs in whatever loop it is started in; uvloop is the entry point's choice.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING

from reference_broker.core.access.users import UserStore
from reference_broker.core.alarms import Alarm
from reference_broker.core.base.limits import Limits
from reference_broker.core.base.peer import Peer
from reference_broker.core.base.wall_clock import WallClock
from reference_broker.core.broker import Broker, TooManyConnections, forced_for
from reference_broker.core.connection.connection import Connection
from reference_broker.core.journal.journal import Fetched
from reference_broker.core.work.budget import TURN_UNITS, Budget
from reference_broker.errors import DiskFailed, ReferenceBrokerError
from reference_broker.http import (
    Listening,
    Node,
    Sampler,
    TurnShare,
    build_app,
    build_metrics_app,
)
from reference_broker.runtime.config import ServerConfig
from reference_broker.runtime.disk.disk_retry import DiskRetry
from reference_broker.runtime.disk.journal_driver import DiskDriver, JournalDriver, MemoryDriver
from reference_broker.runtime.initial_users import establish_users
from reference_broker.runtime.net.acceptor import SocketAdmission
from reference_broker.runtime.net.amqp_listener import AmqpListener
from reference_broker.runtime.net.connection_protocol import ConnectionProtocol
from reference_broker.runtime.net.held_ports import HeldPorts
from reference_broker.runtime.net.http_listener import HttpListener
from reference_broker.runtime.net.lost_sockets import LostSockets
from reference_broker.runtime.process.descriptors import SocketBound, descriptor_limit
from reference_broker.runtime.process.paced_log import PacedLog
from reference_broker.runtime.process.password_thread import PasswordThread
from reference_broker.runtime.process.pauses import Cause, Pauses
from reference_broker.runtime.process.timers import TickTimer
from reference_broker.runtime.process.turn_end import end_turn
from reference_broker.runtime.process.turn_meter import TurnMeter
from reference_broker.runtime.process.turn_pace import next_units
from reference_broker.runtime.tls.client import tls_session
from reference_broker.runtime.tls.config import LoginFrom

if TYPE_CHECKING:
    from reference_broker.runtime.cluster.broker_node import BrokerNode
    from reference_broker.runtime.tls.listeners import TlsListeners

CLOSE_TIMEOUT_S = 3.0
"""Seconds that a stop waits for the clients' close-ok before it closes their sockets."""

MAINTENANCE = "node is being put into maintenance"
"""The reason that clients of a drained node are told."""

STOPPED = "an operator has stopped it (stop_app)"
"""The reason why a node is not running that an operator has paused."""

LEFT_OVER_S = 3.0
"""Seconds that a stop has for the work that is left over. Without it the next start is as after a
crash: every message may have been delivered before."""

LONG_TURN_INTERVAL_S = 60.0
"""Seconds between two lines about long turns, at least."""

SOCKET_BYTES = 4_096
"""Accounted for each connected socket: what the event loop and the protocol hold of it."""

_SECRET_SIZE = 32

_log = logging.getLogger(__name__)


def _system_us() -> int:
    return time.time_ns() // 1_000


def _tell_of_step(ahead_ms: int) -> None:
    _log.warning(
        "the system's clock was set: it is %.1f s %s the broker's, which follows by 1%%, so that "
        "no TTL and no delay ends early or late for it",
        abs(ahead_ms) / 1000,
        "ahead of" if ahead_ms > 0 else "behind",
    )


class Server:
    """A broker on the network. ``start`` it in a running loop, ``stop`` it in the same one.

    ``amqp_port`` is the port that it listens on, once started; ``http_port`` that of the
    management API and ``prometheus_port`` that of the metrics, or ``None`` where the configuration
    has none. ``tls`` has the ports with TLS, where there are any, and ``cluster`` is this node of
    one. ``failure`` is done when the disk failed (everything unconfirmed was nacked), and when
    another process has taken this node's place: stop the server, and exit with an error.
    """

    broker: Broker
    amqp_port: int
    http_port: int | None
    prometheus_port: int | None
    tls: TlsListeners | None
    cluster: BrokerNode | None
    failure: asyncio.Future[ReferenceBrokerError]

    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        tls = config.tls
        login_from = LoginFrom.DISTINGUISHED_NAME if tls is None else tls.login_from
        self._tls_of = partial(tls_session, login_from=login_from)
        self._disk_free_limit_bytes = config.limits.disk_free_limit_bytes
        self._protocols: dict[int, ConnectionProtocol] = {}
        self._lost = LostSockets()
        self._refusals = PacedLog(_log.warning, time.monotonic)
        self._flush_scheduled = False
        self.turn = 0
        long_turns = PacedLog(_log.warning, time.monotonic, LONG_TURN_INTERVAL_S)
        self.turns = TurnMeter(long_turns.line)
        self._running = False
        """Started, and not stopped: it may be paused, and then nothing listens for AMQP."""
        self._stopped = False
        self.pauses = Pauses(self._dismiss_clients, self._listen_again)
        self._none_open = asyncio.Event()
        """No connection is open; to be looked at only while none is accepted."""
        self._none_open.set()
        self._sockets = SocketBound(descriptor_limit())
        self._admission = SocketAdmission(self._sockets)
        self._held_ports = HeldPorts()
        self._amqp = AmqpListener(self._admission, self._protocol, config.proxies)
        self._http_share = TurnShare(partial(self.turns.input, "HTTP"), self._http_place_ended)
        self._http: HttpListener | None = None
        self._metrics: HttpListener | None = None
        self._sampling: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Recover what the data folder holds, join the cluster if there is one, and listen. Raises
        :exc:`ClusterRefused`, ``BadConfiguration`` for TLS files
        and ``StoreError`` for a folder that can't be used, and ``OSError`` for an address; then
        nothing is left running."""
        self._loop = asyncio.get_running_loop()
        self._wall = WallClock(self._loop.time(), _system_us, _tell_of_step)
        self.failure = self._loop.create_future()
        self.tls = self._tls_listeners()
        try:
            node = self.cluster = self._broker_node()
            self._driver = self._journal_driver()
        except BaseException:
            self._held_ports.release()
            raise
        self._disk_retry = DiskRetry(
            self._loop.call_later, self._is_short_of_disk, self._driver.retry
        )
        self._passwords = PasswordThread(self._loop.call_soon_threadsafe, self.as_input)
        try:
            self.broker = Broker(
                self._driver.journal,
                UserStore(self._passwords),
                limits=self._limits(),
                version=metadata.version("mqkit"),
                secret=os.urandom(_SECRET_SIZE),
                mechanisms=self.config.mechanisms,
                node_name=f"mqkit@{self.config.node}",
                budget=Budget(TURN_UNITS),
                shared_definitions=None if node is None else node.shared,
            )
            self.broker.memory.beside["sockets"] = lambda: len(self._protocols) * SOCKET_BYTES
            self.broker.begin(*self.now())
            self._timer = TickTimer(self._loop.call_at, self._tick)
            if node is None:
                self._driver.restore_into(self.broker)
                establish_users(self.broker, self.config.users)
                self._driver.start(self._loop, self)
            else:
                await self._join(node)
            self._held_ports.release()
            self._amqp.listen(self.config.amqp)
            self.amqp_port = self._amqp.port
            self._running = True
            self._listen_over_tls()
            await self._start_http()
        except BaseException:
            if self._running:
                await self.stop()
            else:
                await self._give_up()
            raise
        self.turns.begin_anew()
        self.input_handled()

    def _broker_node(self) -> BrokerNode | None:
        if self.config.cluster is None:
            return None
        # It brings etcd's client, and all that nodes are made of.
        from reference_broker.runtime.node_process import node_of

        # The others are told its ports when it joins, and it listens after that.
        hold, http = self._held_ports.hold, self.config.http
        self.config = replace(
            self.config, amqp=hold(self.config.amqp), http=None if http is None else hold(http)
        )
        assert self.config.cluster is not None
        return node_of(self.config, self.config.cluster, self)

    def _journal_driver(self) -> JournalDriver:
        data_dir = self.config.data_dir
        if data_dir is None:
            return MemoryDriver()
        return DiskDriver(data_dir, self._disk_free_limit_bytes)

    async def _join(self, node: BrokerNode) -> None:
        """Have the definitions of the cluster, and with them the messages of the log."""
        driver = self._driver
        assert isinstance(driver, DiskDriver)
        driver.hold()
        driver.start(self._loop, self)
        await node.join(self.broker, driver)

    async def _give_up(self) -> None:
        """Let go of everything: the start has failed, and nothing listens."""
        self._stopped = True
        self._held_ports.release()
        if self.cluster is not None:
            await self.cluster.stop()
        if hasattr(self, "_timer"):
            self._timer.cancel()
        self._passwords.close()
        self._driver.close()

    async def stop(self) -> None:
        """Listen no more, close every connection (320), write what is pending. Idempotent."""
        if not self._running:
            return
        self._running = False
        if self._sampling is not None:
            self._sampling.cancel()
        for listener in (self._http, self._metrics):
            if listener is not None:
                await listener.stop()
        if self.tls is not None:
            await self.tls.stop_https()
        await self.pauses.close()
        await self._stop_accepting()
        self.broker.close("shutdown", *self.now())
        self._flush()
        await self._until_none_open()
        await self._complete_work()
        if self.cluster is not None:  # queues that end with their connections ask the others
            await self.cluster.stop()
        self._stopped = True
        self._timer.cancel()
        self._disk_retry.close()
        self._passwords.close()
        self._driver.close(clean=not self.broker.has_work)

    def _limits(self) -> Limits:
        """The configured limits, as far as there are descriptors for them."""
        limits, most = self.config.limits, self._sockets.sockets_end
        return replace(
            limits,
            connections_max=min(limits.connections_max, most),
            handshakes_per_address_max=min(limits.handshakes_per_address_max, -(-most // 4)),
        )

    def _tls_listeners(self) -> TlsListeners | None:
        if self.config.tls is None:
            return None
        # It brings all that reads certificates.
        from reference_broker.runtime.tls.listeners import TlsListeners

        return TlsListeners(self.config.tls)

    def _listen_over_tls(self) -> None:
        if self.tls is not None:
            handshakes, proxies = self.broker.handshakes, self.config.proxies
            self.tls.accept_amqp(self._admission, handshakes, self._protocol, proxies)

    def _protocol(self, peer: Peer) -> ConnectionProtocol:
        return ConnectionProtocol(self, self._loop, self._tls_of, peer.proxy)

    async def _stop_accepting(self) -> None:
        """Listen for AMQP no more."""
        await self._amqp.stop()
        if self.tls is not None:
            await self.tls.stop_amqp()

    async def _until_none_open(self) -> None:
        """Return when every connection is closed, by its client or for its silence."""
        timeout = self._loop.call_later(CLOSE_TIMEOUT_S, self._abort_all)
        await self._none_open.wait()
        timeout.cancel()

    async def _complete_work(self) -> None:
        """Do the work that is left over, as far as there is time: clients that are gone held
        messages, which have to be back in their queues when the log is closed."""
        end_s = self._loop.time() + LEFT_OVER_S
        while self.broker.has_work and self._loop.time() < end_s:
            self.input_handled()
            await asyncio.sleep(0)

    async def _start_http(self) -> None:
        self._started_at_ms = self.now()[1]
        self.http_port = None
        of_cluster = None if self.cluster is None else self.cluster.metrics
        if self.config.http is not None or (self.tls is not None and self.tls.config.https):
            sampler = Sampler(self)
            self.broker.memory.beside["samples"] = lambda: sampler.held_bytes
            peers = None if self.cluster is None else self.cluster.peers
            app = build_app(self, sampler, self, peers, self._http_share, of_cluster)
            self._sampling = self._loop.create_task(sampler.run(), name="sampler")
            if self.config.http is not None:
                http = HttpListener(app, self._http_share, self._admission)
                await http.start(*self.config.http)
                self._http, self.http_port = http, http.port
            if self.tls is not None:
                await self.tls.serve(self._admission, self.broker.handshakes, app, self._http_share)
        self.prometheus_port = None
        if self.config.prometheus is not None:
            app = build_metrics_app(self, of_cluster)
            metrics = HttpListener(app, self._http_share, self._admission)
            await metrics.start(*self.config.prometheus)
            self._metrics, self.prometheus_port = metrics, metrics.port

    def count_held(self, answer: Callable[[int], None]) -> None:
        """Have what the broker holds for its clients counted, and ``answer`` called with the bytes,
        in this turn or a later one."""
        self.as_input(lambda: self.broker.memory.ask(answer))

    # From the management API (Host)

    def node(self) -> Node:
        # A drained node has its listeners, which are suspended, as in RabbitMQ: it is well.
        running = self._amqp.is_listening or self.pauses.causes == {Cause.DRAIN}
        listening = [Listening("amqp", *address) for address in self._amqp.addresses if running]
        if self.config.http is not None and self.http_port is not None:
            listening.append(Listening("http", self.config.http.host, self.http_port))
        if self.tls is not None:
            tls = self.tls.listening()
            listening += [each for each in tls if running or each.protocol != "amqp/ssl"]
        if self.config.prometheus is not None and self.prometheus_port is not None:
            host = self.config.prometheus.host
            listening.append(Listening("http/prometheus", host, self.prometheus_port))
        return Node(
            name=self.broker.node_name,
            started_at_ms=self._started_at_ms,
            data_dir=self.config.data_dir,
            sync_count=self._driver.syncs,
            listening=tuple(listening),
            store_damage=self._driver.damage,
            disk_free_limit_bytes=self._disk_free_limit_bytes,
            longest_turn_ms=self.turns.longest_ms,
            longest_turn_cause=self.turns.longest_cause,
            running=running,
            paused_for=self._paused_for(),
            draining=Cause.DRAIN in self.pauses.causes,
        )

    def _paused_for(self) -> str:
        is_stopped = Cause.OPERATOR in self.pauses.causes
        return self.pauses.reason_of(Cause.CLUSTER) or (STOPPED if is_stopped else "")

    async def pause(self) -> None:
        await self.pauses.begin(Cause.OPERATOR, forced_for("shutdown"))

    async def resume(self) -> None:
        await self.pauses.end(Cause.OPERATOR)

    async def drain(self) -> None:
        await self.pauses.begin(Cause.DRAIN, MAINTENANCE)
        if self._running and self.cluster is not None:
            await self.cluster.drain(is_draining=True)

    async def revive(self) -> None:
        try:
            await self.pauses.end(Cause.DRAIN)
        except OSError:
            await self.pauses.begin(Cause.DRAIN, MAINTENANCE)  # it is draining, as before
            raise
        if self._running and self.cluster is not None:
            await self.cluster.drain(is_draining=False)

    async def _dismiss_clients(self, reason: str) -> None:
        _log.warning("AMQP connections are closed, and none is accepted: %s", reason)
        await self._stop_accepting()
        all_told = asyncio.Event()
        self.as_input(lambda: self.broker.dismiss(reason, all_told.set), "a pause")
        await all_told.wait()
        await self._until_none_open()

    async def _listen_again(self) -> None:
        try:
            self._amqp.listen(self.config.amqp)
            self._listen_over_tls()
        except OSError:
            await self._stop_accepting()
            raise
        _log.warning("AMQP connections are accepted again")

    def set_disk_free_limit(self, limit_bytes: int) -> None:
        self._disk_free_limit_bytes = limit_bytes
        self._driver.set_disk_free_limit(limit_bytes)

    # From the sockets (ConnectionHost)

    def connected(self, protocol: ConnectionProtocol, peer: Peer) -> Connection | None:
        try:
            connection = self.broker.connect(peer, *self.now())
        except TooManyConnections as error:
            self._refusals.line(f"refused {peer}: {error}")
            return None
        self._protocols[connection.id] = protocol
        self._none_open.clear()
        self.input_handled()
        return connection

    def lost(self, protocol: ConnectionProtocol) -> None:
        self._lost.add(protocol)
        self.input_handled()

    def disconnected(self, protocol: ConnectionProtocol) -> None:
        connection = protocol.connection
        _log.info("%s ended: %s", connection.peer, connection.end_reason)
        self._protocols.pop(connection.id, None)
        if not self._protocols:
            self._none_open.set()

    def input(self, cause: str) -> tuple[float, int]:
        self.turns.input(cause)
        return self.now()

    def now(self) -> tuple[float, int]:
        mono_s = self._loop.time()
        return mono_s, self._wall.at(mono_s)

    def input_handled(self) -> None:
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush)

    # From the passwords' thread, and from the cluster

    def as_input(self, step: Callable[[], None], cause: str = "a login") -> None:
        """Run ``step`` as an input of the core."""
        self.broker.begin(*self.input(cause))
        step()
        self.broker.finish()
        self.input_handled()

    # From the journal's driver (JournalEvents)

    def synced(self, position: int) -> None:
        self.broker.synced(position, *self.input("a sync"))
        self.input_handled()

    def disk_full(self) -> None:
        _log.error("the disk is full: publishers are blocked until there is room again")
        self.broker.disk_full(*self.now())
        self.input_handled()
        self._disk_retry.later()

    def disk_low(self) -> None:
        self.broker.disk_low(*self.now())
        self.input_handled()
        self._disk_retry.later()

    def _is_short_of_disk(self) -> bool:
        return Alarm.DISK in self.broker.alarms.on

    def disk_recovered(self) -> None:
        self.broker.disk_recovered(*self.now())
        self.input_handled()

    def fetched(self, answers: list[Fetched]) -> None:
        self.broker.fetched(answers, *self.input("messages read from disk"))
        self.input_handled()

    def disk_failed(self, error: DiskFailed) -> None:
        _log.critical("%s", error)
        self.broker.disk_failed(*self.now())
        self._flush()
        if not self.failure.done():
            self.failure.set_result(error)

    # The turn's end

    def _flush(self) -> None:
        self._flush_scheduled = False
        self.turn += 1
        if self._stopped:
            return
        self._lost.end_some()
        self._go_on()
        end_turn(self.broker, self._protocols, self._driver.kick, self._timer.arm)
        budget, left_over = self.broker.budget, self.broker.has_work
        budget.paced = next_units(budget.paced, self.turns.end(), left_over=left_over)
        budget.refill()
        if left_over or self._lost:
            self.input_handled()

    def _go_on(self) -> None:
        """Do what a turn has time for of the work that is left over. An error in it is ours, and
        ends that piece of work alone."""
        if not self.broker.has_work:
            return
        self.broker.budget.refill()
        try:
            self.broker.go_on(*self.input("work that was left over"))
        except Exception:  # noqa: BLE001 - whatever it is, the others go on
            _log.exception("a request is given up for an error of the broker")

    def _http_place_ended(self) -> None:
        if not self._flush_scheduled:  # else that ends the turn
            self.turns.end()

    def _tick(self) -> None:
        self.broker.tick(*self.input("a tick"))
        self.input_handled()

    def _abort_all(self) -> None:
        for protocol in list(self._protocols.values()):
            protocol.abort()
