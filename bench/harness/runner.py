"""The runner of `python -m bench` and `python -m research`.

A benchmark is a module of either package with a function `run(out_dir) -> Section`, which may take the
options of the command as a second argument. Its function `add_options(parser)` adds further options. Its
result is stored as results/NAME.json of the package. REPORT.md is made of all stored results, so a benchmark
can be repeated without the others.
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
from types import ModuleType

from app.kernel_cache import keep_kernels
from bench.harness.report import CannotMeasure, Section, kept_json

Benchmark = Callable[[Path], Section]


def modules(package: ModuleType) -> dict[str, ModuleType]:
    """Return the modules of all benchmarks by name without package, in alphabetical order."""
    by_name: dict[str, ModuleType] = {}
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        name = info.name.rpartition(".")[2]
        if name == "__main__" or not hasattr(module := importlib.import_module(info.name), "run"):
            continue
        if name in by_name:
            raise ImportError(f"{info.name} and {by_name[name].__name__} have one name.")
        by_name[name] = module
    return dict(sorted(by_name.items()))


def measure(name: str, benchmark: Benchmark, out_dir: Path) -> bool:
    """Run one benchmark and store its section; return False if it failed, but True if it cannot measure."""
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
    (out_dir / f"{name}.json").write_text(kept_json(section.to_json()), encoding="utf-8")
    print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
    return True


def write_report(title: str, names: list[str], out_dir: Path, report: Path) -> None:
    """Write the report of the named benchmarks whose results are in `out_dir`."""
    parts = [f"# {title}\n\nEvery section names the command that repeats it alone."]
    for name in names:
        if (result := out_dir / f"{name}.json").exists():
            parts.append(Section.from_json(json.loads(result.read_text(encoding="utf-8"))).to_markdown())
    report.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def main(package: ModuleType, title: str, description: str, arguments: list[str]) -> int:
    """Run the named benchmarks, by default all, and write the report; return 1 if one of them failed."""
    keep_kernels()
    known = modules(package)
    here = Path(package.__path__[0])
    parser = argparse.ArgumentParser(prog=f"python -m {package.__name__}", description=description)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(known)}; default all")
    parser.add_argument("--out", type=Path, default=here / "results", help="folder for the JSON results")
    parser.add_argument("--report", type=Path, default=here / "REPORT.md", help="the report to write")
    parser.add_argument("--report-only", action="store_true", help="measure nothing, write the report anew")
    group = parser.add_argument_group("options of those that measure libraries")
    group.add_argument("--books", type=int, help="size of the library")
    group.add_argument("--rounds", type=int, help="how often each figure is taken")
    group.add_argument("--seconds", type=float, help="of each stream of lookups")
    group.add_argument("--data", type=Path, metavar="DIR", help="folder of loaded libraries or fetched books")
    for module in known.values():
        if hasattr(module, "add_options"):
            module.add_options(parser)
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(known)}")
    options.out.mkdir(parents=True, exist_ok=True)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # ignored under nohup
            # An exit removes processes and folders, as an error does.
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    names = [] if options.report_only else options.names or list(known)
    succeeded = [measure(name, _with(known[name], options), options.out) for name in names]
    write_report(title, list(known), options.out, options.report)
    print(f"Wrote {options.report}", flush=True)
    return 0 if all(succeeded) else 1


def _with(module: ModuleType, options: argparse.Namespace) -> Benchmark:
    run: Callable[..., Section] = module.run
    return partial(run, options=options) if "options" in signature(run).parameters else run
