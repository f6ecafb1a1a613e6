"""Validated user-id (rabbitmq.com/docs/validated-user-id): nobody publishes in another's name."""

from __future__ import annotations

from reference_broker.core.access.users import IMPERSONATOR, User
from reference_broker.errors import ChannelException, ReplyCode


def check_user_id(user: User, user_id: bytes | None) -> None:
    """``user_id`` is the message's property. Raises :exc:`ChannelException` 406 for somebody else's
    name, unless the user is tagged :data:`IMPERSONATOR`."""
    if user_id is None or user_id == user.name.encode() or IMPERSONATOR in user.tags:
        return
    raise ChannelException(
        ReplyCode.PRECONDITION_FAILED,
        f"user_id property set to '{user_id.decode(errors='replace')}'"
        f" but authenticated user was '{user.name}'",
    )
