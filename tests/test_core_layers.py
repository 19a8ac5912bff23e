"""The folders of the core stand on each other in one order: a file includes its own folder and those below it."""

import re
from pathlib import Path

CORE = Path(__file__).resolve().parent.parent / "cpp" / "core"
ORDER = ["base", "data", "split", "stats", "tree", "predict", "io", "forest"]  # from the lowest to the highest
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def sources() -> list[Path]:
    return sorted(path for path in CORE.rglob("*") if path.suffix in {".h", ".cpp"})


def included(path: Path) -> list[Path]:
    return [Path(name) for name in INCLUDE.findall(path.read_text(encoding="utf-8"))]


def layer(path: Path) -> str:
    """The folder of a file of the core, named from there; `forest` stands beside the folders."""
    return path.parts[0] if len(path.parts) > 1 else path.stem


def test_every_folder_has_its_place_in_the_order() -> None:
    assert {layer(path.relative_to(CORE)) for path in sources()} == set(ORDER)


def test_includes_are_named_from_the_root_of_the_core() -> None:
    lost = [
        f"{path.relative_to(CORE)}: {name}"
        for path in sources()
        for name in included(path)
        if ".." in name.parts or not (CORE / name).is_file()
    ]
    assert not lost


def test_no_file_includes_a_folder_above_its_own() -> None:
    upwards = [
        f"{path.relative_to(CORE)}: {name}"
        for path in sources()
        for name in included(path)
        if ORDER.index(layer(name)) > ORDER.index(layer(path.relative_to(CORE)))
    ]
    assert not upwards, f"The order is {' → '.join(ORDER)}."
