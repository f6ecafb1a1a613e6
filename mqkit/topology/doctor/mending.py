"""The command lines that mend what was found, quoted for a shell.

No command names the broker, since a URL has a password in it: they take it from ``MQKIT_URL`` and
``MQKIT_MANAGEMENT_URL``. Pure.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.topology.doctor.finding import Mend

_PLAIN = re.compile(r"[A-Za-z_][\w./-]*")
_WORDS = ("true", "false", "null")
SHOWN = 10
"""Messages that a look at a queue shows."""


@dataclass(frozen=True, slots=True)
class Mending:
    """The way to mend: by ``files`` where there are any, else straight on the broker. Where
    ``is_live``, what was found is on a broker already, and arguments can't be changed by an
    apply."""

    files: tuple[str, ...] = ()
    vhost: str = "/"
    is_live: bool = False

    def by_file(self, first: str) -> Mend:
        """Change the file, then apply it."""
        return Mend(self.apply(), first)

    def apply(self) -> str:
        """Declare what the file has."""
        return f"mqkit topology apply {self._files()}"

    def validate(self) -> str:
        """Check the file."""
        return f"mqkit topology validate {self._files()}"

    def export(self) -> str:
        """Make a file of what the broker has."""
        return "mqkit topology export -f topology.yaml"

    def lots(self) -> str:
        """Carry out what the file says about parking lots."""
        return f"mqkit lots run {self._files()}"

    def _files(self) -> str:
        return " ".join(f"-f {shlex.quote(file)}" for file in self.files)

    def delete_queue(self, queue: Queue, messages: int | None) -> Mend:
        """Delete a queue that is empty. RabbitMQ 3.10.8 refuses ``if-empty`` for a quorum queue,
        so a person looks there."""
        words = f"mqkit ctl {self._vhost_option()}delete_queue {shlex.quote(queue.name)}"
        can_ask = queue.arguments.get("x-queue-type", "classic") == "classic"
        first = "wait until it is empty" if messages or not can_ask else ""
        return Mend(f"{words} --if-empty" if can_ask else words, first)

    def peek(self, queue: str) -> str:
        """Show the first messages of a queue, and leave them there."""
        return f"mqkit consume {shlex.quote(queue)} --count {SHOWN} --timeout 5 --requeue"

    def set_policy(self, queue: str, definition: Mapping[str, Any]) -> str:
        """Give one queue arguments in place."""
        words = (_policy_name(queue), _pattern(queue), _compact(definition))
        quoted = " ".join(map(shlex.quote, words))
        return f"mqkit ctl {self._vhost_option()}set_policy {quoted} --apply-to queues"

    def declare(
        self, *objects: Exchange | Queue | Binding, policy: tuple[str, str, Any] | None = None
    ) -> str:
        """Declare on the broker. ``policy`` is what it applies to (``queues``, ``exchanges``), a
        name, and a definition for the object of that name."""
        document: dict[str, Any] = {
            "exchanges": [self._exchange(it) for it in objects if isinstance(it, Exchange)],
            "queues": [self._queue(it) for it in objects if isinstance(it, Queue)],
            "bindings": [self._binding(it) for it in objects if isinstance(it, Binding)],
        }
        if policy is not None:
            applies_to, name, definition = policy
            document["policies"] = [
                {
                    **{"vhost": self.vhost, "name": _policy_name(name), "pattern": _pattern(name)},
                    **{"apply-to": applies_to, "definition": definition, "priority": 0},
                }
            ]
        text = _compact({kind: items for kind, items in document.items() if items})
        return f"printf %s {shlex.quote(text)} | mqkit broker import-definitions -"

    def _vhost_option(self) -> str:
        return "" if self.vhost == "/" else f"-p {shlex.quote(self.vhost)} "

    def _exchange(self, exchange: Exchange) -> dict[str, Any]:
        return {
            **{"vhost": self.vhost, "name": exchange.name, "type": exchange.type},
            **{"durable": True, "auto_delete": False, "internal": False, "arguments": {}},
        }

    def _queue(self, queue: Queue) -> dict[str, Any]:
        return {
            **{"vhost": self.vhost, "name": queue.name, "durable": True, "auto_delete": False},
            "arguments": dict(queue.arguments),
        }

    def _binding(self, binding: Binding) -> dict[str, Any]:
        return {
            **{"vhost": self.vhost, "source": binding.source, "destination": binding.destination},
            **{"destination_type": "queue", "routing_key": binding.key, "arguments": {}},
        }


def yaml_text(text: str) -> str:
    """``text`` as a file has it: quoted where it would be read as something else."""
    if _PLAIN.fullmatch(text) and text.isascii() and text.lower() not in _WORDS:
        return text
    return json.dumps(text, ensure_ascii=False)


def _policy_name(name: str) -> str:
    return f"doctor-{name}"


def _pattern(name: str) -> str:
    return f"^{re.escape(name)}$"


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)
