"""The login at etcd: a user and a password for a token, which all members take until it is too old
or the one that remembers it starts again."""

from __future__ import annotations

import asyncio

from reference_broker.runtime.etcd.config import Endpoint, EtcdConfig
from reference_broker.runtime.etcd.failures import Fate, GatewayFailure
from reference_broker.runtime.etcd.fields import BadAnswer, text
from reference_broker.runtime.etcd.gateway import Gateway

AUTHENTICATE_TIMEOUT_S = 3.0
"""Seconds for an answer. bcrypt takes etcd 0.1 s for each, and they wait for each other."""

_PATH = "/v3/auth/authenticate"
_NOT_ENABLED = "authentication is not enabled"


class Login:
    """Has one token, or none: for no user, and for an etcd that asks for none."""

    def __init__(self, config: EtcdConfig, gateway: Gateway) -> None:
        self._user = config.user
        self._password = config.password
        self._gateway = gateway
        self._token: str | None = None if config.user is not None else ""
        self._one_at_a_time = asyncio.Lock()

    @property
    def has_user(self) -> bool:
        return self._user is not None

    async def token(self, endpoint: Endpoint) -> str:
        """The token. Raises :exc:`GatewayFailure`, which is never in doubt: whatever the token is
        for has not been sent yet."""
        async with self._one_at_a_time:
            if self._token is None:
                self._token = await self._authenticate(endpoint)
            return self._token

    def refused(self, token: str) -> None:
        """Get another one than ``token`` the next time."""
        if self._token == token and self.has_user:
            self._token = None

    async def _authenticate(self, endpoint: Endpoint) -> str:
        body = {"name": self._user, "password": self._password}
        try:
            answer = await self._gateway.ask(endpoint, _PATH, body, "", AUTHENTICATE_TIMEOUT_S)
            return text(answer, "token")
        except BadAnswer as error:
            raise GatewayFailure(f"etcd at {endpoint}: {error}", Fate.ELSEWHERE) from None
        except GatewayFailure as failure:
            if failure.fate is not Fate.REFUSED:
                raise GatewayFailure(failure.reason, Fate.ELSEWHERE) from None
            if failure.reason.endswith(_NOT_ENABLED):
                return ""
            reason = f"{failure.reason} (user {self._user!r})"
            raise GatewayFailure(reason, Fate.REFUSED) from None
