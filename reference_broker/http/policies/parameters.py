"""``/api/parameters``: RabbitMQ's settings by component, virtual host and name.

Of its components this broker has the policies. Those of users may be read here, and are set at
their own page, as in RabbitMQ.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.base.erlang_term import erlang_term
from reference_broker.core.policy.policy import Policy, PolicyKind
from reference_broker.core.policy.policy_validation import PolicyRefused, PolicyWish
from reference_broker.http.access.vhosts import placed, vhost_of, vhosts_of
from reference_broker.http.policies.policies import (
    POLICY_BYTES_MAX,
    policy_rank,
    policy_value,
    refusal_text,
    writable_vhost,
)
from reference_broker.http.request.answer import Row, bad_request, json_response, not_found
from reference_broker.http.request.authentication import not_authorised, user_of
from reference_broker.http.request.authorization import NOT_ADMINISTRATOR, is_administrator
from reference_broker.http.request.body import read_object
from reference_broker.http.request.core_input import CoreInputs
from reference_broker.http.request.host import Host
from reference_broker.http.request.listing import listed, shown_columns

NOT_THIS_WAY = "policies may not be set using this method"

_KEYS = ("definition", "pattern", "priority")
"""Keys that a policy must have here. At its own page some may be left out."""


class _Parameter(NamedTuple):
    kind: PolicyKind
    vhost: str
    policy: Policy

    def row(self) -> Row:
        return {
            "value": policy_value(self.policy),
            "vhost": self.vhost,
            "component": self.kind.value,
            "name": self.policy.name,
        }


class Parameters:
    """``/api/parameters`` and the paths below."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._inputs = CoreInputs(host)

    async def index(self, request: Request) -> Response:
        """All parameters but user policies, or those of one component, or of one virtual host in
        that."""
        component = request.path_params.get("component", PolicyKind.OPERATOR)
        vhosts = vhosts_of(self._host.broker, request)
        kind = _kind_of(component)
        if kind is None:
            return json_response([])
        return await listed(
            request,
            placed(vhosts, lambda vhost: vhost.policies.of(kind)),
            lambda each: _Parameter(kind, each.vhost.name, each.item).row(),
            order=policy_rank,
        )

    async def show(self, request: Request) -> Response:
        vhost, kind = vhost_of(self._host.broker, request), _kind(request)
        policy = None if kind is None else vhost.policies.get(kind, request.path_params["name"])
        if kind is None or policy is None:
            raise not_found()
        return shown_columns(request, _Parameter(kind, vhost.name, policy).row())

    async def put(self, request: Request) -> Response:
        """Set an operator policy; answered when it is on disk."""
        body = await read_object(request, ("value",), bytes_max=POLICY_BYTES_MAX)
        with self._inputs.begin(request) as broker:
            _require_administrator(request)
            vhost, name = writable_vhost(broker, request), request.path_params["name"]
            try:
                value = operator_policy_value(request.path_params["component"], name, body["value"])
                wish = PolicyWish.parse(PolicyKind.OPERATOR, name, value)
                is_new = vhost.policies.set(PolicyKind.OPERATOR, name, wish)
            except PolicyRefused as refusal:
                raise bad_request(refusal_text(refusal, PolicyKind.OPERATOR)) from refusal
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.CREATED if is_new else HTTPStatus.NO_CONTENT)

    async def delete(self, request: Request) -> Response:
        """Remove an operator policy; answered when that is on disk."""
        kind = _kind(request)
        with self._inputs.begin(request) as broker:
            _require_administrator(request)
            vhost = vhost_of(broker, request)
            if kind is PolicyKind.USER:
                raise bad_request(NOT_THIS_WAY)
            if kind is None or not vhost.policies.remove(kind, request.path_params["name"]):
                raise not_found()
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)


def operator_policy_value(component: str, name: str, value: Any) -> Row:
    """The value of a parameter, if an operator policy's. Raises :exc:`ApiError` 400 for a user
    policy, and :exc:`PolicyRefused` for any other component."""
    if component == PolicyKind.USER:
        raise bad_request(NOT_THIS_WAY)
    if component != PolicyKind.OPERATOR:
        raise PolicyRefused([f"component {component} not found"])
    if not isinstance(value, dict):
        raise PolicyRefused([f"{name} not a list {erlang_term(value)}"])
    missing = [f'Key "{key}" not found in {name}' for key in _KEYS if key not in value]
    if missing:
        raise PolicyRefused(missing)
    return value


def _require_administrator(request: Request) -> None:
    """Let administrators pass only: operator policies are there to bound those who make policies,
    so it is not theirs to change them here either. (RabbitMQ guards their own page only.) Raises
    :exc:`ApiError` 401."""
    is_operators = request.path_params["component"] == PolicyKind.OPERATOR
    if is_operators and not is_administrator(user_of(request)):
        raise not_authorised(NOT_ADMINISTRATOR)


def _kind(request: Request) -> PolicyKind | None:
    return _kind_of(request.path_params["component"])


def _kind_of(component: str) -> PolicyKind | None:
    return next((kind for kind in PolicyKind if kind == component), None)
