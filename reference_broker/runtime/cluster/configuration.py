"""The configuration of a node, made of its settings and the files that these name."""

from __future__ import annotations

from pathlib import Path

from reference_broker.cluster.link.secret import Secret
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.cluster.service import ClusterConfig
from reference_broker.runtime.cluster.tls import LinkTls
from reference_broker.runtime.cluster_settings import ClusterSettings, EtcdSettings
from reference_broker.runtime.etcd.config import EtcdConfig, endpoint


def cluster_config(
    settings: ClusterSettings, node: str, *, amqp: str = "", http: str = ""
) -> ClusterConfig:
    """The configuration of the node of that name; ``amqp`` and ``http`` are where its clients are.
    Blocks: it reads files. Raises :exc:`BadConfiguration`, which names the file or the URL."""
    return ClusterConfig(
        cluster=settings.name,
        node=node,
        etcd=etcd_config(settings.etcd),
        secret=Secret(_line(settings.secret_file, "the cluster's secret").encode()),
        listen=settings.listen,
        advertise=settings.advertise,
        tls=None if settings.tls is None else LinkTls(settings.tls),
        amqp=amqp,
        http=http,
    )


def etcd_config(settings: EtcdSettings) -> EtcdConfig:
    """The configuration of the client of etcd. Blocks and raises as :func:`cluster_config` does."""
    password = None
    if settings.password_file is not None:
        password = _line(settings.password_file, "the password for etcd")
    return EtcdConfig(
        tuple(map(endpoint, settings.endpoints)),
        settings.user,
        password,
        settings.authority,
        settings.certificate,
        settings.key,
    )


def _line(file: Path, what: str) -> str:
    """The text in the file, without the newline that an editor has put there."""
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise BadConfiguration(f"{what} can't be read from {file}: {reason}") from None
    text = text.strip()
    if not text:
        raise BadConfiguration(f"{what} is empty: write it to {file}")
    return text
