"""``/api/definitions``: export of everything that is declared as one file, and import of such a
file.

RabbitMQ's format in both directions. Where RabbitMQ's import skips an item without a word (a queue
that is there with other properties, a binding to nothing), this one refuses the whole file.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from reference_broker.core.access.passwords import PasswordHash
from reference_broker.core.base.limits import MIB
from reference_broker.core.broker import Broker
from reference_broker.core.work.budget import DECLARATION_UNITS
from reference_broker.core.work.until import NotYet, Until
from reference_broker.errors import NotAgreed
from reference_broker.http.access.password_hashing import hashed_for
from reference_broker.http.access.vhosts import vhost_of
from reference_broker.http.definitions.access import SECTIONS, AccessDefinitions, has_passwords
from reference_broker.http.definitions.export import exported, exported_vhost
from reference_broker.http.definitions.file import Faults, Making
from reference_broker.http.definitions.rehearsal import Rehearsal
from reference_broker.http.definitions.upload import Upload
from reference_broker.http.request.answer import (
    MEDIA_TYPE,
    NO_CACHE,
    ApiError,
    Row,
    bad_request,
    json_response,
    not_agreed,
)
from reference_broker.http.request.body import parsed_object, read_bytes
from reference_broker.http.request.core_input import CoreInputs, settle
from reference_broker.http.request.handlings import handlings_of
from reference_broker.http.request.host import Host
from reference_broker.http.request.media_type import JSON, MULTIPART, media_type_of
from reference_broker.http.request.portions import stepped, taken_apart
from reference_broker.http.request.turn_share import next_turn

DEFINITIONS_BYTES_MAX = 16 * MIB
"""Bytes of a file: about a hundred thousand objects."""

DEFINITIONS_VALUES_MAX = 4_000_000
"""Values of a file, with members' names: a hundred thousand objects of forty."""

REHEARSALS_MAX = 3
"""Rehearsals beside which others declare. When the last of them was overtaken, too, others wait for
the next one already, and it counts: an import among many declarations comes to an end."""

INPUT_STEPS = 100
"""Objects that are made in one input of the core: about 4 ms."""

INPUT_UNITS = INPUT_STEPS * DECLARATION_UNITS
"""Units of work that end it sooner: a policy is compared with every queue, and a queue with every
policy."""

