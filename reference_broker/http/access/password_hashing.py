"""The wait of a request for a new password's hash, which is made beside the event loop."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from reference_broker.core.access.passwords import PasswordHash, Passwords
from reference_broker.http.access.user_request import UserRequest
from reference_broker.http.request.answer import ApiError


async def hashed_for(passwords: Passwords, wanted: UserRequest) -> PasswordHash:
    """The hash to keep for the user. Raises :exc:`ApiError` 503 where too many are being made."""
    if wanted.password is None:
        return wanted.hashed
    made: asyncio.Future[PasswordHash | None] = asyncio.get_running_loop().create_future()

    def answer(hashed: PasswordHash | None) -> None:
        if not made.done():  # the request may have left
            made.set_result(hashed)

    passwords.hash(wanted.password, answer)
    hashed = await made
    if hashed is None:
        raise ApiError(
            HTTPStatus.SERVICE_UNAVAILABLE, "busy", "too many passwords are being hashed"
        )
    return hashed
