"""An action: one thing that a user, an administrator or a stranger asks a broker for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from mqkit_bench.stalls.tenant import Tenant

Play: TypeAlias = Callable[[], str]
"""Does what is measured, and returns when its effects have ended, as far as a client can see that.
The text is a remark for the row, and mostly empty. Raises :exc:`OSError` and ``httpx.HTTPError``
where the broker refuses or does not answer, which is a remark, too."""


@dataclass(frozen=True, slots=True)
class Action:
    """A row of the table. ``prepare`` declares and sends all that is not measured, and builds the
    octets of the play beforehand, so that the client is cheap."""

    name: str
    what: str
    prepare: Callable[[Tenant], Play]
    is_administrators: bool = False
    """Only an administrator may do it, so others may wait longer."""
    is_mqkits: bool = False
    """Not played on others: they lack what it needs, or it does not end there."""
