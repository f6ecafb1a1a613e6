"""The terms of a call of publish: what its caller prefers when something goes wrong on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from mqkit.errors import ConfigurationError

WhenBlocked: TypeAlias = Literal["wait", "fail"]
"""The answer to a broker that blocks publishers: wait until it takes them again, as long as the
deadline allows, or fail at once. Only what was never written can fail."""


@dataclass(frozen=True, slots=True)
class Terms:
    """One object for all messages of a call, and for most calls."""

    resend: bool = True
    """Publish a message again, under the same id, when its confirm was lost with the connection:
    the broker may get it twice. If false, it is ``Unknown`` at once."""
    fails_when_blocked: bool = False

    def but(self, resend: bool, on_blocked: WhenBlocked | None) -> Terms:
        """These, with a call's own; ``None`` takes over what is here.

        Raises :exc:`~mqkit.errors.ConfigurationError` for values that there are not.
        """
        if not isinstance(resend, bool):
            raise ConfigurationError(f"resend={resend!r:.80}: expected True or False")
        if on_blocked is None:
            return Terms(resend, self.fails_when_blocked)
        if on_blocked not in get_args(WhenBlocked):
            raise ConfigurationError(f"on_blocked={on_blocked!r:.80}: expected 'wait' or 'fail'")
        return Terms(resend, on_blocked == "fail")
