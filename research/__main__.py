"""Repeat the experiments: `python -m research [NAME ...]`; results are in research/results."""

import sys

import research
from bench.harness.runner import main

if __name__ == "__main__":
    sys.exit(main(research, "Experiments", "Repeat the experiments of publications.", sys.argv[1:]))
