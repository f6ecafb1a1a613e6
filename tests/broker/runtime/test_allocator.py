"""What malloc is told. (What comes of it is measured in test_large_messages.)"""

from __future__ import annotations

import subprocess
import sys

import pytest

from reference_broker.runtime.allocator import LARGE_BLOCK_BYTES

PROGRAM = """
import re
from reference_broker.runtime.allocator import LARGE_BLOCK_BYTES, give_large_blocks_their_own_pages

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


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc")
def test_a_large_block_goes_back_to_the_system_at_once() -> None:
    """In a process of its own: the setting is for good."""
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert int(answer.stdout) * 1024 > LARGE_BLOCK_BYTES
