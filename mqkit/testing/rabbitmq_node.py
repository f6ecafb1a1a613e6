"""Starts one private RabbitMQ node out of an installed package, and ends exactly what it started.

A node consists of two processes of ours, each in a process group of its own: an epmd on a free
port (so that neither a running epmd is used nor one is left behind) and the node itself. Its data,
logs, configuration and Erlang cookie lie in one temporary folder. Debian's wrapper in ``/usr/sbin``
insists on system folders, so the script that it wraps is run; as root that script fails on those
folders too, so everything runs as the package's user ``rabbitmq`` then.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from mqkit.testing.servers.free_ports import free_ports
from mqkit.testing.servers.package_user import NoPackageUser, as_package_user

PACKAGED_SCRIPTS = ("/usr/lib/rabbitmq/bin/rabbitmq-server",)
"""The real script in packages; on other systems the one on ``PATH`` is the real one."""

WRAPPER_FOLDER = "/usr/sbin"

PACKAGE_USER = "rabbitmq"

PLUGINS = (
    "rabbitmq_management",
    "rabbitmq_consistent_hash_exchange",
    "rabbitmq_random_exchange",
)
"""All of them come with every RabbitMQ since 3.7: its exchange types, and its management API."""

TLS_PLUGINS = (*PLUGINS, "rabbitmq_auth_mechanism_ssl")
"""The last one is EXTERNAL."""

_YOUNG_COUNTS = """
[{rabbit, [{quorum_tick_interval, %d}]},
 {rabbitmq_management_agent, [{sample_retention_policies,
   [{global, [{605, 1}]}, {basic, [{605, 1}]}, {detailed, [{605, 1}]}]}]}].
"""
"""Quorum queues tell their counts by a clock of their own; the management API collects what is told
as often as its finest samples are, in whole seconds."""

POLL_INTERVAL_S = 0.1

STOP_TIMEOUT_S = 20.0
"""A node that has not gone this long after SIGTERM is killed."""

LOG_TAIL_CHARACTERS = 600
"""Characters of a failed node's output that go into the error."""


class NodeFailed(Exception):
    """The node did not come up; the message has the end of its output."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node that accepts connections on 127.0.0.1. ``beam_pid`` is its Erlang VM; ``amqps_port``
    is where it speaks TLS."""

    amqp_port: int
    management_port: int
    beam_pid: int
    amqps_port: int | None = None


@dataclass(frozen=True, slots=True)
class NodeTls:
    """The PEM files of a node that speaks TLS as well. It verifies certificates that clients show,
    and lets them log in by these (EXTERNAL)."""

    certificate: Path
    key: Path
    authority: Path


def server_script(environ: Mapping[str, str]) -> str | None:
    """The ``rabbitmq-server`` script to run, or ``None`` where the package is not installed."""
    for script in PACKAGED_SCRIPTS:
        if os.access(script, os.X_OK):
            return script
    found = shutil.which("rabbitmq-server", path=environ.get("PATH"))
    return None if found is None or found.startswith(WRAPPER_FOLDER) else found


@contextmanager
def start_node(
    script: str,
    *,
    timeout_s: float,
    tls: NodeTls | None = None,
    statistics_every_s: float | None = None,
) -> Iterator[Node]:
    """A node of its own for the time of the block. Raises :exc:`NodeFailed`.

    ``statistics_every_s`` is the age of the counts that its management API tells, at most; without
    it they are up to 5 s old (``collect_statistics_interval``, ``quorum_tick_interval``).
    """
    epmd = shutil.which("epmd")
    if epmd is None:
        raise NodeFailed("rabbitmq-server is there, but Erlang's epmd is not on PATH")
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="mqkit-rabbitmq-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        amqp_port, management_port, dist_port, epmd_port, tls_port = free_ports(5)
        amqps_port = None if tls is None else tls_port
        _write_configuration(folder, amqp_port, management_port, statistics_every_s)
        if tls is not None:
            _write_tls(folder, tls_port, tls)
        try:
            prefix = as_package_user(PACKAGE_USER, "rabbitmq-server", folder, *folder.iterdir())
        except NoPackageUser as why:
            raise NodeFailed(str(why)) from None
        environment = _environment(folder, dist_port, epmd_port)
        output = stack.enter_context(open(folder / "output.txt", "w+b"))
        for command in (
            [*prefix, epmd, "-port", str(epmd_port), "-address", "127.0.0.1"],
            [*prefix, script],
        ):
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            stack.callback(_end, process)
        _wait_until_up(process, amqp_port, management_port, timeout_s, folder / "output.txt")
        yield Node(amqp_port, management_port, _beam_pid(process.pid), amqps_port)


