"""Raw writers: the pre-encoded rows, written to bare sockets by a process for each partition."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from multiprocessing.connection import Connection
from pathlib import Path
from uuid import uuid4

from mqkit.transport.window_size import DEFAULT_WINDOW_MESSAGES
from mqkit_bench.filler import Filler, publisher
from mqkit_bench.session import Address
from mqkit_bench.spark.frames import FrameFile, write_frames
from mqkit_bench.spark.rows import BATCH_ROWS, PARTITIONS
from mqkit_bench.worker import Worker


def encode(pipe: Connection, bodies: Path, queue: str, path: Path) -> None:
    """A worker's task: read the column ``body`` of a Parquet file, and write the frames."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(bodies) as file:
        batches = (batch.column(0).to_pylist() for batch in file.iter_batches(BATCH_ROWS))
        pipe.send(write_frames(batches, queue, str(uuid4()), path))


def write(pipe: Connection, address: Address, path: Path, share: tuple[int, int]) -> None:
    """A worker's task: when it is told a number of rows, publish its share of them (part, of
    parts) and report its CPU seconds when all are confirmed."""
    supply = FrameFile(path)
    part, parts = share
    pipe.send(supply.messages)
    messages = min(len(range(part, pipe.recv(), parts)), supply.messages)
    started = time.process_time()
    if messages:
        with closing(Filler(publisher(address), supply, DEFAULT_WINDOW_MESSAGES)) as filler:
            filler.fill(messages, lambda _: None)
    pipe.send(time.process_time() - started)


def encode_all(bodies: list[Path], queue: str, folder: Path) -> list[Path]:
    """The frames of each partition, in a file each."""
    paths = [folder / f"{part}.frames" for part in range(len(bodies))]
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Worker(encode, each, queue, path))
            for each, path in zip(bodies, paths, strict=True)
        ]
        for worker in workers:
            worker.report()
    return paths


def write_all(address: Address, paths: list[Path], rows: int) -> tuple[float, float]:
    """The first ``rows`` rows. Returns the seconds from the first publish until all are confirmed,
    and the CPU seconds of the processes."""
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Worker(write, address, path, (part, PARTITIONS)))
            for part, path in enumerate(paths)
        ]
        for worker in workers:
            worker.report()  # it has its file
        started = time.perf_counter()
        for worker in workers:
            worker.tell(rows)
        cpu_s = sum([worker.report() for worker in workers])
        return time.perf_counter() - started, cpu_s
