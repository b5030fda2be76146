"""All kernels, loaded by who imports this."""

from app.kernel_cache import keep_kernels, load_kernels

keep_kernels()
load_kernels()
