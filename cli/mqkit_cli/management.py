"""Asking a broker's management API, RabbitMQ's or the reference broker's, and saying what went
wrong in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from mqkit.tls import query_parameters, tls_options
from mqkit.url import redact
from mqkit_cli.connection import MANAGEMENT_PORT, MANAGEMENT_URL_VARIABLE, Target
from mqkit_cli.errors import CommandError

_REASON_CHARACTERS = 4_000
"""Characters shown of an answer that no broker has written: a proxy's page, for instance."""


class ManagementApi:
    """The management API of ``target``. Each request waits ``timeout_s`` for each part of its
    answer, and raises :exc:`CommandError` for all that is not success."""

    def __init__(self, target: Target, timeout_s: float) -> None:
        parts = urlsplit(target.management_url)
        try:
            port = parts.port
        except ValueError:  # a / # or ? in the password: what follows is no place
            port = 0
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
            raise CommandError(
                f"the management URL {redact(target.management_url)!r} is not one (expected"
                f" something like http://guest:guest@127.0.0.1:{MANAGEMENT_PORT})"
            )
        self._tls = tls_options(query_parameters(parts.query), parts.scheme == "https")
        self._scheme = parts.scheme
        self._base = parts._replace(
            netloc=parts.netloc.rpartition("@")[2],
            path=parts.path.rstrip("/").removesuffix("/api"),
            query="",
            fragment="",
        ).geturl()
        self._login = (unquote(parts.username or "guest"), unquote(parts.password or "guest"))
        self._timeout_s = timeout_s
        what = "say where it is with" if target.is_derived else "check"
        self._advice = f" ({what} --management-url, or {MANAGEMENT_URL_VARIABLE})"

    def get(self, path: str) -> bytes:
        """The answer's body."""
        return self._request("GET", path, None).content

    def get_short(self, path: str, size: int) -> bytes:
        """The answer's body, of which no more than ``size`` octets are taken. Raises
        :exc:`CommandError` for a longer one, and what httpx raises where there is none."""
        with (
            self._client() as client,
            client.stream(
                "GET",
                self._base + path,
                headers={"accept-encoding": "identity"},
                auth=self._login,
                extensions=self._tls.request_extensions(),
            ) as answer,
        ):
            if not answer.is_success:
                raise CommandError(f"HTTP {answer.status_code}")
            body = b""
            for piece in answer.iter_raw():
                body += piece
                if len(body) > size:
                    raise CommandError(f"the answer is longer than {size} octets")
            return body

    def post(self, path: str, body: bytes) -> bytes:
        """Send a JSON document. The answer's body, which may be empty."""
        return self._request("POST", path, body).content

    def answer(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        login: tuple[str, str] | None = None,
    ) -> httpx.Response:
        """The broker's answer, a refusal too. ``login`` is another user and password. Raises
        :exc:`CommandError` where there is no answer."""
        kind = {} if body is None else {"content-type": "application/json"}
        try:
            with self._client() as client:
                return client.request(
                    method,
                    self._base + path,
                    content=body,
                    headers={**kind, **(headers or {})},
                    auth=login or self._login,
                    extensions=self._tls.request_extensions(),
                )
        except httpx.TimeoutException:
            raise CommandError(
                f"waited {self._timeout_s:g} s for the management API at {self._base}"
                + ("" if body is None else " (it may have been done all the same)")
            ) from None
        except httpx.ConnectError as error:
            raise CommandError(
                f"no management API at {self._base}: {error}{self._advice}"
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise CommandError(
                f"the management API at {self._base} failed: {error!r} (its port is usually"
                f" {MANAGEMENT_PORT}; it is not the one of AMQP)"
            ) from None

    def _client(self) -> httpx.Client:
        # No proxy from the environment: a broker's management port is not on the public web.
        # Without TLS there is nothing to verify, and reading the authorities takes a while.
        verify = self._tls.context() if self._scheme == "https" else False
        return httpx.Client(timeout=self._timeout_s, trust_env=False, verify=verify)

    def _request(self, method: str, path: str, body: bytes | None) -> httpx.Response:
        answer = self.answer(method, path, body)
        if not answer.is_success:
            raise CommandError(self._refusal(answer))
        return answer

    def _refusal(self, answer: httpx.Response) -> str:
        reason = reason_of(answer.content)
        if answer.status_code == HTTPStatus.UNAUTHORIZED:
            return (
                f"the management API at {self._base} refused the login: {reason} (check user and"
                " password; the user needs the tag 'administrator')"
            )
        return f"the broker at {self._base} refused with HTTP {answer.status_code}: {reason}"


def reason_of(body: bytes) -> str:
    """The broker's reason for a refusal, on one line."""
    try:
        answer = json.loads(body)
        reason = _plain(answer["reason"])
    except (ValueError, RecursionError, KeyError, TypeError):
        reason = body.decode("utf-8", "replace")
    return " ".join(reason.split())[:_REASON_CHARACTERS] or "it gave no reason"


def _plain(reason: Any) -> str:
    """RabbitMQ prints an Erlang tuple as a list, and the texts in it as lists of characters."""
    if not isinstance(reason, list):
        return str(reason)
    if reason and all(isinstance(part, int) and 0 < part <= 0x10FFFF for part in reason):
        return "".join(map(chr, reason))
    return ": ".join(_plain(part) for part in reason if part != "none")
