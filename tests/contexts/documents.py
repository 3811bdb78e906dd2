"""Documents as the tests write them: a PDF of a few objects, Office files as zips of XML."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from unspool import RLM, ContextError
from unspool.testing import ScriptedModel

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"

Parts = Mapping[str, str | bytes]


def refused(path: Path, data: bytes) -> str:
    """Why a file with these bytes is no context; no model is asked."""
    path.write_bytes(data)
    model = ScriptedModel([])
    with pytest.raises(ContextError) as error:
        RLM(model, runs=False).run("?", path)
    assert not model.requests
    return str(error.value)


def pdf(pages: Sequence[str], *, count: int | None = None, title: str = "", trailer: bytes = b"") -> bytes:
    """A PDF with the lines of each page in Helvetica; ``count``: how many pages it says that it has."""
    kids = [5 + 2 * number for number in range(len(pages))]
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: (
            f"<</Type/Pages/Count {len(pages) if count is None else count}"
            f"/Kids[{' '.join(f'{kid} 0 R' for kid in kids)}]"
            "/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>>>"
        ).encode(),
        3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        4: f"<</Title({title})>>".encode(),
    }
    for kid, text in zip(kids, pages, strict=True):
        objects[kid] = f"<</Type/Page/Parent 2 0 R/Contents {kid + 1} 0 R>>".encode()
        lines = "".join(f"({_quoted(line)}) Tj T* " for line in text.split("\n"))
        stream = f"BT /F 10 Tf 14 TL 40 780 Td {lines}ET".encode("cp1252")
        objects[kid + 1] = b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream)
    made, places = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), []
    for number, data in sorted(objects.items()):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, data)
    start, size = len(made), len(places) + 1
    made += b"xref\n0 %d\n0000000000 65535 f \n" % size
    made += b"".join(b"%010d 00000 n \n" % place for place in places)
    made += b"trailer<</Size %d/Root 1 0 R/Info 4 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, start)
    return bytes(made)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def package(main: str, parts: Parts) -> bytes:
    """A zip of parts that begins with ``main``."""
    buffer = io.BytesIO()
    first = {"[Content_Types].xml": "<Types/>", "_rels/.rels": relations({"rId1": ("officeDocument", main)})}
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in {**first, **parts}.items():
            made.writestr(name, content)
    return buffer.getvalue()


def relations(targets: Mapping[str, tuple[str, str]]) -> str:
    """The references of a part: by id, kind and target."""
    each = "".join(
        f'<Relationship Id="{key}" Type="{TYPES}/{kind}" Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{RELATIONS}">{each}</Relationships>'


def docx(body: str, parts: Parts | None = None) -> bytes:
    """A .docx with this body, in the namespace ``w``."""
    document = f"<w:document {W} {R} {A}><w:body>{body}</w:body></w:document>"
    return package("word/document.xml", {"word/document.xml": document, **(parts or {})})


def paragraph(text: str, marks: str = "") -> str:
    marks = f"<w:pPr>{marks}</w:pPr>" if marks else ""
    return f"<w:p>{marks}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


def item(text: str, numbering: int, level: int = 0) -> str:
    """A paragraph of a list."""
    return paragraph(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{numbering}"/></w:numPr>')


def row(*cells: str) -> str:
    return "<w:tr>" + "".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in cells) + "</w:tr>"


def pptx(slides: Sequence[str], parts: Parts | None = None) -> bytes:
    """A .pptx of slides, each the shapes in its tree."""
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="s{n}"/>' for n in range(len(slides)))
    made: dict[str, str | bytes] = {
        "ppt/presentation.xml": f"<p:presentation {P} {R}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            {f"s{n}": ("slide", f"slides/slide{n + 1}.xml") for n in range(len(slides))}
        ),
    }
    for number, shapes in enumerate(slides, 1):
        made[f"ppt/slides/slide{number}.xml"] = slide(shapes)
    return package("ppt/presentation.xml", {**made, **(parts or {})})


def slide(shapes: str, marks: str = "") -> str:
    return f"<p:sld {P} {A} {R} {marks}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"


def shape(*lines: str, place: str = "body") -> str:
    """A text on a slide; a line that begins with a tab is one level deeper."""
    each = "".join(
        f'<a:p><a:pPr lvl="{len(line) - len(line.lstrip(chr(9)))}"/>'
        f"<a:r><a:t>{escape(line.strip())}</a:t></a:r></a:p>"
        for line in lines
    )
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:nvPr><p:ph type="{place}"/></p:nvPr></p:nvSpPr>'
        f"<p:txBody>{each}</p:txBody></p:sp>"
    )
