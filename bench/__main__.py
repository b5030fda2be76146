"""Measure the product: `python -m bench [NAME ...]`; results are in bench/results.

`python -m bench fetch OUT` and `python -m bench benchmark OUT` are separate commands with their own options.
"""

import sys

import bench
from bench.harness.runner import main
from bench.public import benchmark, fetch

_COMMANDS = {"fetch": fetch.main, "benchmark": benchmark.main}

if __name__ == "__main__":
    _, *arguments = sys.argv
    if arguments and (command := _COMMANDS.get(arguments[0])):
        sys.exit(command(arguments[1:]))
    sys.exit(main(bench, "Benchmarks", "Measure Bookprint.", arguments))
