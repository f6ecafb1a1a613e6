"""``/api/definitions``: what is declared, as one file, and such a file declared again.

RabbitMQ's format in both directions. Where RabbitMQ's import skips an item without a word (a queue
that is there with other properties, a binding to nothing), this one refuses the whole file.
"""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from reference_broker.core.limits import MIB
from reference_broker.http.answer import MEDIA_TYPE, NO_CACHE, ApiError, bad_request, json_response
from reference_broker.http.authentication import user_of
from reference_broker.http.body import read_object
from reference_broker.http.core_input import CoreInputs
from reference_broker.http.definitions_beside import Surroundings
from reference_broker.http.definitions_export import exported, exported_vhost
from reference_broker.http.definitions_file import DefinitionsFile, Faults
from reference_broker.http.definitions_import import DefinitionsImport
from reference_broker.http.definitions_policies import PoliciesOfFile
from reference_broker.http.host import Host
from reference_broker.http.vhosts import vhost_of

DEFINITIONS_BYTES_MAX = 16 * MIB
"""A file of about a hundred thousand objects. An import is one input of the core, so that nobody
sees half of it, and the loop stands still meanwhile: some seconds for a file of this size."""

FAULTS_SHOWN_MAX = 20
"""Of the items that are refused; the number of the rest is told."""

ADMINISTRATOR = "administrator"


class Definitions:
    """``/api/definitions`` and, for one virtual host, ``/api/definitions/{vhost}``. For
    administrators only: a file has the hashes of all passwords."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._inputs = CoreInputs(host)

    async def export(self, request: Request) -> Response:
        """Everything as of this moment: see :mod:`definitions_export`."""
        _require_administrator(request)
        broker = self._host.broker
        if "vhost" in request.path_params:
            pieces = exported_vhost(vhost_of(broker, request))
        else:
            pieces = exported(broker)
        return StreamingResponse(pieces, headers=NO_CACHE, media_type=MEDIA_TYPE)

    async def load(self, request: Request) -> Response:
        """Declare what a file has and this broker has not; answered when it is on disk. The same
        file once more changes nothing. 204 as RabbitMQ; 200 and their names where items were
        skipped (see :class:`DefinitionsFile`).

        Raises :exc:`ApiError`: 400 with the names of all that can't be, and then nothing was done.
        """
        _require_administrator(request)
        body = await read_object(request, (), bytes_max=DEFINITIONS_BYTES_MAX)
        with self._inputs.begin() as broker:
            vhost = vhost_of(broker, request).name if "vhost" in request.path_params else None
            beside = Surroundings(broker.vhosts, broker.users.all()).faults_of(body)
            file = DefinitionsFile.parse(body, vhost)
            policies = PoliciesOfFile(body, vhost, broker)
            loading = DefinitionsImport(file, broker.vhosts)
            if beside or policies.faults or loading.faults:
                raise bad_request(_told([*beside, *policies.faults, *loading.faults]))
            policies.apply()
            loading.apply()
        await self._inputs.on_disk()
        if file.skipped:
            return json_response({"skipped": file.skipped})
        return Response(status_code=HTTPStatus.NO_CONTENT)


def _require_administrator(request: Request) -> None:
    if ADMINISTRATOR not in user_of(request).tags:
        raise ApiError(
            HTTPStatus.UNAUTHORIZED,
            "not_authorised",
            "Not administrator user",
            {"www-authenticate": 'Basic realm="mqkit management"'},
        )


def _told(faults: Faults) -> str:
    text = "; ".join(faults[:FAULTS_SHOWN_MAX])
    rest = len(faults) - FAULTS_SHOWN_MAX
    more = f"; and {rest} more" if rest > 0 else ""
    return f"nothing was imported: {text}{more}"
