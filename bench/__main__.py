"""Measure the product: `python -m bench [NAME ...]`; results are in bench/results."""

import sys

import bench
from bench.harness.runner import main

if __name__ == "__main__":
    sys.exit(main(bench, "Benchmarks", "Measure Bookprint.", sys.argv[1:]))
