"""The listening sockets with TLS: AMQP's (``amqp/ssl``) and the management API's (``https``)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp

from reference_broker.core.base.peer import Peer
from reference_broker.core.connection.open_handshakes import OpenHandshakes
from reference_broker.http import HttpServer, ListenerTls, Listening, TurnShare
from reference_broker.runtime.net.acceptor import SocketAdmission
from reference_broker.runtime.net.address import Address
from reference_broker.runtime.net.connection_protocol import has_logged_in
from reference_broker.runtime.net.proxy_sources import ProxySources
from reference_broker.runtime.tls.acceptor import TlsAcceptor
from reference_broker.runtime.tls.config import TlsConfig, TlsVersion, Verify
from reference_broker.runtime.tls.contexts import TlsContexts

_VERSIONS = {TlsVersion.TLS_1_2: ("tlsv1.3", "tlsv1.2"), TlsVersion.TLS_1_3: ("tlsv1.3",)}


class TlsListeners:
    """The TLS listeners of a server. Made before anything listens: raises :exc:`BadConfiguration`
    for files that can't be used.

    ``amqp_port`` and ``https_port`` are known once they listen; ``None`` where they don't."""

    def __init__(self, config: TlsConfig) -> None:
        self.config = config
        self._contexts = TlsContexts(config)
        share = TurnShare()
        self._amqp = TlsAcceptor("AMQP over TLS", self._contexts.for_amqp, share)
        self._https = TlsAcceptor("HTTPS", self._contexts.for_https, share)
        self._http: HttpServer | None = None

    @property
    def amqp_port(self) -> int | None:
        return self._amqp.port

    @property
    def https_port(self) -> int | None:
        return self._https.port

    def accept_amqp(
        self,
        admission: SocketAdmission,
        handshakes: OpenHandshakes,
        inside: Callable[[Peer], asyncio.Protocol],
        proxies: ProxySources | None = None,
    ) -> None:
        """Accept AMQP, on the port of the last time if there was one; ``proxies`` send a PROXY
        header before TLS. Raises ``OSError``. Does nothing where only HTTPS is wanted."""
        if self.config.amqp is not None:
            self._amqp.start(
                self.config.amqp, admission, handshakes, inside, has_logged_in, proxies=proxies
            )

    async def stop_amqp(self) -> None:
        """Accept no more AMQP; connections that are open stay. Idempotent."""
        await self._amqp.stop()

    async def serve(
        self,
        admission: SocketAdmission,
        handshakes: OpenHandshakes,
        app: ASGIApp,
        share: TurnShare,
    ) -> None:
        """Serve the management API. Raises ``OSError``. Does nothing where it is not wanted."""
        if self.config.https is not None:
            self._http = HttpServer(app, share)
            await self._http.start()
            protocol = self._http.protocol
            self._https.start(
                self.config.https, admission, handshakes, lambda _: protocol(), is_management=True
            )

    async def stop_https(self) -> None:
        """Answer what is being asked, and close. Idempotent."""
        await self._https.stop()
        if self._http is not None:
            await self._http.stop()

    def listening(self) -> list[Listening]:
        """The listening sockets with TLS, as the management API shows them."""
        config = self.config
        return [
            Listening(protocol, address.host, port, self._tls(verify))
            for protocol, address, port, verify in (
                ("amqp/ssl", config.amqp, self.amqp_port, config.verify),
                ("https", config.https, self.https_port, config.https_verify),
            )
            if address is not None and port is not None
        ]

    def addresses(self) -> list[tuple[str, Address]]:
        """Their addresses, by the names in the line that says the server is ready."""
        names = {"amqp/ssl": "amqps", "https": "https"}
        return [(names[each.protocol], Address(each.host, each.port)) for each in self.listening()]

    def _tls(self, verify: Verify) -> ListenerTls:
        config, files = self.config, self._contexts.files
        return ListenerTls(
            config.certificate,
            config.key,
            config.authority,
            _VERSIONS[config.oldest],
            verify is not Verify.NONE,
            verify is Verify.REQUIRED,
            files.certificate_expiries,
            files.authority_expiries,
        )
