"""``/api/login``, a login that is only tried, and ``/api/auth/attempts``, the counts of logins."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.access.login_attempts import AttemptCount
from reference_broker.http.request.answer import Row, json_response, not_found
from reference_broker.http.request.authentication import login_failed
from reference_broker.http.request.authorization import Needs, admitted
from reference_broker.http.request.body import read_bytes
from reference_broker.http.request.host import Host
from reference_broker.http.request.media_type import FORM, media_type_of

FORM_BYTES_MAX = 4_096
"""Bytes of a form with a name and a password, percent-encoded."""

FORM_FIELDS_MAX = 16


class Logins:
    """The answers about logging in."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def login(self, request: Request) -> Response:
        """Check the ``username`` and ``password`` of a form: 200 if they are right, and the user
        may use the management API; 415 if they came under another type. Raises :exc:`ApiError` 401
        otherwise.

        RabbitMQ sets a cookie with both in it, for its own page alone. None is set here: the page
        needs none, and a password in a cookie goes to every port of the host.
        """
        fields = _form(await read_bytes(request, FORM_BYTES_MAX))
        if fields is None:
            raise login_failed()
        name, password = fields
        await admitted(self._host.broker, request, Needs.MANAGEMENT, (name, password))
        if media_type_of(request.headers.get("content-type", "")) != FORM:
            return Response(status_code=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        return json_response("ok")

    async def attempts(self, request: Request) -> Response:
        """Counts of logins by protocol, this request's own included. Raises :exc:`ApiError` 404 for
        another node."""
        self._require_node(request)
        counts = self._host.broker.login_attempts.counts()
        return json_response([_attempt_row(count) for count in counts])

    async def attempts_by_source(self, request: Request) -> Response:
        """An empty list: origins of logins are not kept, as in RabbitMQ where nobody has set
        ``track_auth_attempt_source``. Raises :exc:`ApiError` 404 for another node."""
        self._require_node(request)
        return json_response([])

    async def reset_attempts(self, request: Request) -> Response:
        """Set the counts to 0. Raises :exc:`ApiError` 404 for another node."""
        self._require_node(request)
        self._host.broker.login_attempts.reset()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    def _require_node(self, request: Request) -> None:
        if request.path_params["node"] != self._host.node().name:
            raise not_found()


def _form(body: bytes) -> tuple[str, bytes] | None:
    """Name and password of a form, where both can be read."""
    try:
        fields = dict(
            parse_qsl(
                body.decode("ascii"),
                keep_blank_values=True,
                errors="surrogateescape",
                max_num_fields=FORM_FIELDS_MAX,
            )
        )
        name = fields["username"].encode(errors="surrogateescape").decode()
        return name, fields["password"].encode(errors="surrogateescape")
    except (KeyError, ValueError):
        return None


def _attempt_row(count: AttemptCount) -> Row:
    return {
        "protocol": count.protocol.value,
        "auth_attempts": count.failed + count.succeeded,
        "auth_attempts_failed": count.failed,
        "auth_attempts_succeeded": count.succeeded,
    }
