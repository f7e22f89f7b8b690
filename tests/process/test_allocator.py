"""What the allocator does with large blocks, asked in a process of its own."""

import platform
import subprocess
import sys

import pytest

COUNT_LARGE_BLOCKS = """
import ctypes
from moorage.process.allocator import give_back_large_blocks

class Numbers(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    _fields_ = [(name, ctypes.c_size_t) for name in names]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Numbers
libc.malloc.restype = ctypes.c_void_p
if {told}:
    give_back_large_blocks()
libc.free(ctypes.c_void_p(libc.malloc(20 << 20)))
before = libc.mallinfo2().hblks
libc.malloc(10 << 20)
print(libc.mallinfo2().hblks - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators are not told anything")
@pytest.mark.parametrize("told", [False, True])
def test_a_large_block_is_no_part_of_the_heap(told: bool) -> None:
    script = COUNT_LARGE_BLOCKS.replace("{told}", str(told))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) == told
