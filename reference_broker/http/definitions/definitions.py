"""``/api/definitions``: export of everything that is declared as one file, and import of such a
file.

RabbitMQ's format in both directions. Where RabbitMQ's import skips an item without a word (a queue
that is there with other properties, a binding to nothing), this one refuses the whole file.
"""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from reference_broker.core.access.passwords import PasswordHash
from reference_broker.core.base.limits import MIB
from reference_broker.http.access.password_hashing import hashed_for
from reference_broker.http.access.vhosts import vhost_of
from reference_broker.http.definitions.access import SECTIONS, AccessDefinitions, has_passwords
from reference_broker.http.definitions.export import exported, exported_vhost
from reference_broker.http.definitions.file import DefinitionsFile, Faults
from reference_broker.http.definitions.policies import PolicyDefinitions
from reference_broker.http.definitions.topology_import import TopologyImport
from reference_broker.http.definitions.unsupported import unsupported_faults
from reference_broker.http.request.answer import (
    MEDIA_TYPE,
    NO_CACHE,
    Row,
    bad_request,
    json_response,
)
from reference_broker.http.request.body import read_object
from reference_broker.http.request.core_input import CoreInputs
from reference_broker.http.request.host import Host

DEFINITIONS_BYTES_MAX = 16 * MIB
"""Bytes of a file: about a hundred thousand objects. An import is one input of the core, so that
nobody sees half of it, and the loop stands still meanwhile: some seconds for a file of this
size."""

FAULTS_SHOWN_MAX = 20
"""Refused items that an answer names; the number of the rest is told."""


class Definitions:
    """``/api/definitions`` and, for one virtual host, ``/api/definitions/{vhost}``. For
    administrators only: a file has the hashes of all passwords."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._inputs = CoreInputs(host)

    async def export(self, request: Request) -> Response:
        """Everything as of this moment: see :mod:`~reference_broker.http.definitions.export`."""
        broker = self._host.broker
        if "vhost" in request.path_params:
            pieces = exported_vhost(vhost_of(broker, request), request)
        else:
            pieces = exported(broker, request)
        return StreamingResponse(pieces, headers=NO_CACHE, media_type=MEDIA_TYPE)

    async def load(self, request: Request) -> Response:
        """Declare everything of a file that this broker does not have; answered when it is on disk.
        The same file once more changes nothing. 204 as RabbitMQ; 200 and their names where items
        were skipped (see :class:`DefinitionsFile`).

        Raises :exc:`ApiError`: 400 with the names of all that can't be, and then nothing was done.
        """
        body = await read_object(request, (), bytes_max=DEFINITIONS_BYTES_MAX)
        broker = self._host.broker
        vhost = vhost_of(broker, request).name if "vhost" in request.path_params else None
        unsupported = unsupported_faults(body)
        hashes = await self._hashes(body, vhost)
        with self._inputs.begin(request) as broker:
            access = AccessDefinitions.parse(body, broker, vhost)
            file = DefinitionsFile.parse(body, vhost)
            vhosts = {**broker.vhosts, **access.new_vhosts()}
            policies = PolicyDefinitions(body, vhost, vhosts, broker)
            loading = TopologyImport(file, vhosts)
            faults = [*unsupported, *access.faults, *policies.faults, *loading.faults]
            if faults:
                raise bad_request(_told(faults))
            access.apply(hashes)
            policies.apply()
            loading.apply(broker.vhosts)
        await self._inputs.on_disk()
        skipped = file.skipped
        if vhost is not None:
            skipped += [section for section in SECTIONS if body.get(section)]
        if skipped:
            return json_response({"skipped": skipped})
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def _hashes(self, body: Row, vhost: str | None) -> dict[str, PasswordHash]:
        """Hashes of the new passwords, by user. Made before the input: only a file with passwords
        in plain text has any, and each takes its time."""
        if not has_passwords(body):
            return {}
        access = AccessDefinitions.parse(body, self._host.broker, vhost)
        if access.faults:
            return {}
        passwords = self._host.broker.users.passwords
        return {
            name: await hashed_for(passwords, user)
            for name, user in access.users.items()
            if user.password is not None
        }


def _told(faults: Faults) -> str:
    text = "; ".join(faults[:FAULTS_SHOWN_MAX])
    rest = len(faults) - FAULTS_SHOWN_MAX
    more = f"; and {rest} more" if rest > 0 else ""
    return f"nothing was imported: {text}{more}"
