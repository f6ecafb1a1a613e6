"""A migration that can't go on as it is."""

from __future__ import annotations

from mqkit.errors import MqkitError


class Stopped(MqkitError):
    """The migration stands where it is, and nothing is lost: the message says what is in the way.
    Mend that, and the same call goes on; or abort."""
