"""``/api/health/checks``, and RabbitMQ's two older checks of a node.

200 with ``{"status": "ok"}``, or 503 with why not.
"""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from itertools import chain
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mqkit.wire import Properties, encode_shortstr
from reference_broker.core.access.permission import Action
from reference_broker.core.alarms import Alarm
from reference_broker.core.base.names import described
from reference_broker.core.exchange.exchange import DEFAULT_EXCHANGE
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import facts_of
from reference_broker.core.queue.enqueue import enqueue
from reference_broker.core.queue.queue import Queue
from reference_broker.core.remote.elsewhere import Elsewhere
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.work.task import Steps
from reference_broker.errors import AmqpError, ChannelException, ReplyCode
from reference_broker.http.access.vhosts import vhost_of
from reference_broker.http.objects.certificate_expiry import expiring, horizon
from reference_broker.http.request.answer import Row, bad_request, json_response, not_found
from reference_broker.http.request.authentication import not_authorised
from reference_broker.http.request.authorization import entered
from reference_broker.http.request.core_input import CoreInputs
from reference_broker.http.request.host import Host
from reference_broker.http.request.peers import Peers, shown_node
from reference_broker.http.request.portions import collected
from reference_broker.http.rows.message import header_of

_RESOURCES = {Alarm.MEMORY: "memory", Alarm.DISK: "disk space"}
_LIMITS = {Alarm.MEMORY: "memory", Alarm.DISK: "disk"}

_ALIASES = {
    "amqp": "amqp amqp091 amqp0.9.1 amqp0-9-1 amqp0_9_1 amqp10 amqp1.0 amqp1-0 amqp1_0",
    "amqp/ssl": "amqp/ssl amqps",
    "http": "http http1 http1.1 http_api management management_ui ui",
    "clustering": "clustering cli distribution",
}
_PROTOCOLS = {name: protocol for protocol, names in _ALIASES.items() for name in names.split()}
"""Protocols of listeners, by each of their names (rabbit_networking:protocol aliases)."""

ALIVENESS_QUEUE = "aliveness-test"
_ALIVENESS_BODY = b"test_message"


