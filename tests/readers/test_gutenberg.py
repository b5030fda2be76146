"""Header, licence and credits of Project Gutenberg."""

import pytest

from bookprint_readers.gutenberg import title_in, without_licence

BOOK = "EMMA\n\nby Jane Austen\n\nCHAPTER I\n\nEmma Woodhouse, handsome, clever, and rich."
HEADS = {
    "2020s": "The Project Gutenberg eBook of Emma, by Jane Austen\n\nTitle: Emma\n\nAuthor: Jane Austen\n\n"
    "Release Date: August, 1994 [eBook #158]\n\nLanguage: English\n\nProduced by: A. B.\n\n"
    "*** START OF THE PROJECT GUTENBERG EBOOK EMMA ***\n\n\n",
    "2000s": "Project Gutenberg's Emma, by Jane Austen\n\nTitle: Emma\n\nAuthor: Jane Austen\n\n"
    "[EBook #158]\n\nLanguage: English\n\n*** START OF THIS PROJECT GUTENBERG EBOOK EMMA ***\n\n"
    "Produced by A. B. and the\nOnline Distributed Proofreading Team\n\n[Transcriber's note: none.]\n\n",
    "long title": "Title: Emma\nAuthor: Jane Austen\n[EBook #158]\nLanguage: English\n"
    "***START OF THE PROJECT GUTENBERG EBOOK EMMA, OR A VERY LONG\nTITLE***\n\nE-text prepared by A. B.\n\n",
    "1990s": "**The Project Gutenberg Etext of Emma, by Jane Austen**\n#6 in our series\n\nEmma\n\n"
    "August, 1994  [Etext #158]\n\n***START**THE SMALL PRINT!**FOR PUBLIC DOMAIN ETEXTS**START***\n\nWhy?\n\n"
    "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*\n\n\n"
    "This etext was prepared by A. B., Somewhere.\n\n",
}
FEET = {
    "2020s": "\n\n*** END OF THE PROJECT GUTENBERG EBOOK EMMA ***\n\nUpdated editions will replace the old.",
    "2000s": "\n\nEnd of the Project Gutenberg EBook of Emma, by Jane Austen\n\n"
    "*** END OF THIS PROJECT GUTENBERG EBOOK EMMA ***\n\n*** START: FULL LICENSE ***\nTHE FULL LICENSE",
    "1990s": "\n\nEnd of The Project Gutenberg Etext of Emma, by Jane Austen\n",
    "German": "\n\nEnde dieses Projekt Gutenberg Etextes Emma\n",
    "none": "\n",
}


@pytest.mark.parametrize("foot", FEET.values(), ids=FEET)
@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_what_surrounds_the_book_goes_and_is_read(head: str, foot: str) -> None:
    found = without_licence(head + BOOK + foot)
    assert found.text == BOOK
    assert found.metadata.title == "Emma"
    assert found.metadata.authors == ("Jane Austen",)
    assert found.metadata.identifiers == ("gutenberg:158",)
    assert found.metadata.language in {"en", None}


def test_a_book_about_the_project_keeps_its_words() -> None:
    text = "A history.\n\n" + "It began with Project Gutenberg and its etexts. " * 3_000 + "\nThe end."
    assert without_licence(text).text == text


@pytest.mark.parametrize(
    ("caption", "title"),
    [
        ("The Project Gutenberg E-text of Silas Marner, by George Eliot", "Silas Marner"),
        ("***This is the Project Gutenberg Etext of Alice in Wonderland***", "Alice in Wonderland"),
        ("Project Gutenberg’s Candide, by Voltaire", "Candide"),
        ("Candide, by Voltaire", "Candide, by Voltaire"),
        (None, None),
    ],
)
def test_the_title_within_a_caption(caption: str | None, title: str | None) -> None:
    assert title_in(caption) == title


def test_a_paragraph_without_end_is_no_credit() -> None:
    start = "*** START OF THE PROJECT GUTENBERG EBOOK X ***\n"
    book = "Produced by hand, the book begins here\n" + "and goes on without a blank line\n" * 200
    assert without_licence(start + book).text == book.strip("\n")
