"""``/api/policies`` and ``/api/operator-policies``: alike, but for the tag that a user needs."""

from __future__ import annotations

import html
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.base.limits import MIB
from reference_broker.core.broker import Broker
from reference_broker.core.policy.policy import Policy, PolicyKind
from reference_broker.core.policy.policy_validation import PolicyRefused, PolicyWish
from reference_broker.core.vhost.vhost import VHost
from reference_broker.http.access.vhosts import Placed, placed, vhost_of, vhosts_of
from reference_broker.http.request.answer import ApiError, Row, bad_request, not_found
from reference_broker.http.request.body import read_object
from reference_broker.http.request.core_input import CoreInputs
from reference_broker.http.request.host import Host
from reference_broker.http.request.listing import listed, shown_columns

POLICY_BYTES_MAX = MIB // 4
"""Bytes of a body that sets a policy: its pattern and its names are far smaller, and it is kept in
memory."""

REQUIRED_KEYS = ("pattern", "definition")


class PolicyPages:
    """The pages of one kind of policy."""

    def __init__(self, host: Host, kind: PolicyKind) -> None:
        self._host = host
        self._inputs = CoreInputs(host)
        self._kind = kind

    async def index(self, request: Request) -> Response:
        """All policies, or those of one virtual host: RabbitMQ's order, the least important
        first."""
        vhosts, kind = vhosts_of(self._host.broker, request), self._kind
        return await listed(
            request,
            placed(vhosts, lambda vhost: vhost.policies.of(kind)),
            lambda each: policy_row(each.item, each.vhost.name),
            order=policy_rank,
        )

    async def show(self, request: Request) -> Response:
        vhost = vhost_of(self._host.broker, request)
        policy = vhost.policies.get(self._kind, request.path_params["policy"])
        if policy is None:
            raise not_found()
        return shown_columns(request, policy_row(policy, vhost.name))

    async def put(self, request: Request) -> Response:
        """Set or change a policy; answered when it is on disk. Most objects have it then, and in a
        virtual host of thousands the rest soon."""
        body = await read_object(request, REQUIRED_KEYS, bytes_max=POLICY_BYTES_MAX)
        with self._inputs.begin(request) as broker:
            vhost = writable_vhost(broker, request)
            name = request.path_params["policy"]
            try:
                wish = PolicyWish.parse(self._kind, name, body)
                is_new = vhost.policies.set(self._kind, name, wish)
            except PolicyRefused as refusal:
                raise bad_request(refusal_text(refusal, self._kind)) from refusal
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.CREATED if is_new else HTTPStatus.NO_CONTENT)

    async def delete(self, request: Request) -> Response:
        """Remove a policy; answered when that is on disk."""
        with self._inputs.begin(request) as broker:
            vhost = vhost_of(broker, request)
            if not vhost.policies.remove(self._kind, request.path_params["policy"]):
                raise not_found()
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)


def policy_rank(each: Placed[Policy]) -> tuple[float, str, str]:
    """The place of a policy in RabbitMQ's order."""
    return (each.item.priority, each.vhost.name, each.item.name)


def policy_row(policy: Policy, vhost: str) -> Row:
    return {"vhost": vhost, "name": policy.name, **policy_value(policy)}


def policy_value(policy: Policy) -> Row:
    """A policy's columns but its name and virtual host."""
    return {
        "pattern": policy.pattern.text,
        "apply-to": policy.apply_to.value,
        "definition": policy.definition,
        "priority": policy.priority,
    }


def writable_vhost(broker: Broker, request: Request) -> VHost:
    """The virtual host in the path of a PUT. Raises :exc:`ApiError` 404 in RabbitMQ's words."""
    vhost = broker.vhosts.get(request.path_params["vhost"])
    if vhost is None:
        raise ApiError(HTTPStatus.NOT_FOUND, "not_found", "vhost_not_found")
    return vhost


def refusal_text(refusal: PolicyRefused, kind: PolicyKind) -> str:
    """The text of a refusal. RabbitMQ escapes the text of a user policy for HTML, and not that of
    an operator policy."""
    lines = "".join(f"{fault}\n" for fault in refusal.faults)
    shown = html.escape(lines, quote=False) if kind is PolicyKind.USER else lines
    return f"Validation failed\n\n{shown}"
