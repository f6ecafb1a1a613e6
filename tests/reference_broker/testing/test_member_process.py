"""member_process: a step, and all that it leaves over; a timer that calls back as an input."""

from __future__ import annotations

import asyncio

from reference_broker.cluster.link.secret import Secret
from reference_broker.cluster.membership.joining import FolderMark
from reference_broker.core.work.task import Steps
from reference_broker.runtime.cluster.service import ClusterConfig
from reference_broker.runtime.etcd.config import EtcdConfig, endpoint
from reference_broker.runtime.net.address import Address
from reference_broker.testing.member_process import MemberProcess

CONFIG = ClusterConfig(
    cluster="c",
    node="a",
    etcd=EtcdConfig((endpoint("http://127.0.0.1:9"),)),
    secret=Secret(b"secret"),
    listen=Address("127.0.0.1", 0),
)


def test_steps_that_are_left_over_are_done_within_the_input() -> None:
    async def scenario() -> list[int]:
        process, done = MemberProcess(CONFIG), list[int]()

        def steps() -> Steps:
            for number in range(3):
                done.append(number)
                yield None

        process.as_input(lambda: process.work.start(steps(), ""))
        return done

    assert asyncio.run(scenario()) == [0, 1, 2]


def test_a_timer_and_a_mark_call_back() -> None:
    async def scenario() -> None:
        process = MemberProcess(CONFIG)
        rung, marked = asyncio.Event(), asyncio.Event()
        process.after(0.01, rung.set)
        process.mark_folder(FolderMark("c1", "a", "d1"), marked.set)
        async with asyncio.timeout(10):
            await rung.wait()
            await marked.wait()
        assert process.marks == [FolderMark("c1", "a", "d1")]

    asyncio.run(scenario())
