"""For `make site`: pages that stand outside of docs/, and links that leave it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
SOURCES = "https://github.com/deciduous-forests/deciduous/{kind}/main/{path}"
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
}
ORIGINS = {page: origin for origin, page in PAGES.items()}
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The readme is the front page."""
    for origin, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / origin).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to pages lead to pages, pictures come along, and all else is among the sources."""
    origin = ROOT / ORIGINS.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def link(found: re.Match[str]) -> str:
        mark, text, target, anchor = found.groups(default="")
        path = Path(os.path.normpath(origin.parent / target)).relative_to(ROOT).as_posix()
        return f"{mark}[{text}]({_address(path, is_picture=bool(mark), config=config, files=files)}{anchor})"

    return LINK.sub(link, markdown)


def _address(path: str, is_picture: bool, config: MkDocsConfig, files: Files) -> str:
    """What leads to a file of the repository."""
    if path in PAGES:
        return PAGES[path]
    inside = path.removeprefix("docs/")
    if inside != path and files.get_file_from_path(inside) is not None:
        return inside
    if is_picture:
        inside = f"pictures/{Path(path).name}"
        if files.get_file_from_path(inside) is None:
            files.append(File.generated(config, inside, abs_src_path=str(ROOT / path)))
        return inside
    return SOURCES.format(kind="tree" if (ROOT / path).is_dir() else "blob", path=path)
