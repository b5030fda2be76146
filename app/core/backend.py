"""Which kernels do the work: compiled by numba, or plain numpy where numba has no wheel.

Chosen once, on first use. numba is imported no sooner than that, so what computes no signature starts fast.
"""

from functools import cache

from app.core.kernel_types import Kernels


@cache
def kernels() -> Kernels:
    """The kernels of this process."""
    try:
        from app.core.signatures import kernels as compiled
    except ImportError:
        from app.core import kernels_numpy

        return kernels_numpy
    return compiled
