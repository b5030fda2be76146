"""What the identifier does not do: translations, and books of pictures (Vladimir et al. 2015, section 6).

They name both as work to come. The table of translations shows what is found of them; that of books without
text shows what the service answers.
"""

import io
import tempfile
from collections.abc import Sequence
from pathlib import Path

import httpx
import pypdfium2

from app.core.matching.verification import VERIFICATION, evidence, is_near_duplicate
from app.core.signatures.sketch import sketch
from bench.harness.corpus import CorpusBook, Pair, corpus_books, corpus_folder, corpus_pairs
from bench.harness.report import Cell, Section, Table
from bench.service.service_process import running

PAGES = 3
TITLE = 40
"""Characters of a title that are shown."""


def run(out_dir: Path) -> Section:
    """Compare the labelled translations, and send books without text to a service; less than a minute."""
    folder = corpus_folder()
    translations = translation_table(list(corpus_books(folder)), corpus_pairs(folder))
    with (
        tempfile.TemporaryDirectory() as data_dir,
        running(Path(data_dir)) as service,
        service.client() as client,
    ):
        answers = answer_table(client)
    return Section(
        title="Vladimir et al. (2015): translations, and books without text",
        command="python -m bench identifiers_limits",
        tables=[translations, answers],
        notes=[
            f"Near-duplicates by the rule in use, which looks at books within {VERIFICATION.distance_alone} "
            f"bits or with {VERIFICATION.min_shared} equal MinHash values. Every signature is made of the "
            "letters of a text, so a translation has another identifier, and a picture none. A scan must be "
            "recognised (OCR) first. Vladimir et al. name translations and books of pictures as work to come."
        ],
    )


def translation_table(books: Sequence[CorpusBook], pairs: Sequence[Pair]) -> Table:
    """Each labelled translation, and how many of them are found."""
    by_id = {book.id: book for book in books}
    rows: list[list[Cell]] = []
    found = 0
    translations = [pair for pair in pairs if pair.relation == "translation"]
    for pair in translations:
        a, b = by_id[pair.a], by_id[pair.b]
        shown = evidence(sketch(a.content), sketch(b.content))
        found += is_near_duplicate(shown)
        verdict = "yes" if is_near_duplicate(shown) else "no"
        rows.append(
            [a.title, b.title, f"{a.language}, {b.language}", shown.distance, shown.equal_values, verdict]
        )
    return Table(
        headers=["a", "b", "languages", "bits apart", "equal MinHash values of 128", "near-duplicate"],
        rows=rows,
        caption=f"{found} of {len(translations)} translations found",
    )


def answer_table(client: httpx.Client) -> Table:
    """What the service answers to books without text, and to one with hardly any."""
    scan = {"file": ("scan.pdf", pictures(PAGES), "application/pdf")}
    answers = [
        (f"PDF of {PAGES} pictures", client.post("/v1/books", files=scan)),
        (f"{PAGES} pages without text", client.post("/v1/books", json={"pages": [""] * PAGES})),
        (
            "pictures with captions, ten words in all",
            client.post("/v1/books", json={"text": "Plate two. " * 5}),
        ),
    ]
    return Table(
        headers=["what is sent", "status", "identifier", "answer"],
        rows=[_answer(name, answer) for name, answer in answers],
        caption="Books without text",
    )


def pictures(pages: int) -> bytes:
    """A PDF of so many pages with a picture each and no text."""
    document = pypdfium2.PdfDocument.new()
    for _ in range(pages):
        page = document.new_page(400, 600)
        bitmap = pypdfium2.PdfBitmap.new_native(8, 8, pypdfium2.raw.FPDFBitmap_BGR)
        picture = pypdfium2.PdfImage.new(document)
        picture.set_bitmap(bitmap)
        picture.set_matrix(pypdfium2.PdfMatrix().scale(400, 600))
        page.insert_obj(picture)
        page.gen_content()
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def _title(book: CorpusBook) -> str:
    return " ".join(book.title.split())[:TITLE]


def _answer(name: str, answer: httpx.Response) -> list[Cell]:
    body = answer.json()
    if answer.is_success:
        return [name, answer.status_code, body["identifier"] or "none", f"status: {body['status']}"]
    return [name, answer.status_code, "none", f"{body['title']}: {body['detail']}"]
