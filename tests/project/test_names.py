"""The names of types, subjects and rooms: each stands for one thing, and is the same on every floor."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from app.main import ROUTERS

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    path
    for room in ("app", "packages", "workers")
    for path in (ROOT / room).rglob("*.py")
    if path.name != "answers.py"  # which is generated
)


def types_of(module: ast.Module) -> Iterator[str]:
    """The names that a module gives to types: of its classes, and further ones (`X = …`, `type X = …`)."""
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif type(node).__name__ == "TypeAlias":
            yield node.name.id  # type: ignore[attr-defined]
    for node in module.body:
        match node:
            case (
                ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Name() | ast.Attribute() | ast.Subscript() | ast.BinOp(),
                )
                | ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias"))
            ) if name[0].isupper() and not name.isupper():
                yield name


def test_no_name_of_a_type_occurs_twice() -> None:
    """Names that begin with `_` are known in their own file alone."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in MODULES:
        for name in types_of(ast.parse(module.read_text(encoding="utf-8"))):
            if not name.startswith("_"):
                places[name].append(str(module.relative_to(ROOT)))
    assert len(places) > 100
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_a_subject_has_one_name_on_every_floor() -> None:
    routes = [path for path in (ROOT / "app" / "api").rglob("*.py") if "\nrouter = " in _text(path)]
    subjects = {path.parent.name if path.stem == "routes" else path.stem for path in routes}
    assert len(subjects) == len(ROUTERS)
    services = {path.stem for path in (ROOT / "app" / "services").rglob("*")}
    assert subjects - services == set()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


_FULL_OF_FOLDERS = {"app/stores"}
"""Rooms that hold little but folders."""


def test_rooms_are_neither_crowded_nor_nearly_empty() -> None:
    """A folder is made from four modules on, and holds at most twenty; a module has at most 400 lines."""
    rooms: dict[Path, int] = defaultdict(int)
    for module in MODULES:
        rooms[module.parent] += 1
    sizes = {str(room.relative_to(ROOT)): modules for room, modules in rooms.items()}
    assert {room: modules for room, modules in sizes.items() if modules > 20} == {}
    assert {
        room: modules for room, modules in sizes.items() if modules < 4 and room not in _FULL_OF_FOLDERS
    } == {}
    lengths = {str(path.relative_to(ROOT)): len(_text(path).splitlines()) for path in MODULES}
    assert {path: lines for path, lines in lengths.items() if lines > 400} == {}


def test_there_is_one_writer_of_csv() -> None:
    """It marks what a spreadsheet would run as a formula."""
    writers = [
        path for path in MODULES if re.search(r"csv\.(?:Dict)?[wW]riter|import writer|to_csv", _text(path))
    ]
    assert [path.name for path in writers] == ["csv_tables.py"]
