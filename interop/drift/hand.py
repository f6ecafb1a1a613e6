"""A hand that changes the broker's objects beside the app: pika and the management API."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx
import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker

from interop.drift.layout import Binding, Exchange, Queue

TIMEOUT_S = 10.0
LOGIN = ("guest", "guest")
VHOST = quote("/", safe="")
TRIES = 50
"""The app may declare its own in between a deletion and a declaration, as it should."""


class Hand:
    """Belongs to one thread. Raises what pika and httpx do."""

    def __init__(self, amqp_url: str, management_url: str) -> None:
        self._parameters = pika.URLParameters(amqp_url)
        self._parameters.heartbeat = 0
        self._connection = pika.BlockingConnection(self._parameters)
        self._api = httpx.Client(
            base_url=f"{management_url}/api/", auth=LOGIN, timeout=TIMEOUT_S, trust_env=False
        )

    def close(self) -> None:
        """Let go of what it holds: an exclusive queue too."""
        self._connection.close()
        self._api.close()

    def reconnect(self) -> None:
        """End the connection, and with it an exclusive queue."""
        self._connection.close()
        self._connection = pika.BlockingConnection(self._parameters)

    # -- AMQP --------------------------------------------------------------------------------

    def delete(self, declared: Exchange | Queue) -> None:
        """Delete it; nothing is done where it is not there."""

        def act(channel: BlockingChannel) -> None:
            if isinstance(declared, Queue):
                channel.queue_delete(declared.name)
            else:
                channel.exchange_delete(declared.name)

        self._on_channel(act)

    def declare(self, declared: Exchange | Queue) -> None:
        """Declare it; raises where it is there otherwise."""
        self._on_channel(lambda channel: _declare(channel, declared))

    def declare_instead(self, declared: Exchange | Queue) -> None:
        """Delete what has the name, and declare this."""
        for _ in range(TRIES):
            self.delete(declared)
            try:
                self.declare(declared)
            except ChannelClosedByBroker:
                continue
            return
        raise RuntimeError(f"{declared.name} was declared again {TRIES} times")

    def bind(self, binding: Binding) -> None:
        """Bind."""
        self._on_channel(lambda channel: _bind(channel, binding))

    def unbind(self, binding: Binding) -> None:
        """Unbind."""
        self._on_channel(lambda channel: _unbind(channel, binding))

    def is_there(self, declared: Exchange | Queue) -> bool:
        """True if something has the name."""

        def ask(channel: BlockingChannel) -> None:
            if isinstance(declared, Queue):
                channel.queue_declare(declared.name, passive=True)
            else:
                channel.exchange_declare(declared.name, passive=True)

        try:
            self._on_channel(ask)
        except ChannelClosedByBroker:
            return False
        return True

    def _on_channel(self, act: Callable[[BlockingChannel], None]) -> None:
        channel = self._connection.channel()
        act(channel)
        channel.close()

    # -- HTTP --------------------------------------------------------------------------------

    def is_bound(self, binding: Binding) -> bool:
        """True if the broker has the binding."""
        end = "e" if binding.to_exchange else "q"
        names = quote(binding.source, safe=""), quote(binding.destination, safe="")
        rows = self._request("GET", f"bindings/{VHOST}/e/{names[0]}/{end}/{names[1]}").json()
        wanted = dict(binding.arguments)
        return any(row["routing_key"] == binding.key and row["arguments"] == wanted for row in rows)

    def set_policy(self, name: str, policy: dict[str, Any], *, operator: bool = False) -> None:
        """Set a policy, or an operator policy."""
        self._request("PUT", f"{_kind(operator)}/{VHOST}/{name}", policy)

    def delete_policy(self, name: str, *, operator: bool = False) -> None:
        """Delete it, if it is there."""
        path = f"{_kind(operator)}/{VHOST}/{name}"
        self._request("DELETE", path, allowed=HTTPStatus.NOT_FOUND)

    def _request(
        self,
        method: str,
        path: str,
        document: dict[str, Any] | None = None,
        allowed: HTTPStatus | None = None,
    ) -> httpx.Response:
        answer = self._api.request(method, path, json=document)
        return answer if answer.status_code == allowed else answer.raise_for_status()


def _kind(operator: bool) -> str:
    return "operator-policies" if operator else "policies"


def _declare(channel: BlockingChannel, declared: Exchange | Queue) -> None:
    arguments = dict(declared.arguments) or None
    if isinstance(declared, Queue):
        channel.queue_declare(
            declared.name,
            durable=declared.durable,
            exclusive=declared.exclusive,
            auto_delete=declared.auto_delete,
            arguments=arguments,
        )
    else:
        channel.exchange_declare(
            declared.name,
            declared.type,
            durable=declared.durable,
            auto_delete=declared.auto_delete,
            internal=declared.internal,
            arguments=arguments,
        )


def _bind(channel: BlockingChannel, binding: Binding) -> None:
    bind = channel.exchange_bind if binding.to_exchange else channel.queue_bind
    bind(binding.destination, binding.source, binding.key, dict(binding.arguments) or None)


def _unbind(channel: BlockingChannel, binding: Binding) -> None:
    unbind = channel.exchange_unbind if binding.to_exchange else channel.queue_unbind
    unbind(binding.destination, binding.source, binding.key, dict(binding.arguments) or None)
