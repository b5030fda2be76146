"""MARCXML (Library of Congress, MARC21slim), read as a stream without entities or networks (lxml)."""

import io
from collections.abc import Iterator
from typing import BinaryIO

from lxml import etree

from app.catalog.marc.record import (
    ControlField,
    DataField,
    Field,
    InvalidRecord,
    MarcRecord,
    Subfield,
    checked,
)

NAMESPACE = "http://www.loc.gov/MARC21/slim"

Element = etree._Element


_NAMES = ("record", f"{{{NAMESPACE}}}record")
_TYPE = "Bibliographic"
_EMPTY = f'<record xmlns="{NAMESPACE}" type="{_TYPE}"/>'


def records(stream: BinaryIO) -> Iterator[bytes]:
    """Each element `record` of a document as one of its own.

    Raises InvalidRecord where the document is not well-formed, since what is behind that place is lost.
    """
    events = etree.iterparse(
        stream,
        events=("end",),
        tag=_NAMES,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        for _, element in events:
            if element.getroottree().docinfo.doctype:
                raise InvalidRecord("its document has a document type, which MARCXML has not; leave it out")
            yield etree.tostring(element, encoding="utf-8", with_tail=False)
            element.clear(keep_tail=False)
            for each in (
                element,
                *element.iterancestors(),
            ):  # what is behind would pile up for the whole file
                while (parent := each.getparent()) is not None and each.getprevious() is not None:
                    del parent[0]
    except etree.XMLSyntaxError as exc:
        raise InvalidRecord(
            f"its document is not well-formed XML: {exc.msg}; nothing behind it is read"
        ) from exc


def read(data: bytes) -> MarcRecord:
    """The one record in a document; raises InvalidRecord with the reason."""
    found = list(records(io.BytesIO(data)))
    if len(found) != 1:
        raise InvalidRecord(f"the document holds {len(found)} elements record of MARCXML, and not one")
    return _record(etree.fromstring(found[0], etree.XMLParser(resolve_entities=False, no_network=True)))


def write(record: MarcRecord) -> bytes:
    """The record as a document."""
    root = etree.fromstring(_EMPTY)
    _add(root, "leader", record.leader)
    for field in record.fields:
        if isinstance(field, ControlField):
            _add(root, "controlfield", field.data, tag=field.tag)
            continue
        first, second = field.indicators[0], field.indicators[1]
        element = _add(root, "datafield", None, tag=field.tag, ind1=first, ind2=second)
        for subfield in field.subfields:
            _add(element, "subfield", subfield.value, code=subfield.code)
    return etree.tostring(root, encoding="utf-8", xml_declaration=True)


def _add(parent: Element, name: str, text: str | None, **attributes: str) -> Element:
    element = etree.SubElement(parent, f"{{{NAMESPACE}}}{name}", attributes)
    element.text = text
    return element


def _record(element: Element) -> MarcRecord:
    kind = element.get("type", _TYPE)
    if kind != _TYPE:
        raise InvalidRecord(f"its type is {kind[:40]!r}, and not {_TYPE}")
    leaders: list[str] = []
    fields: list[Field] = []
    for child in _children(element):
        match _name(child):
            case "leader":
                leaders.append(_text(child))
            case "controlfield":
                fields.append(ControlField(_attribute(child, "tag"), _text(child)))
            case "datafield":
                fields.append(_data_field(child))
            case other:
                raise InvalidRecord(f"it has an element {other[:40]!r}, which MARCXML does not know there")
    if len(leaders) != 1:
        raise InvalidRecord(f"it has {len(leaders)} leaders, and not one")
    return checked(MarcRecord(leaders[0], tuple(fields)))


def _data_field(element: Element) -> DataField:
    tag = _attribute(element, "tag")
    first, second = _attribute(element, "ind1"), _attribute(element, "ind2")
    if (len(first), len(second)) != (1, 1):
        raise InvalidRecord(f"field {tag[:20]} has the indicators {first[:20]!r} and {second[:20]!r}")
    subfields = []
    for child in _children(element):
        if _name(child) != "subfield":
            raise InvalidRecord(
                f"field {tag[:20]} has an element {_name(child)[:40]!r} in place of a subfield"
            )
        subfields.append(Subfield(_attribute(child, "code"), _text(child)))
    return DataField(tag, first + second, tuple(subfields))


def _children(element: Element) -> Iterator[Element]:
    """The elements within one that holds nothing else."""
    texts = (element.text, *(child.tail for child in element))
    if stray := "".join(filter(None, texts)).strip():
        raise InvalidRecord(f"an element {_name(element)} holds text where none belongs: {stray[:40]!r}")
    yield from element


def _name(element: Element) -> str:
    tag: object = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else "entity"


def _attribute(element: Element, name: str) -> str:
    value = element.get(name)
    if value is None:
        where = f"field {element.get('tag')}" if element.get("tag") else f"an element {_name(element)}"
        raise InvalidRecord(f"{where} has no attribute {name}")
    return value


def _text(element: Element) -> str:
    if len(element):
        raise InvalidRecord(f"an element {_name(element)} holds more than text: {_name(element[0])[:40]}")
    return element.text or ""
