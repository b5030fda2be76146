"""Run the benchmarks: `python -m bench [NAME ...]`.

Each writes bench/results/NAME.json; bench/REPORT.md is then made of every result that lies there, so that one
benchmark can be repeated without the others. A benchmark is a module of this package with a function
`run(out_dir) -> Section` or `run(out_dir, options)`; `add_options(parser)` beside it adds options of its own.
"""

import argparse
import importlib
import json
import pkgutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from inspect import signature
from pathlib import Path
from types import FrameType, ModuleType

import bench
from app.kernel_cache import keep_kernels
from bench.harness.report import CannotMeasure, Section

HERE = Path(__file__).resolve().parent
Benchmark = Callable[[Path], Section]


def modules() -> dict[str, ModuleType]:
    """The modules of all benchmarks by their own names, in alphabetical order; no name may occur twice."""
    by_name: dict[str, ModuleType] = {}
    for info in pkgutil.walk_packages(bench.__path__, "bench."):
        name = info.name.rpartition(".")[2]
        if name == "__main__" or not hasattr(module := importlib.import_module(info.name), "run"):
            continue
        if name in by_name:
            raise ImportError(f"{info.name} and {by_name[name].__name__} have one name.")
        by_name[name] = module
    return dict(sorted(by_name.items()))


def measure(name: str, benchmark: Benchmark, out_dir: Path) -> bool:
    """Run one benchmark and keep its section; True also when it had nothing to go on."""
    print(f"{name} ...", flush=True)
    started = time.perf_counter()
    try:
        section = benchmark(out_dir)
    except CannotMeasure as missing:
        print(f"{name}: not measured. {missing}", flush=True)
        return True
    except Exception:
        traceback.print_exc()
        print(f"{name}: failed", flush=True)
        return False
    result = json.dumps(section.to_json(), ensure_ascii=False, indent=1)
    (out_dir / f"{name}.json").write_text(result + "\n", encoding="utf-8")
    print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
    return True


def write_report(names: list[str], out_dir: Path, report: Path) -> None:
    """Make the report of the results of the benchmarks named, as far as they lie in `out_dir`."""
    results = [out_dir / f"{name}.json" for name in names]
    sections = [
        Section.from_json(json.loads(result.read_text(encoding="utf-8")))
        for result in results
        if result.exists()
    ]
    head = "# Benchmarks\n\nWritten by `make bench`; every section names the command that repeats it alone."
    report.write_text(
        "\n\n".join([head, *(section.to_markdown() for section in sections)]) + "\n", encoding="utf-8"
    )


def main(arguments: list[str]) -> int:
    """Run the benchmarks named (all, when none is) and write the report; 1 when one of them failed."""
    keep_kernels()
    known = modules()
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure Bookprint against its peers."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(known)}; default all")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder for the JSON results")
    parser.add_argument("--report", type=Path, default=HERE / "REPORT.md", help="the report to write")
    group = parser.add_argument_group("options of ab, keys, peers, reconciliation and scale")
    group.add_argument("--books", type=int, help="size of the library")
    group.add_argument("--rounds", type=int, help="how often each figure is taken")
    group.add_argument("--seconds", type=float, help="of each stream of lookups")
    group.add_argument("--data", type=Path, metavar="DIR", help="folder that keeps loaded libraries")
    for module in known.values():
        if hasattr(module, "add_options"):
            module.add_options(parser)
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(known)}")
    options.out.mkdir(parents=True, exist_ok=True)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, _leave)
    succeeded = [measure(name, _with(known[name], options), options.out) for name in options.names or known]
    write_report(list(known), options.out, options.report)
    print(f"Wrote {options.report}", flush=True)
    return 0 if all(succeeded) else 1


def _with(module: ModuleType, options: argparse.Namespace) -> Benchmark:
    run: Callable[..., Section] = module.run
    return partial(run, options=options) if "options" in signature(run).parameters else run


def _leave(number: int, _: FrameType | None) -> None:
    """End as after an error, so that processes and folders are cleared away."""
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