_NO_MORE = object()

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
        were skipped (see :attr:`Rehearsal.skipped`); 303 to where a form wants it.

        Raises :exc:`ApiError`: 400 with the names of all that can't be, and then nothing was done;
        409 with the names of what somebody else's change prevented while the import was made; 503
        where the nodes of a cluster can't be asked, and how far it came: send the file again.
        """
        content, redirect = await _file_of(request)
        body = await parsed_object(request, content, DEFINITIONS_VALUES_MAX)
        del content
        try:
            answer = await self._load(request, body)
            if redirect is not None:
                headers = {"location": redirect}
                return Response(status_code=HTTPStatus.SEE_OTHER, headers=headers)
            return answer
        finally:
            await taken_apart(request, [rows for rows in body.values() if isinstance(rows, list)])

    async def _load(self, request: Request, body: Row) -> Response:
        broker = self._host.broker
        vhost = vhost_of(broker, request).name if "vhost" in request.path_params else None
        hashes = await self._hashes(request, body, vhost)
        names: list[str] = []
        is_made, left = False, REHEARSALS_MAX
        while not is_made:
            rehearsal = Rehearsal(body, broker, vhost)
            async with AsyncExitStack() as ends:
                ends.push_async_callback(stepped, request, rehearsal.release())
                if not left:
                    await ends.enter_async_context(self._locked(names))
                await stepped(request, rehearsal.read())
                if left:
                    names = rehearsal.vhost_names
                    await ends.enter_async_context(self._locked(names))
                try:
                    is_made = await self._made(request, rehearsal, hashes, is_last=not left)
                except NotAgreed as why:
                    raise not_agreed(
                        f"{rehearsal.progress} were imported: {why.text}. The same file again"
                        " brings what is missing"
                    ) from why
            left -= 1
        await self._inputs.defined()
        if overtaken := rehearsal.overtaken:
            told = _told("others changed something meanwhile; all was imported but", overtaken)
            raise ApiError(HTTPStatus.CONFLICT, "overtaken", told)
        skipped = rehearsal.skipped
        if vhost is not None:
            skipped += [section for section in SECTIONS if body.get(section)]
        if skipped:
            return json_response({"skipped": skipped})
        return Response(status_code=HTTPStatus.NO_CONTENT)

    @asynccontextmanager
    async def _locked(self, names: Sequence[str]) -> AsyncIterator[None]:
        """Have the right to declare in these virtual hosts, as soon as no other import has it: all
        others who declare there wait, and go on in any case when this ends."""
        locks, lock = self._host.broker.locks, None
        while lock is None:
            try:
                lock = locks.take(names)
            except NotYet as wait:
                released = self._inputs.awaited()
                wait.until.then(partial(settle, released))
                await released
        try:
            yield
        finally:  # the client may have gone
            with self._inputs.go_on():
                locks.release(lock)

    async def _made(
        self,
        request: Request,
        rehearsal: Rehearsal,
        hashes: Mapping[str, PasswordHash],
        *,
        is_last: bool,
    ) -> bool:
        """Make what was rehearsed, in portions. False if it was overtaken, and this is not the
        last rehearsal: then nothing is done."""
        making = rehearsal.apply(hashes)
        with self._inputs.begin(request) as broker:
            if rehearsal.is_overtaken and not is_last:
                return False
            if faults := rehearsal.faults:
                raise bad_request(_told("nothing was imported", faults))
            end = _went_on(making, broker)
        while end is not _NO_MORE:
            await self._when_it_goes_on(request, end)
            with self._inputs.go_on() as broker:
                end = _went_on(making, broker)
        return True

    async def _when_it_goes_on(self, request: Request, until: object) -> None:
        if isinstance(until, Until):
            happened = self._inputs.awaited()
            until.then(partial(settle, happened))
            await happened
        else:
            await next_turn(request)

    async def _hashes(
        self, request: Request, body: Row, vhost: str | None
    ) -> dict[str, PasswordHash]:
        """Hashes of the new passwords, by user. Made before the rehearsal: only a file with
        passwords in plain text has any, and each takes its time."""
        hashes = handlings_of(request).hashes
        if hashes or not has_passwords(body):
            return hashes
        access = AccessDefinitions(_broker=self._host.broker)
        await stepped(request, access.read(body, vhost))
        if access.faults:
            return {}
        passwords = self._host.broker.users.passwords
        found = {
            name: await hashed_for(passwords, user)
            for name, user in access.users.items()
            if user.password is not None
        }
        hashes.update(found)
        return found


async def _file_of(request: Request) -> tuple[bytes, str | None]:
    """The file in a request, by itself or in a form, and where the form sends the browser
    afterwards."""
    content = await read_bytes(request, DEFINITIONS_BYTES_MAX)
    content_type = request.headers.get("content-type", JSON)
    if media_type_of(content_type) != MULTIPART:
        return content, None
    upload = Upload(content_type)
    for _ in upload.read(content):
        await next_turn(request)
    return upload.file, upload.redirect


def _went_on(steps: Making, broker: Broker) -> object:
    """Take a portion of the steps. Returns what has to happen before there are others, ``None`` for
    another turn, and ``_NO_MORE`` when there are none."""
    spent = broker.budget.left - INPUT_UNITS
    with broker.locks.holder_works():
        for _ in range(INPUT_STEPS):
            until = next(steps, _NO_MORE)
            if until is not None:
                return until
            if broker.budget.left <= spent:
                break
    return None


def _told(what: str, faults: Faults) -> str:
    text = "; ".join(faults[:FAULTS_SHOWN_MAX])
    rest = len(faults) - FAULTS_SHOWN_MAX
    more = f"; and {rest} more" if rest > 0 else ""
    return f"{what}: {text}{more}"
