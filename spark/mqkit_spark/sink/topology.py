"""The topology of a job (option ``topology``): applied before the first row, over AMQP alone.

Nothing is deleted, and nothing that is there is changed: what differs from the file is an error,
before anything is published. So is what AMQP can't do (policies). A second apply changes nothing.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from mqkit.errors import ConfigurationError, TransportError
from mqkit.transport.seam import Endpoint
from mqkit_spark.options import SinkOptions

if TYPE_CHECKING:
    from mqkit.topology import Applied, Topology

APPLY_TIMEOUT_S = 60.0
"""For all of the file; the command line has the same."""

FAULTS_SHOWN_MAX = 5

_lock = threading.Lock()
_applied: set[tuple[object, ...]] = set()


def apply_topology(options: SinkOptions) -> None:
    """Apply the file of ``options``, if it names one.

    Raises :exc:`~mqkit.errors.ConfigurationError` in one line where the file can't be read, mqkit's
    own requirements are missing, or the broker is not as the file says and an apply can't make it
    so; :exc:`~mqkit.errors.TransportError` where no broker of the list can be reached.
    """
    if options.topology is None:
        return
    topology = _load(options.topology)
    with ThreadPoolExecutor(1) as thread:  # a notebook has an event loop in its own
        applied = thread.submit(asyncio.run, _apply_at_first(topology, options)).result()
    faults = [
        f"{each.step.to_dict()['kind']} {each.step.to_dict()['name']}: {each.detail}"
        for each in applied.quarantined
    ]
    if faults:
        more = len(faults) - FAULTS_SHOWN_MAX
        words = "; ".join(faults[:FAULTS_SHOWN_MAX]) + (f"; and {more} more" if more > 0 else "")
        raise ConfigurationError(f"topology {options.topology} can't be applied: {words}")


def apply_topology_once(options: SinkOptions, *identity: object) -> None:
    """:func:`apply_topology`, once in this process for the file as it is and ``identity``; for
    streams, whose writer is made anew for every batch."""
    if options.topology is None:
        return
    try:
        state = os.stat(options.topology)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ConfigurationError(f"{options.topology}: can't be read: {why}") from None
    key = (options.endpoints(), options.topology, state.st_mtime_ns, state.st_size, *identity)
    with _lock:
        if key not in _applied:
            apply_topology(options)
            _applied.clear()  # one file at a time is in use; the set stays small
            _applied.add(key)


def _load(path: str) -> Topology:
    try:
        from mqkit.topology import load

        return load(path)
    except ModuleNotFoundError as missing:
        raise ConfigurationError(
            f"option topology needs all of mqkit in the driver, and {missing.name} is not"
            " installed: run pip install mqkit there, or apply the file before the job with mqkit"
            " topology apply"
        ) from None


def _apply_at_first(topology: Topology, options: SinkOptions) -> Coroutine[Any, Any, Applied]:
    async def apply_there() -> Applied:
        *others, last = options.endpoints()
        for endpoint in others:
            try:
                return await _apply(topology, endpoint, options.connect_timeout_s)
            except TransportError:
                continue
        return await _apply(topology, last, options.connect_timeout_s)

    return apply_there()


async def _apply(topology: Topology, endpoint: Endpoint, connect_timeout_s: float) -> Applied:
    from mqkit.topology import Wanted, apply, channels_of
    from mqkit.topology.live.over_amqp import ask, plan_of
    from mqkit.transport.choice import chosen

    if topology.vhost is not None and topology.vhost != endpoint.vhost:
        raise ConfigurationError(
            f"{topology.file} is for the vhost {topology.vhost!r}, but the URL leads to"
            f" {endpoint.vhost!r}: write the vhost into the URL"
        )
    wanted = Wanted.of(topology)
    async with channels_of(chosen(None), endpoint, timeout_s=connect_timeout_s) as open_channel:
        answers = await ask(wanted, open_channel, timeout_s=APPLY_TIMEOUT_S)
        steps = plan_of(wanted, endpoint.vhost, answers)
        return await apply(steps, open_channel, timeout_s=APPLY_TIMEOUT_S)