def _write_configuration(
    folder: Path, amqp_port: int, management_port: int, statistics_every_s: float | None
) -> None:
    lines = [
        f"listeners.tcp.default = 127.0.0.1:{amqp_port}",
        "management.tcp.ip = 127.0.0.1",
        f"management.tcp.port = {management_port}",
    ]
    if statistics_every_s is not None:
        milliseconds = max(1, round(statistics_every_s * 1000))
        lines.append(f"collect_statistics_interval = {milliseconds}")
        (folder / "advanced.config").write_text(_YOUNG_COUNTS % milliseconds)
    (folder / "rabbitmq.conf").write_text("\n".join(lines) + "\n")
    (folder / "enabled_plugins").write_text(f"[{','.join(PLUGINS)}].\n")


def _write_tls(folder: Path, port: int, tls: NodeTls) -> None:
    """The files are copied: the package's user may not be able to read where they are."""
    lines = [f"listeners.ssl.default = 127.0.0.1:{port}"]
    for option, source in (
        ("certfile", tls.certificate),
        ("keyfile", tls.key),
        ("cacertfile", tls.authority),
    ):
        shutil.copyfile(source, folder / f"{option}.pem")
        lines.append(f"ssl_options.{option} = {folder / option}.pem")
    lines += ["ssl_options.verify = verify_peer", "ssl_options.fail_if_no_peer_cert = false"]
    for number, mechanism in enumerate(("PLAIN", "AMQPLAIN", "EXTERNAL"), 1):
        lines.append(f"auth_mechanisms.{number} = {mechanism}")
    (folder / "enabled_plugins").write_text(f"[{','.join(TLS_PLUGINS)}].\n")
    with (folder / "rabbitmq.conf").open("a") as configuration:
        configuration.write("\n".join(lines) + "\n")


def _environment(folder: Path, dist_port: int, epmd_port: int) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return inherited | {
        "HOME": str(folder),
        "ERL_EPMD_PORT": str(epmd_port),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODENAME": f"mqkit-{dist_port}@localhost",
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
        "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "advanced.config"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
        "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_DIST_PORT": str(dist_port),
    }


def _wait_until_up(
    process: subprocess.Popen[bytes],
    amqp_port: int,
    management_port: int,
    timeout_s: float,
    output: Path,
) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise NodeFailed(f"rabbitmq-server ended with {process.returncode}: {_tail(output)}")
        if is_up("127.0.0.1", amqp_port, management_port):
            return
        time.sleep(POLL_INTERVAL_S)
    raise NodeFailed(f"rabbitmq-server was not up after {timeout_s:.0f} s: {_tail(output)}")


def is_up(host: str, amqp_port: int, management_port: int) -> bool:
    """True if a RabbitMQ at ``host`` accepts connections and its management API answers."""
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex((host, amqp_port)) != 0:
            return False
    try:
        answer = httpx.get(
            f"http://{host}:{management_port}/api/overview",
            auth=("guest", "guest"),
            trust_env=False,  # a proxy does not lead to this machine
        )
    except httpx.TransportError:
        return False
    return answer.status_code == 200


def _tail(output: Path) -> str:
    text = output.read_text(errors="replace").strip()
    return text[-LOG_TAIL_CHARACTERS:] or "it printed nothing"


def _beam_pid(group: int) -> int:
    """The Erlang VM in the node's process group (without /proc: what the script has become)."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, fields = status.read_text().partition(" (")[2].rpartition(") ")
        except OSError:
            continue
        if name.startswith("beam") and int(fields.split()[2]) == group:
            return int(status.parent.name)
    return group


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process group that was started for this process: SIGTERM, then SIGKILL.

    Nothing is signalled once the process has been reaped: its number may be somebody else's then.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        try:
            os.killpg(process.pid, number)
            process.wait(STOP_TIMEOUT_S)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
