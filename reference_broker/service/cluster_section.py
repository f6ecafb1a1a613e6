"""The section ``cluster`` of the broker's configuration file.

node_name: a
data_dir: data
cluster:
  name: prod
  etcd: [http://10.0.0.1:2379, http://10.0.0.2:2379]
  etcd_user: mqkit
  etcd_password_file: etcd.password
  etcd_authority: etcd-ca.pem
  etcd_certificate: etcd.pem
  etcd_key: etcd.key
  listen: 0.0.0.0:25672
  advertise: a.example.org:25672
  secret_file: cluster.secret
  certificate: a.pem                  # of links
  key: a.key
  authority: ca.pem
"""

from __future__ import annotations

from pathlib import Path

from mqkit.topology.file.document import ScalarNode
from mqkit.topology.file.fault import Fault
from mqkit.topology.file.section import Section
from reference_broker.runtime.cluster_settings import ClusterSettings, EtcdSettings, LinkFiles
from reference_broker.service.tls_section import read_address

CLUSTER_KEYS = (
    "name", "etcd", "etcd_user", "etcd_password_file", "etcd_authority", "etcd_certificate",
    "etcd_key", "listen", "advertise", "secret_file", "certificate", "key", "authority",
)  # fmt: skip


def read_cluster(top: Section, folder: Path) -> ClusterSettings | None:
    """The cluster of the file's ``cluster`` section; ``None`` without one, and where a fault was
    noted. The files that it names are read later."""
    node = top.node("cluster")
    if node is None:
        return None
    section = Section(node, "cluster", CLUSTER_KEYS, top.faults)
    name, listen = section.text("name"), read_address(section, "listen")
    secret_file, etcd = _file(section, "secret_file", folder), _etcd(section, folder)
    advertise, tls = read_address(section, "advertise"), _link_files(section, folder)
    if not section.is_mapping:
        return None
    if not name or listen is None or secret_file is None or not etcd.endpoints:
        _fault(top, section, "expected name, etcd, listen and secret_file")
        return None
    return ClusterSettings(name, etcd, listen, secret_file, advertise, tls)


def _etcd(section: Section, folder: Path) -> EtcdSettings:
    endpoints = []
    if section.has("etcd"):
        for path, node in section.items("etcd", "URLs, like [http://127.0.0.1:2379]"):
            if isinstance(node, ScalarNode) and isinstance(node.value, str):
                endpoints.append(node.value)
            else:
                section.fault(node.line, path, node, "a URL, like http://127.0.0.1:2379")
    return EtcdSettings(
        tuple(endpoints),
        section.text("etcd_user"),
        _file(section, "etcd_password_file", folder),
        _file(section, "etcd_authority", folder),
        _file(section, "etcd_certificate", folder),
        _file(section, "etcd_key", folder),
    )


def _link_files(section: Section, folder: Path) -> LinkFiles | None:
    certificate = _file(section, "certificate", folder)
    key, authority = _file(section, "key", folder), _file(section, "authority", folder)
    if certificate is not None and key is not None and authority is not None:
        return LinkFiles(certificate, key, authority)
    if certificate is not None or key is not None or authority is not None:
        text = "expected certificate, key and authority of links, or none of them"
        section.faults.append(Fault(section.line_of("certificate"), "cluster", text))
    return None


def _file(section: Section, key: str, folder: Path) -> Path | None:
    text = section.text(key)
    return None if text is None else folder / text


def _fault(top: Section, section: Section, text: str) -> None:
    if not any(fault.path.startswith("cluster") for fault in section.faults):
        top.faults.append(Fault(top.line_of("cluster"), "cluster", text))
