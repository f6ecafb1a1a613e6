"""The ``Host`` of a request to a listener on loopback: it has to be a name of this machine.

A page of a stranger can have its own name point at 127.0.0.1 (DNS rebinding): to the browser it is
then one origin with whatever listens there, and the page reads the answers. An address can't be
pointed anywhere, so a request that names one is good; so are names that no stranger can register.
"""

from __future__ import annotations

import platform
from http import HTTPStatus
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from reference_broker.http.request.answer import ApiError

_LOCAL_NAMES = ("localhost", "ip6-localhost", "localhost.localdomain")
_LOCAL_SUFFIXES = (".localhost", ".internal")
"""Top-level domains that are nobody's: RFC 6761, and ICANN's for private use (2024), in which
containers have the machine that they run on (``host.docker.internal``)."""


def is_own_name(host: str, machine: str) -> bool:
    """True if a ``Host`` header (name, with a port or without) can mean this ``machine`` only."""
    if host.startswith("["):
        name = host[1:].partition("]")[0]
    else:
        name = host.partition(":")[0].rstrip(".").lower()
    try:
        ip_address(name)
    except ValueError:
        own = machine.lower()
        return name in (*_LOCAL_NAMES, own, own.partition(".")[0]) or name.endswith(_LOCAL_SUFFIXES)
    return True


class HostCheck:
    """Lets requests through to ``app`` that name this machine. Others are answered 403. A request
    of HTTP/1.0 may have no ``Host``: no browser sends one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._machine = platform.node()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = Headers(scope=scope).get("host", "")
        if not host or is_own_name(host, self._machine):
            await self._app(scope, receive, send)
            return
        refusal = ApiError(
            HTTPStatus.FORBIDDEN,
            "foreign_host",
            "This listener is on loopback, and the Host header has a name that is not this"
            " machine's: ask for localhost or 127.0.0.1, or have the proxy send that",
        )
        await refusal.response()(scope, receive, send)
