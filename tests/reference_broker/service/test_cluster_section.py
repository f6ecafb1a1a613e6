"""The section ``cluster`` of the configuration file."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.cluster_settings import ClusterSettings, EtcdSettings, LinkFiles
from reference_broker.runtime.config import Address
from reference_broker.service.config_file import load_config

WHOLE = """\
node_name: a
data_dir: data
cluster:
  name: prod
  etcd: [http://127.0.0.1:1, http://127.0.0.1:2]
  etcd_user: mqkit
  etcd_password_file: password
  etcd_authority: etcd-ca.pem
  etcd_certificate: etcd.pem
  etcd_key: etcd.key
  listen: 0.0.0.0:25672
  advertise: a.example.org:25672
  secret_file: secret
  certificate: a.pem
  key: a.key
  authority: ca.pem
"""


def test_a_whole_section(tmp_path: Path) -> None:
    file = tmp_path / "broker.yaml"
    file.write_text(WHOLE)
    made = load_config(file)
    assert made.node_name == "a"
    assert made.cluster == ClusterSettings(
        "prod",
        EtcdSettings(
            ("http://127.0.0.1:1", "http://127.0.0.1:2"),
            "mqkit",
            tmp_path / "password",
            tmp_path / "etcd-ca.pem",
            tmp_path / "etcd.pem",
            tmp_path / "etcd.key",
        ),
        Address("0.0.0.0", 25672),
        tmp_path / "secret",
        Address("a.example.org", 25672),
        LinkFiles(tmp_path / "a.pem", tmp_path / "a.key", tmp_path / "ca.pem"),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cluster: {name: prod}\n", ":1: cluster: expected name, etcd, listen and secret_file"),
        (WHOLE.replace("  key: a.key\n", ""), ":14: cluster: expected certificate, key and"),
        (WHOLE.replace("0.0.0.0:25672", "nowhere"), ":11: cluster.listen: 'nowhere' is not HOST"),
        (WHOLE.replace("name: prod", "names: prod"), ":4: cluster: unknown key 'names'"),
        (WHOLE.replace("[http://127.0.0.1:1, http://127.0.0.1:2]", "[7]"), ":5: cluster.etcd[0]"),
        (WHOLE.replace("node_name: a", "node_name: a/b"), ":1: node_name: 'a/b' is no name"),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "broker.yaml"
    file.write_text(text)
    with pytest.raises(BadConfiguration) as raised:
        load_config(file)
    assert f"{file}{said}" in str(raised.value)
