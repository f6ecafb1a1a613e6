"""The configuration file of the broker: YAML, and every fault with its line.

    listen: localhost:5672
    http: 127.0.0.1:15672
    prometheus: 127.0.0.1:15692         # metrics without a login
    data_dir: data                      # relative to this file
    users:                              # instead of guest
      app: {password: secret, tags: [management], loopback_only: false}
    limits: {channel_max: 500}
    tls:
      listen: 0.0.0.0:5671              # AMQP; https: the management API
      certificate: server.pem           # files relative to this one
      key: server.key
      authority: authority.pem
      verify: required                  # none, peer (who shows one), required
      login_from: common_name
    auth_mechanisms: [PLAIN, EXTERNAL]
    proxy_protocol: v2
    proxy_from: [10.0.0.0/8]            # who has to send a PROXY header
    node_name: a
    cluster: ...                        # see cluster_section

An option on the command line wins over the file.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

from mqkit.topology.file.document import MappingNode, Node, ScalarNode, parse_document
from mqkit.topology.file.fault import Fault
from mqkit.topology.file.section import Section
from reference_broker.core.base.limits import MESSAGE_SIZE_MAX, Limits
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.config import (
    ServerConfig,
    UserConfig,
    check_mechanisms,
    parse_mechanisms,
)
from reference_broker.runtime.net.proxy_sources import ProxyProtocol, ProxySources
from reference_broker.runtime.tls.config import TlsConfig
from reference_broker.service.cluster_options import check_node_name
from reference_broker.service.cluster_section import read_cluster
from reference_broker.service.tls_section import read_address, read_tls

KEYS = (
    "listen", "http", "prometheus", "data_dir", "users", "limits", "tls", "auth_mechanisms",
    "proxy_protocol", "proxy_from", "node_name", "cluster",
)  # fmt: skip
USER_KEYS = ("password", "tags", "loopback_only")
LIMIT_MAX = 1 << 40
"""Above what any machine has; the broker's own bounds are what holds."""


def load_config(path: Path) -> ServerConfig:
    """The configuration in the file, with defaults for the rest.

    Raises :exc:`BadConfiguration` with a line for each fault: file, line, what was expected.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = f"can't be read: {error.strerror}"
        raise BadConfiguration(f"{path}: {reason} (name a YAML file with --config)") from None
    except UnicodeDecodeError:
        raise BadConfiguration(f"{path}: not UTF-8 text") from None
    if not any(line.split("#")[0].strip() for line in text.splitlines()):
        return ServerConfig()
    root, faults = parse_document(text)
    config = ServerConfig()
    if root is not None:
        config = _read(Section(root, "", KEYS, faults), path.parent)
    if faults:
        raise BadConfiguration("\n".join(fault.show(str(path)) for fault in sorted(set(faults))))
    return config


def _read(top: Section, folder: Path) -> ServerConfig:
    config = ServerConfig()
    data_dir = top.text("data_dir")
    tls = read_tls(top, folder)
    return replace(
        config,
        amqp=read_address(top, "listen") or config.amqp,
        http=read_address(top, "http") or config.http,
        prometheus=read_address(top, "prometheus"),
        data_dir=None if data_dir is None else folder / data_dir,
        users=_users(top) if top.has("users") else config.users,
        limits=_limits(top, config.limits),
        tls=tls,
        mechanisms=_mechanisms(top, config.mechanisms, tls),
        proxies=_proxies(top),
        node_name=_node_name(top),
        cluster=read_cluster(top, folder),
    )


def _node_name(top: Section) -> str | None:
    name = top.text("node_name")
    try:
        return None if name is None else check_node_name(name)
    except BadConfiguration as error:
        top.faults.append(Fault(top.line_of("node_name"), "node_name", str(error)))
        return None


def _users(top: Section) -> tuple[UserConfig, ...]:
    users = []
    for path, entry in top.entries("users", "user names to passwords and tags"):
        if not isinstance(entry.value, MappingNode):  # it may be the password
            text = "expected a mapping with " + ", ".join(USER_KEYS)
            top.faults.append(Fault(entry.value.line, path, text))
            continue
        section = Section(entry.value, path, USER_KEYS, top.faults)
        users.append(
            UserConfig(
                entry.key,
                _password(section),
                _tags(section),
                section.flag("loopback_only", default=False),
            )
        )
    node = top.node("users")
    if isinstance(node, MappingNode) and not node.entries:
        top.faults.append(
            Fault(top.line_of("users"), "users", "nobody could log in (expected a user, or no key)")
        )
    return tuple(users)


def _password(section: Section) -> str:
    """A fault never shows what was found: it may be the password, unquoted."""
    node: Node | None = section.node("password")
    if isinstance(node, ScalarNode) and isinstance(node.value, str) and node.value:
        return node.value
    if section.is_mapping:
        expected = "expected the password, as text (quote it if it is a number)"
        path = section.child("password")
        section.faults.append(Fault(section.line_of("password"), path, expected))
    return ""


def _tags(section: Section) -> tuple[str, ...]:
    tags = []
    for path, node in section.items("tags", "tags, like [management]"):
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            tags.append(node.value)
        else:
            section.fault(node.line, path, node, "a tag, like management")
    return tuple(tags)


def _limits(top: Section, defaults: Limits) -> Limits:
    node = top.node("limits")
    if node is None:
        return defaults
    names = [field.name for field in fields(Limits)]
    section = Section(node, "limits", names, top.faults)
    most = dict.fromkeys(names, LIMIT_MAX) | {"message_size_max": MESSAGE_SIZE_MAX}
    found = {name: section.count(name, 0, most[name]) for name in names if section.has(name)}
    return replace(defaults, **{name: count for name, count in found.items() if count is not None})


def _mechanisms(top: Section, default: frozenset[str], tls: TlsConfig | None) -> frozenset[str]:
    if not top.has("auth_mechanisms"):
        return default
    names = [
        node.value
        for _, node in top.items("auth_mechanisms", "names, like [PLAIN, EXTERNAL]")
        if isinstance(node, ScalarNode) and isinstance(node.value, str)
    ]
    try:
        mechanisms = parse_mechanisms(names)
        check_mechanisms(mechanisms, tls)
    except BadConfiguration as error:
        line = top.line_of("auth_mechanisms")
        top.faults.append(Fault(line, "auth_mechanisms", str(error)))
        return default
    return mechanisms


def _proxies(top: Section) -> ProxySources | None:
    version = top.choice("proxy_protocol", ProxyProtocol)
    if top.has("proxy_protocol") != top.has("proxy_from"):
        key = "proxy_from" if top.has("proxy_from") else "proxy_protocol"
        expected = "expected proxy_protocol: v2 and proxy_from: [CIDR, ...], or neither"
        top.faults.append(Fault(top.line_of(key), key, expected))
        return None
    if not top.has("proxy_from"):
        return None
    texts = []
    for path, node in top.items("proxy_from", "networks, like [10.0.0.0/8]"):
        if not isinstance(node, ScalarNode):
            top.fault(node.line, path, node, "a network, like 10.0.0.0/8")
            return None
        texts.append(str(node.value))
    try:
        sources = ProxySources.parse(texts)
    except BadConfiguration as error:
        top.faults.append(Fault(top.line_of("proxy_from"), "proxy_from", str(error)))
        return None
    return sources if version is not None else None
