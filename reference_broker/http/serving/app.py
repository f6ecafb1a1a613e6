"""The table of paths: one line per path, one file per noun.

Paths are matched as they were sent: a name may have a slash in it, as ``%2F``, which is the name
of the default virtual host.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Route

from reference_broker.errors import AmqpError
from reference_broker.http.access.access_routes import access_routes
from reference_broker.http.access.logins import Logins
from reference_broker.http.access.vhosts import VHosts
from reference_broker.http.definitions.definitions import Definitions
from reference_broker.http.metrics.cluster_metrics import Families
from reference_broker.http.metrics.metrics import LoopbackMetrics, build_metrics_app
from reference_broker.http.objects.at_home import AtHome
from reference_broker.http.objects.bindings import Bindings
from reference_broker.http.objects.cluster import Cluster
from reference_broker.http.objects.cluster_members import ClusterMembers
from reference_broker.http.objects.cluster_status import ClusterStatus
from reference_broker.http.objects.connections import Connections
from reference_broker.http.objects.exchanges import Exchanges
from reference_broker.http.objects.health import Health
from reference_broker.http.objects.node_control import NodeControl
from reference_broker.http.objects.overview import Overview
from reference_broker.http.objects.queue_move import QueueMove
from reference_broker.http.objects.queues import Queues
from reference_broker.http.objects.reprocess import Reprocessing
from reference_broker.http.policies.policy_routes import policy_routes
from reference_broker.http.request.answer import (
    ApiError,
    answer_amqp_error,
    answer_api_error,
    answer_http_exception,
    answer_mistake,
)
from reference_broker.http.request.authorization import guarded
from reference_broker.http.request.gate import Gate, negotiated
from reference_broker.http.request.host import Host, NodeHost
from reference_broker.http.request.peers import KIND, Peers
from reference_broker.http.request.turn_share import TurnShare
from reference_broker.http.rows.sampler import Sampler
from reference_broker.http.rows.statistics import Statistics
from reference_broker.http.serving.no_sniff import NoSniff
from reference_broker.http.serving.page import Page
from reference_broker.http.serving.peer_requests import PeerRequests


class _NameConvertor(Convertor[str]):
    """One segment of a path, percent-decoded. It may be empty: so is the default exchange's."""

    regex = "[^/]*"

    def convert(self, value: str) -> str:
        return unquote(value)

    def to_string(self, value: str) -> str:
        return quote(value, safe="")


register_url_convertor("name", _NameConvertor())

COMPRESSED_FROM = 1_000
"""Bytes of an answer from which gzip is worth it, where the client takes it."""


def build_app(
    host: Host,
    sampler: Sampler | None = None,
    node_host: NodeHost | None = None,
    peers: Peers | None = None,
    share: TurnShare | None = None,
    of_cluster: Families | None = None,
) -> Starlette:
    """The management API of ``host``'s broker, which must be there already. Rates are those of
    ``sampler``, which somebody has to run; without one they are 0. Without ``node_host`` (a broker
    within another process) nobody can pause it. With ``peers`` it answers for the whole cluster,
    and the requests that these pass on, in their places of ``share``; its metrics are with those
    ``of_cluster``."""
    routes = _routes(host, sampler or Sampler(host), peers)
    if node_host is not None:
        routes += _node_routes(host, node_host)
    routes = negotiated(routes)
    if peers is not None:
        peers.answer_with(KIND, PeerRequests(lambda: host.broker, routes, share).asked)
    routes = guarded(routes, lambda: host.broker)
    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(NoSniff),
            Middleware(LoopbackMetrics, metrics=build_metrics_app(host, of_cluster)),
            Middleware(Page),
            Middleware(Gate, routes=routes),
            Middleware(GZipMiddleware, minimum_size=COMPRESSED_FROM, compresslevel=1),
        ],
        exception_handlers={
            ApiError: answer_api_error,
            AmqpError: answer_amqp_error,
            HTTPException: answer_http_exception,
            Exception: answer_mistake,
        },
    )
    app.router.redirect_slashes = False
    return app


