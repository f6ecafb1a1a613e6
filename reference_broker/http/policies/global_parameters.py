"""``/api/global-parameters``: JSON values that tools keep with the broker."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.base.limits import MIB
from reference_broker.core.policy.global_parameters import GlobalParameterRefused
from reference_broker.http.request.answer import Row, bad_request, not_found
from reference_broker.http.request.body import read_object
from reference_broker.http.request.core_input import CoreInputs
from reference_broker.http.request.host import Host
from reference_broker.http.request.listing import listed, shown_columns


class GlobalParameterPages:
    """``/api/global-parameters`` and the paths below."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._inputs = CoreInputs(host)

    async def index(self, request: Request) -> Response:
        items = self._host.broker.global_parameters.items()
        return await listed(request, items, global_parameter_row)

    async def show(self, request: Request) -> Response:
        name, parameters = request.path_params["name"], self._host.broker.global_parameters
        if name not in parameters:
            raise not_found()
        return shown_columns(request, global_parameter_row((name, parameters.get(name))))

    async def put(self, request: Request) -> Response:
        """Set a global parameter; answered when it is on disk."""
        body = await read_object(request, ("value",), bytes_max=MIB)
        with self._inputs.begin(request) as broker:
            try:
                is_new = broker.global_parameters.set(request.path_params["name"], body["value"])
            except GlobalParameterRefused as refusal:
                raise bad_request(str(refusal)) from refusal
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.CREATED if is_new else HTTPStatus.NO_CONTENT)

    async def delete(self, request: Request) -> Response:
        """Remove a global parameter; answered when that is on disk."""
        with self._inputs.begin(request) as broker:
            if not broker.global_parameters.remove(request.path_params["name"]):
                raise not_found()
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)


def global_parameter_row(item: tuple[str, Any]) -> Row:
    name, value = item
    return {"name": name, "value": value}
