"""The options of a broker that is a node of a cluster, over what its configuration file says."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.cluster_settings import ClusterSettings, EtcdSettings, LinkFiles
from reference_broker.runtime.net.address import Address

if TYPE_CHECKING:
    from reference_broker.service.options import BrokerOptions

_NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

_NEEDED = {
    "data_dir": "--data-dir DIR, where its messages are kept",
    "etcd": "--etcd URL[,URL], where its definitions are agreed on",
    "cluster_listen": "--cluster-listen HOST:PORT, where other nodes connect to",
    "cluster_secret_file": "--cluster-secret-file FILE, by which nodes know each other",
}

_OF_A_CLUSTER = (
    "etcd", "etcd_user", "etcd_password_file", "etcd_ca", "etcd_cert", "etcd_key",
    "cluster_listen", "cluster_advertise", "cluster_secret_file",
    "cluster_tls_cert", "cluster_tls_key", "cluster_tls_ca",
)  # fmt: skip


def check_node_name(name: str) -> str:
    """The name of a node, which is a part of names of etcd and of HTTP paths. Raises
    :exc:`BadConfiguration`."""
    if _NODE_NAME.fullmatch(name) is None:
        raise BadConfiguration(
            f"{name!r} is no name of a node: up to 100 letters, digits, '.', '_' and '-'"
        )
    return name


def cluster_of(
    options: BrokerOptions, settings: ClusterSettings | None, data_dir: Path | None
) -> ClusterSettings | None:
    """The cluster that options name, over the ``settings`` of the file; ``None`` for a broker on
    its own. Raises :exc:`BadConfiguration`, which says what is missing."""
    given = [name for name in _OF_A_CLUSTER if getattr(options, name) is not None]
    if settings is None and options.cluster_name is None:
        if given:
            flag = "--" + given[0].replace("_", "-")
            raise BadConfiguration(f"{flag} is for a node of a cluster: add --cluster-name NAME")
        return None
    if options.cluster_name == "":
        raise BadConfiguration("--cluster-name is empty: name the cluster, or leave it out")
    _require("data_dir", data_dir)
    if settings is None:
        for name in ("etcd", "cluster_listen", "cluster_secret_file"):
            _require(name, getattr(options, name))
        settings = ClusterSettings(
            options.cluster_name or "",
            EtcdSettings(()),
            Address.parse(options.cluster_listen or ""),
            options.cluster_secret_file or Path(),
        )
    wanted = _given(
        name=options.cluster_name,
        listen=_address(options.cluster_listen),
        advertise=_address(options.cluster_advertise),
        secret_file=options.cluster_secret_file,
        tls=_link_files(options, settings.tls),
    )
    return replace(settings, etcd=_etcd(options, settings.etcd), **wanted)


def _require(name: str, value: object) -> None:
    if value is None:
        raise BadConfiguration(f"a node of a cluster needs {_NEEDED[name]}")


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _address(text: str | None) -> Address | None:
    return None if text is None else Address.parse(text)


def _etcd(options: BrokerOptions, settings: EtcdSettings) -> EtcdSettings:
    wanted = _given(
        endpoints=None if options.etcd is None else tuple(map(str.strip, options.etcd.split(","))),
        user=options.etcd_user,
        password_file=options.etcd_password_file,
        authority=options.etcd_ca,
        certificate=options.etcd_cert,
        key=options.etcd_key,
    )
    settings = replace(settings, **wanted)
    if (settings.user is None) != (settings.password_file is None):
        raise BadConfiguration(
            "a user of etcd needs a password, and a password a user: give --etcd-user NAME and"
            " --etcd-password-file FILE, or neither"
        )
    return settings


def _link_files(options: BrokerOptions, settings: LinkFiles | None) -> LinkFiles | None:
    wanted = _given(
        certificate=options.cluster_tls_cert,
        key=options.cluster_tls_key,
        authority=options.cluster_tls_ca,
    )
    if settings is not None or not wanted:
        return None if settings is None else replace(settings, **wanted)
    if len(wanted) < 3:
        raise BadConfiguration(
            "TLS between nodes needs --cluster-tls-cert FILE, --cluster-tls-key FILE and"
            " --cluster-tls-ca FILE, all of them"
        )
    return LinkFiles(**wanted)