def _routes(host: Host, sampler: Sampler, peers: Peers | None) -> list[Route]:
    statistics = Statistics(sampler)
    queues, at_home = Queues(host, statistics, peers), AtHome(peers)
    return [
        *_broker_routes(host, Overview(host, statistics, sampler, peers)),
        *(() if peers is None else _cluster_routes(host, peers)),
        *_vhost_routes(VHosts(host, statistics, peers)),
        *_health_routes(host, peers),
        *_connection_routes(Connections(host, statistics, peers)),
        *_exchange_routes(Exchanges(host, statistics)),
        *_queue_routes(queues, QueueMove(host, at_home), Reprocessing(host, at_home)),
        *_binding_routes(host),
        *_definition_routes(host),
        *policy_routes(host),
        *access_routes(host),
    ]


def _broker_routes(host: Host, overview: Overview) -> list[Route]:
    cluster = Cluster(host)
    enable = "/api/feature-flags/{flag:name}/enable"
    return [
        Route("/api/overview", overview.overview),
        Route("/api/reset", overview.reset, methods=["DELETE"]),
        Route("/api/reset/{node:name}", overview.reset, methods=["DELETE"]),
        Route("/api/whoami", overview.whoami),
        Route("/api/auth", cluster.auth),
        *_login_routes(Logins(host)),
        Route("/api/nodes", overview.nodes),
        Route("/api/nodes/{node:name}", overview.node),
        Route("/api/cluster-name", cluster.name),
        Route("/api/cluster-name", cluster.set_name, methods=["PUT"]),
        Route("/api/extensions", cluster.extensions),
        Route("/api/shovels", cluster.nothing),
        Route("/api/shovels/{vhost:name}", cluster.nothing),
        Route("/api/federation-links", cluster.nothing),
        Route("/api/federation-links/{vhost:name}", cluster.nothing),
        Route("/api/feature-flags", cluster.nothing),
        Route(enable, cluster.enable_feature, methods=["PUT"]),
        Route("/api/deprecated-features", cluster.nothing),
        Route("/api/deprecated-features/used", cluster.nothing),
        Route("/api/rebalance/queues", cluster.rebalance, methods=["POST"]),
    ]


def _cluster_routes(host: Host, peers: Peers) -> list[Route]:
    members = ClusterMembers(host, peers)
    member = "/api/cluster/members/{node:name}"
    return [
        Route("/api/cluster/status", ClusterStatus(host, peers).show),
        Route(member + "/forget", members.forget, methods=["POST"]),
    ]


def _login_routes(logins: Logins) -> list[Route]:
    attempts = "/api/auth/attempts/{node:name}"
    return [
        Route("/api/login", logins.login, methods=["POST"]),
        Route(attempts, logins.attempts),
        Route(attempts, logins.reset_attempts, methods=["DELETE"]),
        Route(attempts + "/source", logins.attempts_by_source),
        Route(attempts + "/source", logins.reset_attempts, methods=["DELETE"]),
    ]


def _vhost_routes(vhosts: VHosts) -> list[Route]:
    vhost = "/api/vhosts/{vhost:name}"
    return [
        Route("/api/vhosts", vhosts.index),
        Route(vhost, vhosts.show),
        Route(vhost, vhosts.put, methods=["PUT"]),
        Route(vhost, vhosts.delete, methods=["DELETE"]),
        Route(vhost + "/start/{node:name}", vhosts.start, methods=["POST"]),
    ]


def _health_routes(host: Host, peers: Peers | None) -> list[Route]:
    health = Health(host, peers)
    checks = "/api/health/checks"
    return [
        Route(checks + "/alarms", health.alarms),
        Route(checks + "/local-alarms", health.local_alarms),
        Route(checks + "/is-in-service", health.in_service),
        Route(checks + "/virtual-hosts", health.virtual_hosts),
        Route(checks + "/node-is-quorum-critical", health.quorum_critical),
        Route(checks + "/node-is-mirror-sync-critical", health.mirror_sync_critical),
        Route(checks + "/certificate-expiration/{within:name}/{unit:name}", health.certificates),
        Route(checks + "/port-listener/{port:name}", health.port_listener),
        Route(checks + "/protocol-listener/{protocol:name}", health.protocol_listener),
        Route("/api/healthchecks/node", health.node),
        Route("/api/healthchecks/node/{node:name}", health.node),
        Route("/api/aliveness-test/{vhost:name}", health.aliveness),
    ]


