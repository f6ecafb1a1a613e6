"""One import of a definitions file: read, rehearsed, and then made, a step at a time.

Between two steps others have their turn, and may change what the rehearsal has seen. Then it is
worth nothing: :attr:`Rehearsal.is_overtaken`.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_broker.core.access.passwords import PasswordHash
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.broker import Broker
from reference_broker.core.vhost.vhost import VHost
from reference_broker.http.definitions.access import AccessDefinitions
from reference_broker.http.definitions.file import DefinitionsFile, Faults, Making, Steps
from reference_broker.http.definitions.policies import PolicyDefinitions
from reference_broker.http.definitions.topology_import import TopologyImport
from reference_broker.http.definitions.unsupported import unsupported_items
from reference_broker.http.request.answer import Row

RELEASED_ITEMS = 20
"""Items that are let go in one step: to free many at once is a long turn."""


class Rehearsal:
    """The import of ``body``; with ``vhost`` all of it goes there.

    Take the steps of :meth:`read`, and the lock of the :attr:`vhost_names`. In an input of the
    core, ask whether it :attr:`is_overtaken` (then begin anew) and for its :attr:`faults` (then
    nothing may be made); otherwise take the first steps of :meth:`apply` in that input, and the
    others in later ones. In any case take those of :meth:`release` at the end.
    """

    def __init__(self, body: Row, broker: Broker, vhost: str | None) -> None:
        self._body = body
        self._vhost = vhost
        self._broker = broker
        self._vhosts: dict[str, VHost] = {}
        self._seen: dict[str, tuple[VHost, int, VHostInfo]] = {}
        self._names_seen: list[list[str]] = []
        self._access = AccessDefinitions(_broker=broker)
        self._file = DefinitionsFile()
        self._policies = PolicyDefinitions(vhost, self._vhosts, broker)
        self._topology = TopologyImport(self._file, self._vhosts)
        self._unsupported: Faults = []

    def read(self) -> Steps:
        """Read the file and rehearse it, as things stand at the first step. Changes nothing."""
        self._vhosts |= self._broker.vhosts
        self._seen = {name: _standing(vhost) for name, vhost in self._vhosts.items()}
        self._names_seen = _names(self._broker)
        yield from unsupported_items(self._body, self._unsupported)
        yield from self._access.read(self._body, self._vhost)
        yield from self._file.read(self._body, self._vhost)
        for stand_in in self._access.new_vhosts():
            self._vhosts[stand_in.name] = stand_in
            yield
        yield from self._policies.read(self._body)
        yield from self._topology.rehearse()

    @property
    def vhost_names(self) -> list[str]:
        """The virtual hosts in which something would be declared or set."""
        parts = (self._access, self._policies, self._topology)
        return list(dict.fromkeys(name for part in parts for name in part.vhost_names))

    @property
    def is_overtaken(self) -> bool:
        """True if a user has come or gone since the beginning, or anything has changed in a virtual
        host of the file."""
        vhosts, seen = self._broker.vhosts, self._seen
        return self._names_seen != _names(self._broker) or any(
            seen.get(name) != (_standing(vhosts[name]) if name in vhosts else None)
            for name in self.vhost_names
        )

    @property
    def faults(self) -> Faults:
        """The items that can't be imported."""
        parts = (self._access, self._policies, self._topology)
        return [*self._unsupported, *(fault for part in parts for fault in part.faults)]

    @property
    def skipped(self) -> list[str]:
        """The items that are not imported, since nobody may declare them."""
        return self._file.skipped

    @property
    def overtaken(self) -> list[str]:
        """The items that could not be made any more: what they need has gone between two steps of
        :meth:`apply`."""
        return [*self._policies.overtaken, *self._topology.overtaken]

    @property
    def progress(self) -> str:
        """The number of objects of the file that :meth:`apply` has taken so far."""
        done, count = self._topology.done, self._file.count
        return f"{done} of {count} exchanges, queues and bindings"

    def apply(self, hashes: Mapping[str, PasswordHash]) -> Making:
        """Make everything. ``hashes`` are those of users with a password in plain text."""
        yield from self._access.apply(hashes)
        yield from self._policies.apply()
        yield from self._topology.apply(self._broker.vhosts)

    def release(self) -> Steps:
        """Let go of what the rehearsal has made, and of what it has read."""
        yield from self._topology.release()
        file = self._file
        for items in (file.exchanges, file.queues, file.bindings):
            while items:
                del items[-RELEASED_ITEMS:]
                yield


def _standing(vhost: VHost) -> tuple[VHost, int, VHostInfo]:
    """The state of a virtual host on which a rehearsal depends."""
    return vhost, vhost.topology_version, vhost.info


def _names(broker: Broker) -> list[list[str]]:
    users = [user.name for user in broker.users.all()]
    return [users, [name for name, _ in broker.global_parameters.items()]]
