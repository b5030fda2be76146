"""The documents against the tree: links, modules, benchmarks, and the words of the glossary."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tools import corpus_tables
from tools.documents import documents
from tools.reference import commands

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

BUDGET = {"README.md": 735, "start": 1_430, "guides": 13_050, "reference": 11_350, "why": 19_850}
"""Words of the README and of each part; the index of the pages counts as the part `start`."""

_ROOMS = ["api", "cli", "embedded", "services", "stores", "synthesis"]
NOUNS = ["client", "core", "corpus", "readers"]
"""The packages, as documents name their modules: `core/text/names`."""

_MODULE = re.compile(
    rf"`((?:{'|'.join([*_ROOMS, *NOUNS])}|app|bench|migrations|research|tests|workers)/[\w/.]*)`"
)
_COMMAND = re.compile(r"(?:^|[`$|]) *bookprint ([a-z][a-z-]*)", re.MULTILINE)
_PACKAGES = ["bench", "research"]


def _name(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_link_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_link_to_a_heading_finds_it(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", document.read_text(encoding="utf-8"))
    missing = [
        f"{page}#{anchor}"
        for page, anchor in links
        if anchor not in _anchors(document if not page else document.parent / page)
    ]
    assert missing == []


def _anchors(document: Path) -> set[str]:
    """The names that headings have in links, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_module_named_exists(document: Path) -> None:
    named = _MODULE.findall(document.read_text(encoding="utf-8"))
    assert [path for path in named if not _exists(path)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_benchmark_named_exists(document: Path) -> None:
    modules = {name: {path.stem for path in (ROOT / name).rglob("*.py")} for name in _PACKAGES}
    unknown = [
        name
        for packages, name in _benchmarks(document.read_text(encoding="utf-8"))
        if not any(name in modules[package] for package in packages)
    ]
    assert unknown == []


@pytest.mark.parametrize("page", documents(), ids=_name)
def test_page_made_of_the_tree_is_up_to_date(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == documents()[page], "Run `python -m tools.documents`."
    assert "{{" not in documents()[page]


def test_index_has_every_page_once() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[.+?\]\((.+?)\)", index, re.MULTILINE)
    pages = [path.relative_to(ROOT / "docs") for path in [*DOCUMENTS[1:]]]
    wanted = [str(page) for page in pages if page.parent.name != "decisions" and str(page) != "README.md"]
    inline = re.findall(r"^- \[.+?\]\(.+?\) and \[.+?\]\((.+?)\)", index, re.MULTILINE)
    assert sorted([*listed, *inline]) == sorted([*wanted, "why/decisions/README.md"])


def test_documentation_is_within_its_budget(capsys: pytest.CaptureFixture[str]) -> None:
    """A word is what stands between blanks and has a letter or digit, in prose, tables and examples alike."""
    words: Counter[str] = Counter()
    for document in DOCUMENTS:
        part = document.relative_to(ROOT).parts[1:-1]
        text = document.read_text(encoding="utf-8")
        words[part[0] if part else "start" if document.parent.name == "docs" else "README.md"] += sum(
            any(letter.isalnum() for letter in word) for word in text.split()
        )
    with capsys.disabled():
        print()
        for name, budget in BUDGET.items():
            print(f"{name:10} {words[name]:7,} of {budget:7,} words")
        print(f"{'in all':10} {words.total():7,} of {sum(BUDGET.values()):7,} words")
    assert {part: count for part, count in words.items() if count > BUDGET[part]} == {}


def test_every_command_named_exists() -> None:
    known = re.findall(r"^## bookprint ([a-z-]+)", commands(), re.MULTILINE)
    assert "serve" in known
    named = {name for path in DOCUMENTS for name in _COMMAND.findall(path.read_text(encoding="utf-8"))}
    assert "ingest" in named
    assert sorted(named - set(known)) == []


def _exists(path: str) -> bool:
    """Whether this is a folder, a module, or a name in one: from the root, below app, or of a package."""
    noun, _, within = path.partition("/")
    if noun in NOUNS:
        path = f"packages/{noun}/bookprint_{noun}/{within}"
    base, _, attribute = path.rstrip("/").rpartition(".")
    return any(
        (folder / path).exists()
        or (folder / f"{path}.py").exists()
        or (bool(base) and re.search(rf"\b{attribute}\b", _source(folder / f"{base}.py")) is not None)
        for folder in (ROOT, ROOT / "app")
    )


def source_of(module: str) -> Path:
    """The file of a module that documents name from the folder `app` on, or from the noun of a package."""
    noun, _, within = module.partition("/")
    folder = ROOT / "packages" / noun / f"bookprint_{noun}" if noun in NOUNS else ROOT / "app" / noun
    return folder / f"{within}.py"


def _source(module: Path) -> str:
    return module.read_text(encoding="utf-8") if module.exists() else ""


def _benchmarks(text: str) -> list[tuple[list[str], str]]:
    """Names after `python -m PACKAGE`, and in last columns headed so; with the packages that may hold it."""
    found = re.findall(r"python -m (bench|research) ([a-z]\w*)", text)
    named = [([package], name) for package, name in found]
    packages: list[str] = []
    for line in text.splitlines():
        last = line.strip("|").split("|")[-1]
        headed_by = re.findall(r"python -m (bench|research) …", last)
        if not line.startswith("|"):
            packages = []
        elif headed_by:
            packages = headed_by
        elif packages:
            named += [(packages, name) for name in re.findall(r"`([a-z]\w+)`", last)]
    return named


def test_every_module_cites_its_source() -> None:
    uncited = [
        f"{module}: {author} {year}"
        for author, year, module in _cited((ROOT / "docs/why/sources.md").read_text(encoding="utf-8"))
        if not {author, year} <= set(re.findall(r"\w+", _source(source_of(module))))
    ]
    assert uncited == []


def _cited(text: str) -> list[tuple[str, str, str]]:
    """Author, year and module of each row of the tables; a row without a key belongs to the one before."""
    cited, key = [], None
    for line in text.splitlines():
        if line.startswith("#"):
            key = None
        if line.startswith("|"):
            key = re.search(r"\*\*(\w+) (\d{4})\*\*", line) or key
            if key:
                cited += [(key[1], key[2], module) for module in re.findall(r"`(core/[\w/]+)`", line)]
    return cited


def test_every_make_target_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", README)) <= targets


def test_every_figure_in_bold_is_among_the_numbers() -> None:
    pages = [ROOT / "docs" / "why" / f"{name}.md" for name in ("numbers", "benchmark")]
    known = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    figures = [figure.replace(" %", "%") for figure in re.findall(r"\*\*([\d.]+(?: %)?)\*\*", README)]
    assert figures
    assert [figure for figure in figures if not re.search(rf"(?<![\w.]){re.escape(figure)}", known)] == []


def test_document_of_the_tables_of_a_corpus_is_up_to_date() -> None:
    assert corpus_tables.DOCUMENT.read_text(encoding="utf-8") == corpus_tables.document()
