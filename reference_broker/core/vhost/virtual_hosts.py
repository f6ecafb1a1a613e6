"""The virtual hosts of a broker: made, deleted, restored.

The law: what is changed is in the journal when it returns, and a virtual host's own definition
leaves the journal after all that is in it: whatever the journal has an object of is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import unquote

from reference_broker.core.access import access_definition
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.journal.definition_keys import BINDING, EXCHANGE, QUEUE
from reference_broker.core.journal.definition_store import Change, DefinitionStore
from reference_broker.core.vhost.vhost import VHost
from reference_broker.core.work.task import Steps

DEFAULT_VHOST = "/"
_TOPOLOGY_KINDS = (EXCHANGE, QUEUE, BINDING)


class VirtualHosts:
    """The virtual hosts of one broker. ``by_name`` is in order of making, and read only. The
    argument ``make`` is a function that returns an empty virtual host of that name."""

    def __init__(self, definitions: DefinitionStore, make: Callable[[str], VHost]) -> None:
        self.by_name: dict[str, VHost] = {}
        self._definitions = definitions
        self._make = make
        if not definitions.shared:
            self.assume(DEFAULT_VHOST)

    def assume(self, name: str) -> VHost:
        """Make a virtual host, without a word in the journal."""
        self.by_name[name] = vhost = self._make(name)
        return vhost

    def put(self, name: str, info: VHostInfo) -> VHost:
        """Make the virtual host, or change its labels and limits."""
        vhost = self.by_name.get(name)
        if self._definitions.shared and vhost is not None and vhost.info == info:
            return vhost
        key = access_definition.key_of(access_definition.VHOST, name)
        self._definitions.agree((Change(key, access_definition.encode_vhost(info)),))
        return self.enter(name, info)

    def enter(self, name: str, info: VHostInfo) -> VHost:
        """Have the virtual host be there, as was agreed."""
        vhost = self.by_name.get(name) or self.assume(name)
        vhost.describe(info)
        return vhost

    def agree_without(self, vhost: VHost) -> None:
        """Have the others agree that the virtual host ends; :meth:`remove` follows. Nobody has to
        be asked by a broker on its own, whose record of it is the last to go."""
        if self._definitions.shared:
            key = access_definition.key_of(access_definition.VHOST, vhost.name)
            self._definitions.agree((Change(key, None),))

    def remove(self, vhost: VHost) -> Steps:
        """The steps of deleting the virtual host and everything in it. Nobody may be connected to
        it any more, or connect, or declare there. Its own record goes last: after a crash in
        between it is there again with what was left. (Where definitions are shared it was the
        first: what speaks of a virtual host that is gone is nobody's.)"""
        yield from vhost.delete_everything()
        del self.by_name[vhost.name]
        if not self._definitions.shared:
            key = access_definition.key_of(access_definition.VHOST, vhost.name)
            self._definitions.agree((Change(key, None),))

    def restore(self, definitions: Mapping[str, bytes]) -> None:
        """Take up the virtual hosts of the journal and everything in them; the default one alone
        where there are none. Raises :exc:`Corrupt`."""
        kept = dict(access_definition.stored(definitions, access_definition.VHOST))
        names = [name for (name,) in kept]
        for key in sorted(definitions):
            kind, _, rest = key.partition("/")
            if kind in _TOPOLOGY_KINDS:
                names.append(unquote(rest.partition("/")[0]))
        self.by_name.clear()
        for name in dict.fromkeys(names or [DEFAULT_VHOST]):
            vhost = self.assume(name)
            if (name,) in kept:
                vhost.describe(access_definition.decode_vhost(kept[name,]))
            vhost.restore(definitions)
