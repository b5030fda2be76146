"""The characters that OCR engines confuse, in Latin, Cyrillic and Greek print."""

LATIN = (
    "aeo bhl ceo dal eco ftl gqy hbn il1j ji; klh l1it mnu nur oce0 pn qg rnt sao tfl unv vuy wv xz yvg "
    "zs ARN BRE8 CGO DO EFB FPE GC6 HNI Il1 JI KE LI MN NH O0QD PF QO RK S5 TI UV VY WV XY YV Z2 0O 1l "
    "2z 38 41 5S 6b 71 83 9g ., ,. ;: :; äaá öoó üuú éeè èeé êe àaá áaà çc ñn ãaä óoò íiì úuù ßB"
)
CYRILLIC = (
    "ао б6в вви гтр дл есо жм зэ инп йи кн лпд мн нип осe пнл рп сео тгм уч фр хк ци чц шщ щш ыь ьъы эз юо яа"
)
GREEK = "αοσ βθ γν δό εσ ζξ ην θβ ιί κx λχ μν νυ ξζ οσ πτ ρο σο τπ υν φρ χλ ψφ ωο"

LOOKALIKES = {entry[0]: entry[1:] for table in (LATIN, CYRILLIC, GREEK) for entry in table.split()}
"""A character, and each of those it is taken for, equally often."""

MERGERS = ("rnm", "cld", "rin", "vvw", "lih", "nim", "inm", "iiu", "tin", "еса", "пиш", "ινμ")
"""Two characters, and the third that they are taken for."""

SPLITTERS = ("mrn", "dcl", "nri", "wvv", "hli", "uii", "ыьі", "шпи", "юіо", "μιν")
"""One character, and the two that it is taken for."""
