"""Settings of malloc. (Their effect is measured in test_large_messages.)"""

from __future__ import annotations

import subprocess
import sys

import pytest

from reference_broker.runtime.process.allocator import LARGE_BLOCK_BYTES

PROGRAM = """
import re
from reference_broker.runtime.process.allocator import (
    LARGE_BLOCK_BYTES, give_large_blocks_their_own_pages
)

def resident_kb():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1])

assert give_large_blocks_their_own_pages()
assert give_large_blocks_their_own_pages()
bytearray(4 * LARGE_BLOCK_BYTES)  # glibc by itself would take the next from the heap
large = bytearray(2 * LARGE_BLOCK_BYTES)
above = bytearray(100_000)  # what keeps the heap from being cut
before_kb = resident_kb()
del large
print(before_kb - resident_kb())
"""

FREED_PROGRAM = """
from reference_broker.runtime.process.allocator import (
    give_free_memory_back, give_large_blocks_their_own_pages
)
from reference_broker.runtime.process.heap_trimmer import own_bytes

assert give_large_blocks_their_own_pages()
messages = [bytes(5_000) for _ in range(10_000)]
above = bytearray(100_000)  # what keeps the heap from being cut
before = own_bytes()
del messages
kept = own_bytes()
give_free_memory_back()
print(before - kept, kept - own_bytes())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc")
def test_a_large_block_goes_back_to_the_system_at_once() -> None:
    """In a process of its own: the setting is for good."""
    (freed_kb,) = answer_of(PROGRAM)
    assert freed_kb * 1024 > LARGE_BLOCK_BYTES


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc")
def test_small_blocks_go_back_when_the_system_is_asked_to_take_them() -> None:
    at_once, asked = answer_of(FREED_PROGRAM)
    assert at_once < 5_000_000
    assert asked > 45_000_000


def answer_of(program: str) -> list[int]:
    """The numbers that it prints."""
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return [int(number) for number in answer.stdout.split()]
