"""The certificate: what it says, to whom, and that it prints on one page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from deciduous import __version__
from deciduous.errors import InvalidInputError
from live_tables import Database, add_patients, make_live, make_patients
from patience import LIMIT


def first_sentence(page: str) -> str:
    """What the page says to the person whom it concerns."""
    (sentence,) = re.findall(r'<p class="plain">(.*?)</p>', page, re.DOTALL)
    return re.sub(r"<[^>]+>", "", sentence)


def titles(page: str) -> set[str]:
    """That of the page, and that of the window."""
    return {re.sub(", receipt .*", "", its) for its in re.findall(r"<(?:title|h1)>(.*?)</", page)}


def test_certificate_says_what_was_done_and_not_to_whom(sqlite_database: Database, folder: Path) -> None:
    """In a plain sentence first; then the request, commitments and the place in the chain; then the verification."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        erased = live.erase("u-17")
        (receipt,) = erased.receipts
        page = live.certificate(organisation="City Clinic <Records>")
        expected = f"The data of the person with reference {erased.request.id} is no longer part of this model."
        assert first_sentence(page) == expected
        assert titles(page) == {"Certificate of erasure"}
        for text in (
            erased.request.id,
            receipt.before,
            receipt.after,
            receipt.chain,
            "Not yet",
            "City Clinic &lt;Records&gt;",
            f"deciduous {__version__}",
        ):
            assert str(text) in page
        assert "u-17" not in page
        assert live.forest.fingerprint() not in page  # what is filed must not allow to try what is erased next
        live.verify()
        page = live.certificate(receipt.number)
        assert "trained anew" in page
        assert "now verified" in page
        assert "Clinic" not in page
        with pytest.raises(InvalidInputError, match="99"):
            live.certificate(99)


def test_each_kind_of_change_has_a_title_and_a_sentence_of_its_own(sqlite_database: Database, folder: Path) -> None:
    """A training is no erasure, and nothing left to erase no refusal."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        page = live.certificate()
        assert titles(page) == {"Certificate of training"}
        assert first_sentence(page) == "This model was trained for the first time, on 120 rows."
        reference = live.erase("u-999").request.id
        page = live.certificate()
        assert titles(page) == {"Answer to a request for erasure"}
        assert first_sentence(page).startswith(
            f"No data of the person with reference {reference} is part of this model."
        )
        assert "refused" not in page

        def after(statement: str) -> tuple[set[str], str]:
            sqlite_database.run(statement)
            live.sync()
            return titles(live.certificate()), first_sentence(live.certificate())

        assert after("UPDATE patients SET age = 30 WHERE id < 2") == (
            {"Certificate of an update"},
            "The former values of 2 rows of the table are no longer part of this model.",
        )
        assert after("DELETE FROM patients WHERE id = 1") == (
            {"Certificate of erasure"},
            "One row of the table is no longer part of this model.",
        )
        add_patients(sqlite_database, [500, 501])
        live.sync()
        assert first_sentence(live.certificate()) == "2 rows came to this model."
        two = [live.requests.receive(name).id for name in ("u-5", "u-6")]
        sentence = after("DELETE FROM patients WHERE person_id IN ('u-5', 'u-6')")[1]
        both = ", ".join(two)
        assert sentence == f"The data of 2 people, with the references {both}, is no longer part of this model."
    next(folder.glob("rows-*")).unlink()
    with live.open(folder) as live:
        live.sync()
        assert titles(live.certificate()) == {"Certificate of recovery"}
        assert "had been lost" in first_sentence(live.certificate())


FONTS = {  # a file of each family, whose folder is all that the browser gets to see; none at all is another case
    "DejaVu": "DejaVuSerif.ttf",
    "Liberation": "LiberationSerif-Regular.ttf",
    "Noto": "NotoSerif-Regular.ttf",
    "none": None,
}


def font_folder(file: str) -> Path:
    found = sorted(Path("/usr/share/fonts").rglob(file))
    if not found:
        pytest.skip(f"needs the font {file}: `make chromium` installs it")
    return found[0].parent


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium to print pages: `make chromium`")
@pytest.mark.parametrize("family", FONTS)
def test_certificate_fits_on_a_page(sqlite_database: Database, folder: Path, tmp_path: Path, family: str) -> None:
    """With any common font, on A4 and on Letter; also one with many requests, and with long names."""
    name = FONTS[family]
    fonts = f"<dir>{font_folder(name)}</dir>" if name is not None else ""
    (tmp_path / "fonts.conf").write_text(
        f"<?xml version='1.0'?><!DOCTYPE fontconfig SYSTEM 'fonts.dtd'><fontconfig>{fonts}"
        f"<cachedir>{tmp_path}/cache</cachedir></fontconfig>"
    )
    table = f"patients of {'the northern and the southern ward and ' * 2}others"
    make_patients(sqlite_database, 300)
    sqlite_database.run(f'ALTER TABLE patients RENAME TO "{table}"')
    with make_live(sqlite_database, folder, table=table) as live:
        live.new_key()
        for number in range(20):
            live.requests.receive(f"u-{number}")
        sqlite_database.run(f'DELETE FROM "{table}" WHERE id < 61 OR id % 3 = 0')
        live.sync()
        live.verify()
        page = live.certificate(organisation="The Municipal Clinic for All Who Live on Either Bank of the River, " * 3)
    for paper in ("A4", "Letter"):
        pdf = printed(page.replace("@page {", f"@page {{ size: {paper};"), tmp_path)
        assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1
        ((width, height),) = set(re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf))
        assert (round(float(width)), round(float(height))) == {"A4": (595, 842), "Letter": (612, 792)}[paper]
        used = re.findall(rb"/FontName /(?:[A-Z]{6}\+)?(\w+)", pdf)
        assert (name is not None) == (len(used) > 0)
        assert all(font.startswith(family.encode()) for font in used)


def printed(page: str, folder: Path) -> bytes:
    (folder / "page.html").write_text(page)
    subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--print-to-pdf={folder / 'page.pdf'}",
         "--no-pdf-header-footer", f"--user-data-dir={folder / 'profile'}", (folder / "page.html").as_uri()],
        check=True, capture_output=True, cwd=folder, timeout=LIMIT,
        env=os.environ | {"FONTCONFIG_FILE": str(folder / "fonts.conf")},
    )  # fmt: skip
    return (folder / "page.pdf").read_bytes()
