"""Operations of an administrator over the HTTP API: policies, and one user's permissions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from mqkit.transport.seam import Credentials

TIMEOUT_S = 20.0
EVERYTHING = ".*"


@dataclass(frozen=True, slots=True)
class SetPolicy:
    """Make or change a policy; an operator policy with ``operator``."""

    name: str
    pattern: str
    apply_to: str
    priority: int
    definition: dict[str, Any]
    operator: bool = False


@dataclass(frozen=True, slots=True)
class ClearPolicy:
    """Take a policy away, if it is there."""

    name: str
    operator: bool = False


@dataclass(frozen=True, slots=True)
class Permit:
    """New permissions of the user of the last place. That place's connection is closed first:
    RabbitMQ's channels remember what was granted."""

    configure: str
    write: str
    read: str


Administrative = SetPolicy | ClearPolicy | Permit


@dataclass(slots=True)
class Administration:
    """The HTTP API of one broker, as its administrator. ``user`` is made when it is first needed,
    and may do everything until :class:`Permit` says otherwise."""

    management_url: str
    administrator: Credentials
    user: Credentials
    _set: set[tuple[str, bool]] = field(default_factory=set)
    _permitted: bool = False

    def carry_out(self, operation: Administrative) -> int:
        """The status that the broker answers with."""
        match operation:
            case SetPolicy():
                self._set.add((operation.name, operation.operator))
                return self._ask(
                    "PUT",
                    _policy_path(operation.name, operation.operator),
                    {
                        "pattern": operation.pattern,
                        "apply-to": operation.apply_to,
                        "priority": operation.priority,
                        "definition": operation.definition,
                    },
                )
            case ClearPolicy():
                return self._ask("DELETE", _policy_path(operation.name, operation.operator))
            case Permit():
                self.admit()
                return self._permit(operation)

    def admit(self) -> None:
        """Have the user, with all permissions unless it has others already."""
        if self._permitted:
            return
        name = quote(self.user.username)
        self._ask("PUT", f"users/{name}", {"password": self.user.password, "tags": ""})
        self._permit(Permit(EVERYTHING, EVERYTHING, EVERYTHING))
        self._permitted = True

    def reset(self) -> None:
        """No policy of a sequence is left, and the user may do everything again."""
        for name, operator in sorted(self._set):
            self._ask("DELETE", _policy_path(name, operator))
        self._set.clear()
        self._permitted = False

    def _permit(self, permit: Permit) -> int:
        permission = {
            "configure": permit.configure,
            "write": permit.write,
            "read": permit.read,
        }
        return self._ask("PUT", f"permissions/%2F/{quote(self.user.username)}", permission)

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> int:
        answer = httpx.request(
            method,
            f"{self.management_url}/api/{path}",
            json=body,
            auth=(self.administrator.username, self.administrator.password),
            timeout=TIMEOUT_S,
            trust_env=False,  # a proxy does not lead to this machine
            verify=False,  # plain HTTP: to read the authorities takes longer than to be answered
        )
        return answer.status_code


def _policy_path(name: str, operator: bool) -> str:
    return f"{'operator-policies' if operator else 'policies'}/%2F/{quote(name)}"
