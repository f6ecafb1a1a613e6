"""The options of a node of a cluster, over what its configuration file says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.cluster_settings import ClusterSettings, EtcdSettings, LinkFiles
from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.service.options import BrokerOptions, configuration

NODE = BrokerOptions(
    node_name="a",
    data_dir="data",
    cluster_name="prod",
    etcd="http://127.0.0.1:1, http://127.0.0.1:2",
    cluster_listen="127.0.0.1:25672",
    cluster_secret_file=Path("secret"),
)
SETTINGS = ClusterSettings(
    "prod",
    EtcdSettings(("http://127.0.0.1:1", "http://127.0.0.1:2")),
    Address("127.0.0.1", 25672),
    Path("secret"),
)


def test_a_broker_on_its_own_has_no_cluster() -> None:
    assert configuration(BrokerOptions()).cluster is None


def test_what_a_node_needs() -> None:
    made = configuration(NODE)
    assert made == ServerConfig(data_dir=Path("data"), node_name="a", cluster=SETTINGS)
    assert made.node == "a"


def test_every_option_makes_its_part() -> None:
    made = configuration(
        replace(
            NODE,
            etcd_user="mqkit",
            etcd_password_file=Path("password"),
            etcd_ca=Path("etcd-ca.pem"),
            etcd_cert=Path("etcd.pem"),
            etcd_key=Path("etcd.key"),
            cluster_advertise="a.example.org:25672",
            cluster_tls_cert=Path("a.pem"),
            cluster_tls_key=Path("a.key"),
            cluster_tls_ca=Path("ca.pem"),
        )
    ).cluster
    assert made == replace(
        SETTINGS,
        etcd=EtcdSettings(
            SETTINGS.etcd.endpoints,
            "mqkit",
            Path("password"),
            Path("etcd-ca.pem"),
            Path("etcd.pem"),
            Path("etcd.key"),
        ),
        advertise=Address("a.example.org", 25672),
        tls=LinkFiles(Path("a.pem"), Path("a.key"), Path("ca.pem")),
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"data_dir": None}, "needs --data-dir"),
        ({"etcd": None}, "needs --etcd"),
        ({"cluster_listen": None}, "needs --cluster-listen"),
        ({"cluster_secret_file": None}, "needs --cluster-secret-file"),
        ({"cluster_listen": "nowhere"}, "HOST:PORT"),
        ({"cluster_name": None}, "--etcd is for a node of a cluster: add --cluster-name"),
        ({"cluster_name": ""}, "--cluster-name is empty"),
        ({"node_name": "a/b"}, "'a/b' is no name of a node"),
        ({"etcd_user": "mqkit"}, "--etcd-password-file"),
        ({"cluster_tls_cert": Path("a.pem")}, "--cluster-tls-ca"),
    ],
    ids=str,
)
def test_what_is_missing_is_one_line(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadConfiguration) as raised:
        configuration(replace(NODE, **options))
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_option_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "broker.yaml"
    file.write_text(
        "data_dir: data\nnode_name: b\n"
        "cluster: {name: prod, etcd: ['http://127.0.0.1:3'], listen: 127.0.0.1:1, secret_file: s}\n"
    )
    made = configuration(BrokerOptions(config=file, node_name="c", cluster_listen="127.0.0.1:9"))
    assert made.node == "c"
    assert made.cluster == ClusterSettings(
        "prod", EtcdSettings(("http://127.0.0.1:3",)), Address("127.0.0.1", 9), tmp_path / "s"
    )
