"""The reference broker as a process, from its options to its end.

    start -> "ready ..." on stdout -> a signal, or the disk fails -> stop

A node of a cluster may wait for etcd for as long as that is not there, and a signal ends that, too.
SIGTERM and SIGINT stop it cleanly; a second one ends the process as it would any other.
"""

from __future__ import annotations

import asyncio
import signal
import sys

from reference_broker.core.memory_watermark import shrink_emptied
from reference_broker.errors import AddressUnavailable, DataDirectoryLocked, DiskFailed
from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.runtime.process.allocator import (
    give_free_memory_back,
    give_large_blocks_their_own_pages,
)
from reference_broker.runtime.process.collector import Collector
from reference_broker.runtime.process.descriptors import raise_limit
from reference_broker.runtime.process.heap_trimmer import HeapTrimmer
from reference_broker.runtime.server import Server
from reference_broker.service.options import BrokerOptions, configuration

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run(options: BrokerOptions, program: str) -> None:
    """Run a broker until a signal stops it. On uvloop where there is one, else on asyncio.

    ``program`` stands before its remarks on stderr. Raises :exc:`BadConfiguration`,
    :exc:`AddressUnavailable` or :exc:`StoreError` if it can't start, and :exc:`DiskFailed` when the
    disk failed; and :exc:`ClusterRefused` for a node that can't be one of its cluster, or is one no
    longer.
    """
    config = configuration(options)
    if config.data_dir is None:
        sys.stderr.write(f"{program}: no --data-dir: messages are kept in memory only\n")
        sys.stderr.flush()
    raise_limit()
    is_glibc = give_large_blocks_their_own_pages()
    with asyncio.Runner(loop_factory=_loop_factory) as runner:
        runner.run(_serve(config, trims=is_glibc))


def _loop_factory() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


async def _serve(config: ServerConfig, *, trims: bool) -> None:
    loop = asyncio.get_running_loop()
    asked_to_stop = asyncio.Event()
    for number in SIGNALS:
        loop.add_signal_handler(number, asked_to_stop.set)
    server = Server(config)
    stopping = asyncio.create_task(asked_to_stop.wait())
    if not await _start_unless(stopping, server):
        return
    collector = Collector()
    collector.collect_when_idle(loop.call_later, lambda: not server.broker.connections)
    trimmer = _trimmer(server, loop) if trims else None
    server.turns.begin_anew()  # nobody has been told yet, and the collector has looked around
    sys.stdout.write(ready_line(server) + "\n")
    sys.stdout.flush()
    await asyncio.wait((stopping, server.failure), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    for number in SIGNALS:
        loop.remove_signal_handler(number)
    if trimmer is not None:
        trimmer.close()
    collector.close()
    await server.stop()
    if server.failure.done():
        failure = server.failure.result()
        if not isinstance(failure, DiskFailed):
            raise failure
        raise DiskFailed(
            f"the disk failed: {failure} (what was not confirmed may be lost; see to the disk, then"
            " start again)"
        )


async def _start_unless(stopping: asyncio.Task[bool], server: Server) -> bool:
    """Start the server; false if it was asked to stop before that."""
    starting = asyncio.create_task(_start(server))
    await asyncio.wait((stopping, starting), return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        await asyncio.wait((starting,))
        return False
    await starting
    return True


def _trimmer(server: Server, loop: asyncio.AbstractEventLoop) -> HeapTrimmer:
    def trim() -> None:
        shrink_emptied(server.broker)
        give_free_memory_back()

    return HeapTrimmer(loop.call_later, server.count_held, trim)


def ready_line(server: Server) -> str:
    """The line that tells a supervisor, a script or a test that connections are accepted, and at
    which addresses."""
    parts = [f"amqp={Address(server.config.amqp.host, server.amqp_port)}"]
    if server.config.http is not None and server.http_port is not None:
        parts.append(f"http={Address(server.config.http.host, server.http_port)}")
    if server.config.prometheus is not None and server.prometheus_port is not None:
        parts.append(f"prometheus={Address(server.config.prometheus.host, server.prometheus_port)}")
    if server.tls is not None:
        parts += [f"{name}={address}" for name, address in server.tls.addresses()]
    if server.config.cluster is not None and server.cluster is not None:
        parts.append(f"cluster={server.config.cluster.name}")
        parts += [f"node={server.broker.node_name}", f"members={server.cluster.members}"]
    return " ".join(("ready", *parts))


async def _start(server: Server) -> None:
    config = server.config
    try:
        await server.start()
    except DataDirectoryLocked:
        raise DataDirectoryLocked(
            f"another broker uses the data folder {config.data_dir}: stop it, or choose another"
            " folder with --data-dir"
        ) from None
    except DiskFailed as error:
        raise DiskFailed(
            f"{error} (choose a folder that can be written, with --data-dir)"
        ) from None
    except OSError as error:
        address, option = _tried(server)
        raise AddressUnavailable(
            f"can't listen on {address}: {_reason(error)} (choose another address with {option};"
            " port 0 takes a free one)"
        ) from None


def _tried(server: Server) -> tuple[Address, str]:
    """The address that was tried last, and the option that names it: the first one in the server's
    order that has no port yet."""
    config, tls = server.config, server.config.tls
    ports = server.tls
    steps = (
        (_link_address(server), "--cluster-listen", None),
        (config.amqp, "--listen", getattr(server, "amqp_port", None)),
        (tls and tls.amqp, "--tls-listen", ports and ports.amqp_port),
        (config.http, "--http", getattr(server, "http_port", None)),
        (tls and tls.https, "--https", ports and ports.https_port),
        (config.prometheus, "--prometheus", None),
    )
    return next((address, option) for address, option, port in steps if address and port is None)


def _link_address(server: Server) -> Address | None:
    """The address for links, where it can't be had; it is listened to before all others."""
    cluster = server.config.cluster
    joined = server.cluster is not None and server.cluster.has_joined
    return None if cluster is None or joined else cluster.listen


def _reason(error: OSError) -> str:
    """The reason alone: asyncio and socket wrap the address into it, each in its own way."""
    text = error.strerror or str(error)
    return text.partition(" (while")[0].rpartition("): ")[2]
