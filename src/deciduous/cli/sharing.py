"""`deciduous freeze` and `deciduous export`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from .._container import write_atomically
from . import _options as options
from ._models import opened
from ._output import JsonOption, counted, present, size_text
from ._outputs import App

app = App()

OutOption = Annotated[Path, typer.Option("--out", "-o", help="File to write.")]


class Format(StrEnum):
    """What a forest can be exported to."""

    onnx = "onnx"
    treelite = "treelite"
    text = "text"


SUFFIXES = {".onnx": Format.onnx, ".tl": Format.treelite, ".treelite": Format.treelite, ".txt": Format.text}


@app.command(
    epilog=options.examples(
        "deciduous freeze patients.forest -o patients.frozen",
        "deciduous freeze cluster:clinic --ray head:6379 -o clinic.frozen",
    )
)
def freeze(
    model: options.AnyClusterModelArgument, out: OutOption, ray: options.RayOption = None, as_json: JsonOption = False
) -> None:
    """Write a model that can only predict. It holds no training rows, ids, counts or seed.

    Deleting rows from the original model does not change the frozen one: freeze again.
    """
    with opened(model, cluster=options.asked_cluster(ray, None), purpose="freeze") as forest:
        frozen = forest.freeze()
    frozen.save(out)
    size = frozen.memory_usage()
    result = {
        "model": str(model),
        "out": str(out),
        "n_trees": size.n_trees,
        "n_nodes": size.n_nodes,
        "bytes": size.stored,
    }
    present(
        as_json,
        result,
        f"Wrote {out} ({size_text(size.stored)}): {counted(size.n_trees, 'tree')} of "
        f"{counted(size.n_nodes, 'node')}, without training rows.",
    )


@app.command(
    epilog=options.examples(
        "deciduous export patients.forest -o patients.onnx",
        "deciduous export patients.forest -o patients.tl",
        "deciduous export patients.forest --format text -o trees.txt",
    )
)
def export(
    model: options.AnyModelArgument,
    out: OutOption,
    format: Annotated[
        Format | None, typer.Option("--format", help="Output format. Default: by file extension: .onnx, .tl, .txt.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Export a model for other programs: ONNX, treelite, or readable text.

    The export is a copy, which deletions do not change: export again. Text shows the number of rows at each node,
    and their classes or the mean of their targets, so it needs a model that is not frozen.
    """
    chosen = format or SUFFIXES.get(out.suffix.lower())
    if chosen is None:
        raise typer.BadParameter(f"Say what to export to {out} with --format: onnx, treelite or text.")
    # Text tells of rows at each node; the others are of what predicts, which a frozen forest is, too.
    with opened(model, purpose="tree_view" if chosen is Format.text else None) as forest:
        content = _content(forest, chosen)
    write_atomically(out, [content])
    result = {"model": str(model), "out": str(out), "format": chosen.value, "bytes": len(content)}
    present(as_json, result, f"Wrote {out} ({chosen.value}, {size_text(len(content))}).")


def _content(forest: Any, chosen: Format) -> bytes:
    from .. import export as exports
    from ..pictures import export_text

    if chosen is Format.onnx:
        return bytes(exports.to_onnx(forest).SerializeToString())
    if chosen is Format.treelite:
        return bytes(exports.to_treelite(forest).serialize_bytes())
    return "\n".join(export_text(forest, tree) for tree in range(forest.n_estimators)).encode()