def _connection_routes(connections: Connections) -> list[Route]:
    connection = "/api/connections/{connection:name}"
    of_user = "/api/connections/username/{user:name}"
    return [
        Route("/api/connections", connections.index),
        Route(connection, connections.show),
        Route(connection, connections.close, methods=["DELETE"]),
        Route(connection + "/channels", connections.channels),
        Route(of_user, connections.of_user),
        Route(of_user, connections.close_of_user, methods=["DELETE"]),
        Route("/api/vhosts/{vhost:name}/connections", connections.index),
        Route("/api/vhosts/{vhost:name}/channels", connections.channels),
        Route("/api/channels", connections.channels),
        Route("/api/channels/{channel:name}", connections.channel),
        Route("/api/consumers", connections.consumers),
        Route("/api/consumers/{vhost:name}", connections.consumers),
    ]


def _exchange_routes(exchanges: Exchanges) -> list[Route]:
    exchange = "/api/exchanges/{vhost:name}/{exchange:name}"
    return [
        Route("/api/exchanges", exchanges.index),
        Route("/api/exchanges/{vhost:name}", exchanges.index),
        Route(exchange, exchanges.show),
        Route(exchange, exchanges.put, methods=["PUT"]),
        Route(exchange, exchanges.delete, methods=["DELETE"]),
        Route(exchange + "/bindings/source", exchanges.bindings_from),
        Route(exchange + "/bindings/destination", exchanges.bindings_to),
        Route(exchange + "/publish", exchanges.publish, methods=["POST"]),
    ]


def _queue_routes(queues: Queues, moving: QueueMove, reprocessing: Reprocessing) -> list[Route]:
    queue = "/api/queues/{vhost:name}/{queue:name}"
    return [
        Route("/api/queues", queues.index),
        Route("/api/queues/{vhost:name}", queues.index),
        Route(queue, queues.show),
        Route(queue, queues.put, methods=["PUT"]),
        Route(queue, queues.delete, methods=["DELETE"]),
        Route(queue + "/bindings", queues.bindings),
        Route(queue + "/get", queues.get, methods=["POST"]),
        Route(queue + "/contents", queues.purge, methods=["DELETE"]),
        Route(queue + "/actions", queues.act, methods=["POST"]),
        Route(queue + "/move", moving.move, methods=["POST"]),
        Route(queue + "/reprocess", reprocessing.post, methods=["POST"]),
    ]


def _binding_routes(host: Host) -> list[Route]:
    bindings = Bindings(host)
    to_queue = "/api/bindings/{vhost:name}/e/{source:name}/q/{queue:name}"
    to_exchange = "/api/bindings/{vhost:name}/e/{source:name}/e/{destination:name}"
    routes = [
        Route("/api/bindings", bindings.index),
        Route("/api/bindings/{vhost:name}", bindings.index),
    ]
    for between in (to_queue, to_exchange):
        one = between + "/{properties_key:name}"
        routes += [
            Route(between, bindings.between),
            Route(between, bindings.post, methods=["POST"]),
            Route(one, bindings.show),
            Route(one, bindings.delete, methods=["DELETE"]),
        ]
    return routes


def _definition_routes(host: Host) -> list[Route]:
    definitions = Definitions(host)
    return [
        Route("/api/all-configuration", definitions.export),
        Route("/api/all-configuration", definitions.load, methods=["POST"]),
        Route("/api/definitions", definitions.export),
        Route("/api/definitions", definitions.load, methods=["POST"]),
        Route("/api/definitions/{vhost:name}", definitions.export),
        Route("/api/definitions/{vhost:name}", definitions.load, methods=["POST"]),
    ]


def _node_routes(host: Host, node_host: NodeHost) -> list[Route]:
    control = NodeControl(host, node_host)
    node = "/api/nodes/{node:name}"
    return [
        Route(node + "/running", control.set_running, methods=["PUT"]),
        Route(node + "/draining", control.set_draining, methods=["PUT"]),
        Route(node + "/vm-memory-high-watermark", control.set_watermark, methods=["PUT"]),
        Route(node + "/disk-free-limit", control.set_disk_free_limit, methods=["PUT"]),
        Route(node + "/alarms", control.set_alarms, methods=["PUT"]),
    ]
