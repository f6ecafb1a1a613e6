"""The management HTTP API, as far as the run needs it. Both brokers have the same paths."""

from __future__ import annotations

import time
from urllib.parse import quote

import httpx

TIMEOUT_S = 10.0
LOGIN = ("guest", "guest")
LISTED_WITHIN_S = 10.0
"""RabbitMQ lists a connection up to five seconds after it was made."""
ASK_INTERVAL_S = 0.3


class Management:
    """The API at ``url``. Raises what httpx does."""

    def __init__(self, url: str) -> None:
        self._url = url

    @property
    def node(self) -> str:
        """The name of the node."""
        return str(self._request("GET", "overview").json()["node"])

    def put(self, path: str, document: dict[str, float]) -> None:
        """PUT, below ``/api/``."""
        self._request("PUT", path, document)

    def close_all_connections(self) -> int:
        """Close all that the broker lists, and return their number: 0 where it listed none in
        time."""
        deadline = time.monotonic() + LISTED_WITHIN_S
        while time.monotonic() < deadline:
            closed = self._close_listed()
            if closed:
                return closed
            time.sleep(ASK_INTERVAL_S)
        return 0

    def _close_listed(self) -> int:
        try:
            rows = self._request("GET", "connections").json()
        except httpx.TransportError:  # it was started a moment ago
            return 0
        closed = 0
        for row in rows:
            try:
                self._request("DELETE", f"connections/{quote(row['name'], safe='')}")
            except httpx.HTTPStatusError:  # it has gone by itself
                continue
            closed += 1
        return closed

    def _request(
        self, method: str, path: str, document: dict[str, float] | None = None
    ) -> httpx.Response:
        answer = httpx.request(
            method,
            f"{self._url}/api/{path}",
            json=document,
            auth=LOGIN,
            timeout=TIMEOUT_S,
            trust_env=False,  # a proxy does not lead to this machine
        )
        return answer.raise_for_status()
