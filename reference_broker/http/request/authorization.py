"""The rights that a request needs: which tag, or which virtual host, its path asks for. One table.

The order is RabbitMQ's: the path and its method are known (404, 405) before anybody is asked for a
login, and the login is judged (401) before objects are looked for. It is always 401, never 403. A
path that the table does not have is for administrators only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, unique
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from reference_broker.core.access.login_attempts import LoginProtocol
from reference_broker.core.access.permission import Action
from reference_broker.core.access.users import User
from reference_broker.core.broker import Broker
from reference_broker.core.connection.connection import Connection
from reference_broker.core.vhost.method_access import Access
from reference_broker.core.vhost.vhost import VHost
from reference_broker.errors import ChannelException
from reference_broker.http.request.answer import Endpoint
from reference_broker.http.request.authentication import (
    NoCredentials,
    authenticated,
    credentials,
    login_failed,
    not_authorised,
    user_of,
)

ADMINISTRATOR = "administrator"
MONITORING = "monitoring"
POLICYMAKER = "policymaker"
MANAGEMENT_TAGS = ("management", POLICYMAKER, MONITORING, ADMINISTRATOR)
"""Tags of which a user needs one (rabbitmq.com/docs/management#permissions)."""

NOT_MANAGEMENT = "Not management user"
NOT_ADMINISTRATOR = "Not administrator user"
NOT_MONITOR = "Not monitor user"
NOT_THE_VHOST = "User not authorised to access virtual host"
NOT_THE_OBJECT = "User not authorised to access object"
ACCESS_REFUSED = "Access refused."


@unique
class Needs(Enum):
    """Rights that the user of a request must have."""

    NOTHING = "not even a login"
    MANAGEMENT = "any of the management tags"
    MONITORING = "monitoring or administrator"
    ADMINISTRATOR = "administrator"
    VHOST = "somebody who may enter the virtual host in the path"
    VHOST_OR_MONITORING = "somebody who may enter the virtual host in the path, or monitoring"
    POLICYMAKER = "administrator, or policymaker who may enter the virtual host in the path"


class _Row(NamedTuple):
    """One line of the table. ``path`` is what comes after ``/api/``: ``*`` is one segment, a last
    ``**`` any number."""

    methods: str
    path: str
    needs: Needs


_READ, _ANY = "GET HEAD", "GET HEAD PUT POST DELETE"
_N = Needs
_TABLE = (
    _Row(_READ, "auth", _N.NOTHING),
    _Row("POST", "login", _N.NOTHING),
    _Row(_READ, "whoami", _N.MANAGEMENT),
    _Row(_READ, "overview", _N.MANAGEMENT),
    _Row(_READ, "cluster-name", _N.MANAGEMENT),
    _Row(_READ, "extensions", _N.MANAGEMENT),
    _Row(_READ, "healthchecks/node/**", _N.MANAGEMENT),
    _Row(_READ, "health/checks/**", _N.MANAGEMENT),
    _Row(_READ, "nodes/**", _N.MONITORING),
    _Row(_READ, "cluster/status", _N.MONITORING),
    _Row("GET HEAD DELETE", "auth/attempts/**", _N.MONITORING),
    _Row(_READ, "shovels/**", _N.MONITORING),
    _Row(_READ, "federation-links/**", _N.MONITORING),
    # Connections, channels and consumers are filtered by whose they are, not by virtual host.
    _Row("GET HEAD DELETE", "connections/**", _N.MANAGEMENT),
    _Row(_READ, "channels/**", _N.MANAGEMENT),
    _Row(_READ, "consumers/**", _N.MANAGEMENT),
    # Lists of everything show what is in virtual hosts that the user may enter.
    _Row(_READ, "vhosts", _N.MANAGEMENT),
    _Row(_READ, "vhosts/*/connections", _N.VHOST),
    _Row(_READ, "vhosts/*/channels", _N.VHOST),
    _Row(_READ, "queues", _N.MANAGEMENT),
    _Row(_READ, "exchanges", _N.MANAGEMENT),
    _Row(_READ, "bindings", _N.MANAGEMENT),
    _Row("POST", "queues/*/*/actions", _N.ADMINISTRATOR),
    _Row(_ANY, "queues/**", _N.VHOST),
    _Row(_ANY, "exchanges/**", _N.VHOST),
    _Row(_ANY, "bindings/**", _N.VHOST),
    _Row(_READ, "aliveness-test/*", _N.VHOST),
    # Policies and limits.
    _Row(_READ, "policies", _N.MANAGEMENT),
    _Row(_READ, "operator-policies", _N.MANAGEMENT),
    _Row(_READ, "policies/*", _N.VHOST),
    _Row(_READ, "operator-policies/*", _N.VHOST),
    _Row(_ANY, "policies/*/*", _N.POLICYMAKER),
    _Row(_READ, "parameters", _N.POLICYMAKER),
    _Row(_ANY, "parameters/**", _N.POLICYMAKER),
    _Row(_ANY, "global-parameters/**", _N.POLICYMAKER),
    _Row(_READ, "vhost-limits", _N.MANAGEMENT),
    _Row(_READ, "vhost-limits/*", _N.VHOST_OR_MONITORING),
    _Row(_READ, "user-limits/**", _N.MANAGEMENT),
)


def needs(method: str, route: str) -> Needs:
    """The rights that the table asks for at a route's path, whose parameters are in braces."""
    segments = ["*" if "{" in part else part for part in route.removeprefix("/api/").split("/")]
    for row in _TABLE:
        if method in row.methods.split() and _fits(row.path.split("/"), segments):
            return row.needs
    return Needs.ADMINISTRATOR


def _fits(pattern: Sequence[str], segments: Sequence[str]) -> bool:
    if pattern[-1] == "**":
        pattern = pattern[:-1]
        segments = segments[: len(pattern)]
    return list(pattern) == list(segments)


# Decisions


def is_administrator(user: User) -> bool:
    return ADMINISTRATOR in user.tags


def is_monitoring(user: User) -> bool:
    """True if the user may see other users' connections and all virtual hosts."""
    return ADMINISTRATOR in user.tags or MONITORING in user.tags


def may_enter(broker: Broker, user: User, vhost: str) -> bool:
    """True if the user may see the virtual host. Administrators see every one; one that doesn't
    exist is nobody's secret."""
    return (
        is_administrator(user)
        or vhost not in broker.vhosts
        or broker.access.permission(user.name, vhost) is not None
    )


def may_see(user: User, connection: Connection) -> bool:
    """True if the connection is the user's own, or the user is monitoring."""
    return is_monitoring(user) or connection.user_name == user.name


def visible_vhosts(broker: Broker, user: User) -> list[VHost]:
    """The virtual hosts whose objects the user is shown in lists."""
    return [vhost for vhost in broker.vhosts.values() if may_enter(broker, user, vhost.name)]


def access_of(broker: Broker, request: Request, vhost: VHost) -> Access:
    """The permissions of a request's user on objects, as over AMQP: ask it before the core is."""
    return Access(broker.access, user_of(request).name, vhost.name)


def entered(broker: Broker, request: Request, vhost: VHost) -> Access:
    """The permissions of a request's user, for an operation that opens a channel: that takes a
    permission in the virtual host, which an administrator needs too. Raises :exc:`ApiError` 401."""
    if broker.access.permission(user_of(request).name, vhost.name) is None:
        raise not_authorised(ACCESS_REFUSED)
    return access_of(broker, request, vhost)


def require_access(
    broker: Broker, request: Request, vhost: VHost, action: Action, queue: str
) -> None:
    """Check a permission for an operation on a queue without a channel. Raises :exc:`ApiError`
    401."""
    try:
        access_of(broker, request, vhost).require(action, "queue", queue)
    except ChannelException:
        raise not_authorised(ACCESS_REFUSED) from None


def reason_against(wanted: Needs, broker: Broker, user: User, vhost: str | None) -> str | None:
    """The reason for which the user may not; ``None`` if the user may. ``vhost`` is the one in the
    path."""
    if not any(tag in MANAGEMENT_TAGS for tag in user.tags):
        return NOT_MANAGEMENT
    enters = vhost is None or may_enter(broker, user, vhost)
    refusals: dict[Needs, tuple[bool, str]] = {
        Needs.NOTHING: (True, ""),
        Needs.MANAGEMENT: (True, ""),
        Needs.MONITORING: (is_monitoring(user), NOT_MONITOR),
        Needs.ADMINISTRATOR: (is_administrator(user), NOT_ADMINISTRATOR),
        Needs.VHOST: (enters, NOT_THE_VHOST),
        Needs.VHOST_OR_MONITORING: (enters or is_monitoring(user), NOT_THE_VHOST),
        Needs.POLICYMAKER: (
            is_administrator(user) or (POLICYMAKER in user.tags and enters),
            NOT_THE_OBJECT,
        ),
    }
    allowed, reason = refusals[wanted]
    return None if allowed else reason


# Routes


def guarded(routes: Sequence[Route], broker: Callable[[], Broker]) -> list[Route]:
    """The routes, each behind the rights that the table asks for. The user is in the request's
    scope after it."""
    return [
        Route(
            route.path,
            _guarded(route.endpoint, broker, route.path),
            methods=sorted(route.methods or ()),
            name=route.name,
        )
        for route in routes
    ]


def _guarded(endpoint: Endpoint, broker: Callable[[], Broker], path: str) -> Endpoint:
    async def judged(request: Request) -> Response:
        wanted = needs(request.method, path)
        if wanted is Needs.NOTHING:
            return await endpoint(request)
        try:
            login = credentials(request.headers.get("authorization", ""))
        except NoCredentials as refusal:
            return refusal.response
        request.scope["user"] = await admitted(broker(), request, wanted, login)
        request.scope["needs"] = wanted
        return await endpoint(request)

    return judged


async def admitted(
    broker: Broker, request: Request, wanted: Needs, login: tuple[str, bytes]
) -> User:
    """The user of a login, by name and password, who must have the wanted rights. It counts as an
    attempt to log in, as a failed one where the user has not (RabbitMQ). Raises :exc:`ApiError`
    401, and 503 where too many are being checked."""
    succeeded = False
    try:
        user = await authenticated(broker.users, request, *login)
        reason = reason_against(wanted, broker, user, request.path_params.get("vhost"))
        if reason is not None:
            raise not_authorised(reason)
        succeeded = True
    finally:
        broker.login_attempts.note(LoginProtocol.HTTP, succeeded)
    return user


def judge_again(broker: Broker, request: Request) -> None:
    """Raises :exc:`ApiError` 401 where the user of a request that was let in has been deleted
    since, has another password, or may no longer do what the path asks for."""
    user = user_of(request)
    now = broker.users.get(user.name)
    if now is None or now.password != user.password:
        raise login_failed()
    reason = reason_against(request.scope["needs"], broker, now, request.path_params.get("vhost"))
    if reason is not None:
        raise not_authorised(reason)
    request.scope["user"] = now
