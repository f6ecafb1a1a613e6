"""The management API as ``ctl`` needs it: JSON in and out, and a refusal as an exit code."""

from __future__ import annotations

import json
from html import unescape
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from mqkit_cli.ctl.exits import UNAVAILABLE, CtlError
from mqkit_cli.management import ManagementApi, reason_of


def path(*segments: str) -> str:
    """``/api/...``, with every segment percent-encoded."""
    return "/api/" + "/".join(quote(segment, safe="") for segment in segments)


class Api:
    """Requests to one broker. A refusal is :exc:`CtlError` 69 with the broker's reason, unless
    ``refusals`` has the error for its status. Raises :exc:`CommandError` when there is no API."""

    def __init__(self, api: ManagementApi) -> None:
        self._api = api

    def accepts(self, name: str, password: str) -> bool:
        """True if the login is good (for HTTP the user needs a tag as well)."""
        return self._api.answer("GET", path("whoami"), login=(name, password)).is_success

    def get(self, where: str, refusals: dict[int, CtlError] | None = None) -> Any:
        return json.loads(self._send("GET", where, None, None, refusals))

    def exists(self, where: str) -> bool:
        """There is such a thing."""
        return self._api.answer("GET", where).status_code != HTTPStatus.NOT_FOUND

    def put(
        self, where: str, document: object, refusals: dict[int, CtlError] | None = None
    ) -> None:
        self._send("PUT", where, document, None, refusals)

    def post(self, where: str, document: object) -> Any:
        """The JSON that a request is answered with."""
        return json.loads(self._send("POST", where, document, None, None))

    def delete(
        self,
        where: str,
        refusals: dict[int, CtlError] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self._send("DELETE", where, None, headers, refusals)

    def _send(
        self,
        method: str,
        where: str,
        document: object,
        headers: dict[str, str] | None,
        refusals: dict[int, CtlError] | None,
    ) -> bytes:
        body = None if document is None else json.dumps(document).encode()
        answer = self._api.answer(method, where, body, headers)
        if answer.is_success:
            return answer.content
        known = (refusals or {}).get(answer.status_code)
        # RabbitMQ escapes some of its reasons for HTML, and rabbitmqctl none.
        raise known or CtlError(UNAVAILABLE, unescape(reason_of(answer.content)))