class Health:
    """The health checks. Each looks; only the aliveness test changes anything."""

    def __init__(self, host: Host, peers: Peers | None = None) -> None:
        self._host = host
        self._peers = peers
        self._inputs = CoreInputs(host)

    async def alarms(self, request: Request) -> Response:
        """The alarms of all nodes: any of them blocks this one's publishers."""
        rows = self._own_alarms()
        for node, alarms in sorted(self._host.broker.alarms.elsewhere.items()):
            rows += _alarm_rows(shown_node(node), alarms)
        return _failed("There are alarms in effect in the cluster", alarms=rows) if rows else _ok()

    async def local_alarms(self, request: Request) -> Response:
        rows = self._own_alarms()
        return _failed("There are alarms in effect on the node", alarms=rows) if rows else _ok()

    def _own_alarms(self) -> list[Row]:
        return _alarm_rows(self._host.node().name, self._host.broker.alarms.on)

    async def virtual_hosts(self, request: Request) -> Response:
        """Always ok: a virtual host of this broker is never down by itself."""
        return _ok()

    async def in_service(self, request: Request) -> Response:
        """The node takes clients: it is neither draining nor paused."""
        node = self._host.node()
        if node.draining:
            return _failed(f"node {node.name} is in maintenance mode: it takes no clients")
        if not node.running:
            why = node.paused_for or "it is stopped"
            return _failed(f"node {node.name} takes no clients: {why}")
        return _ok()

    async def mirror_sync_critical(self, request: Request) -> Response:
        """Always ok: no queue has mirrors."""
        return _ok(reason="single node cluster")

    async def quorum_critical(self, request: Request) -> Response:
        """The quorum queues that have no majority without this node: in a cluster all that have
        their home here, since a queue has one replica."""
        if self._peers is None or len(self._peers.members()) < 2:
            return _ok(reason="single node cluster")
        queues = chain.from_iterable(
            list(vhost.queues.values()) for vhost in list(self._host.broker.vhosts.values())
        )
        critical, _ = await collected(request, queues, _is_quorum_queue_here)
        if not critical:
            return _ok()
        return _failed(
            "There are quorum queues that would lose their quorum if the target node is shut down",
            queues=[
                {
                    "readable_name": described("queue", queue.name, queue.env.vhost_name),
                    "name": queue.name,
                    "virtual_host": queue.env.vhost_name,
                    "type": "quorum",
                }
                for queue in critical
            ],
        )

    async def certificates(self, request: Request) -> Response:
        """Certificates of every socket with TLS: the server's own with its chain, and its
        authorities."""
        within, unit = request.path_params["within"], request.path_params["unit"]
        expired = expiring(self._host.node(), horizon(within, unit, self._host.now()[1]))
        return _failed("Certificates expiring", expired=expired) if expired else _ok()

    async def port_listener(self, request: Request) -> Response:
        text = request.path_params["port"]
        if not text.isdecimal():
            raise bad_request("Invalid port")
        ports = [listening.port for listening in self._host.node().listening]
        if int(text) in ports:
            return _ok(port=int(text))
        return _failed("No active listener", missing=int(text), ports=ports)

    async def protocol_listener(self, request: Request) -> Response:
        wanted = request.path_params["protocol"].lower()
        protocols = [listening.protocol for listening in self._host.node().listening]
        if _PROTOCOLS.get(wanted, wanted) in protocols:
            return _ok(protocol=request.path_params["protocol"])
        return _failed(
            "No active listener", missing=request.path_params["protocol"], protocols=protocols
        )

    async def node(self, request: Request) -> Response:
        """The alarms: RabbitMQ's older check of a node. One that is paused is not well, either."""
        node = self._host.node().name
        if request.path_params.get("node", node) != node:
            raise not_found()
        alarms = self._host.broker.alarms.on
        if not self._host.node().running:
            return _failed("the node is paused: it accepts no AMQP connection")
        if not alarms:
            return _ok()
        limits = ",".join(f"{{resource_limit,{_LIMITS[alarm]},'{node}'}}" for alarm in alarms)
        return _failed(f"resource alarm(s) in effect:[{limits}]")

    async def aliveness(self, request: Request) -> Response:
        """Declare a queue, publish to it and get the message back. The queue stays, on the node
        that was asked first."""
        vhost_of(self._host.broker, request)
        with self._inputs.begin(request) as broker:
            vhost = vhost_of(broker, request)
            access = entered(broker, request, vhost)
            try:
                queue = vhost.declare_queue(ALIVENESS_QUEUE, access=access)
                access.require_publish(DEFAULT_EXCHANGE)
                access.require(Action.READ, "queue", ALIVENESS_QUEUE)
            except AmqpError as error:
                if error.code is ReplyCode.ACCESS_REFUSED:
                    raise not_authorised(error.reply_text) from error
                raise bad_request(f"{error.code.value} {error.reply_text}") from error
            header = header_of(Properties(), _ALIVENESS_BODY)
            route = encode_shortstr(DEFAULT_EXCHANGE) + encode_shortstr(ALIVENESS_QUEUE)
            content = Content(route, header, _ALIVENESS_BODY)
            is_there = False
            if not queue.is_elsewhere:
                enqueue((queue,), content, facts_of(header), vhost)
                lease = queue.get(self)
                if lease is not None:
                    queue.ack(lease)
                    is_there = True
        if isinstance(queue, RemoteQueue):
            there: list[bool] = []
            try:
                await self._inputs.perform(_through_home(queue, content, there), vhost.name)
            except ChannelException as error:
                return _failed(error.text)
            is_there = there[0]
        return _ok() if is_there else _failed("aliveness-test queue is empty")


def _is_quorum_queue_here(queue: Queue) -> bool:
    return not queue.is_elsewhere and queue.limits.queue_type == "quorum"


def _through_home(queue: RemoteQueue, content: Content, there: list[bool]) -> Steps:
    """The steps of publishing the message to a queue elsewhere, and getting one: ``there`` says
    whether one came. Raises :exc:`ChannelException` while the home is down."""
    queue.require_home()
    elsewhere = Elsewhere()
    elsewhere.publish((queue,), content)
    yield from elsewhere.until_answered()
    lease, _ = yield from queue.fetch(there, no_ack=True)
    there.append(lease is not None)


def _alarm_rows(node: str, alarms: Iterable[Alarm]) -> list[Row]:
    return [{"node": node, "resource": _RESOURCES[alarm]} for alarm in alarms]


def _ok(**more: Any) -> Response:
    return json_response({"status": "ok", **more})


def _failed(reason: str, **more: Any) -> Response:
    return json_response(
        {"status": "failed", "reason": reason, **more}, HTTPStatus.SERVICE_UNAVAILABLE
    )
