"""The settings of a node of a cluster, as they are configured: values only, and no file is read.

They are here, beside all that needs a cluster, since a broker on its own loads nothing of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reference_broker.runtime.net.address import Address


@dataclass(frozen=True, slots=True)
class EtcdSettings:
    """The etcd of a cluster: a URL for each member, ``http://HOST:PORT`` or ``https://HOST:PORT``.
    ``authority`` is what members' certificates are verified against, ``certificate`` and ``key``
    are shown to members that verify their clients'."""

    endpoints: tuple[str, ...]
    user: str | None = None
    password_file: Path | None = None
    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True)
class LinkFiles:
    """The PEM files of links that speak TLS: both ends show a certificate, and verify the other's
    against ``authority``. It is one for the host that the others connect to."""

    certificate: Path
    key: Path
    authority: Path


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """The cluster ``name``, and this node's part in it. ``listen`` is for links; the other nodes
    connect to ``advertise``, or to where it listens. ``secret_file`` has what all nodes know."""

    name: str
    etcd: EtcdSettings
    listen: Address
    secret_file: Path
    advertise: Address | None = None
    tls: LinkFiles | None = None
