"""Writes docs/api.md from the docstrings. A test fails when the page is out of date; `make docs` writes it anew."""

from __future__ import annotations

import inspect
from itertools import chain
from pathlib import Path
from typing import Any

import deciduous
import deciduous.evidence
import deciduous.export
import deciduous.live
import deciduous.pictures
import deciduous.ray
from deciduous._forest import DareForest
from deciduous.frozen import FrozenForest

PAGE = Path(__file__).with_name("api.md")
# What several classes inherit is printed once, after them, under a heading of its own.
FAMILIES = {
    DareForest: (deciduous.DareForestClassifier, deciduous.DareForestRegressor),
    FrozenForest: (deciduous.FrozenForestClassifier, deciduous.FrozenForestRegressor),
}
CLASSES = (deciduous.live.LiveForest, deciduous.live.LiveTable, deciduous.live.Requests, deciduous.live.ForestView)
ON_CLUSTERS = (deciduous.ray.RayForestClassifier, deciduous.ray.RayForestRegressor)
# What they have beside the local estimators, or for other arguments.
ON_CLUSTERS_ALONE = ("connect", "fit", "from_local", "load", "report", "save", "shut_down", "status", "to_local")
FUNCTIONS = (deciduous.load, deciduous.tune)
MODULES = {
    deciduous.live: ("connect", "read_forest", "check_against"),
    deciduous.evidence: ("verify_statements", "read_envelopes", "read_public_keys", "Anchor", "FileAnchor"),
    deciduous.export: ("to_onnx", "to_treelite", "to_shap"),
    deciduous.pictures: ("export_text", "plot_tree"),
}


def described(title: str, thing: Any, level: str) -> list[str]:
    """A heading, the docstring, and an empty line."""
    return [f"{level} {title}", "", "```text", inspect.getdoc(thing) or "", "```", ""]


def signature(name: str, function: Any) -> str:
    """A call, with names and defaults but without types."""
    parameters = inspect.signature(function).parameters.values()
    shown = [str(p.replace(annotation=inspect.Parameter.empty)) for p in parameters if p.name not in ("self", "cls")]
    if any(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters):
        first = next(i for i, p in enumerate(parameters) if p.kind is inspect.Parameter.KEYWORD_ONLY)
        shown.insert(first - sum(p.name in ("self", "cls") for p in parameters), "*")
    return f"`{name}({', '.join(shown)})`"


def family_pages(base: type, classes: tuple[type, ...]) -> list[str]:
    """Several classes, each with what it does not inherit from their base, and then the base."""
    names = " and ".join(f"`{its.__name__}`" for its in classes)
    lines = []
    for its_class in classes:
        lines += described(its_class.__name__, its_class, "##")
        lines += [f"It also has the methods and attributes of [`{base.__name__}`](#{base.__name__.lower()}).", ""]
        lines += member_pages(its_class, inherited_from=base)
    return [*lines, f"## {base.__name__}", "", f"What {names} have in common.", "", *member_pages(base)]


def member_pages(its_class: type, inherited_from: type | None = None) -> list[str]:
    """The public methods and properties of a class, in the order of their names."""
    lines = []
    for name, member in inspect.getmembers(its_class):
        if name.startswith("_") or not inspect.getdoc(member):
            continue
        if inspect.getattr_static(its_class, name) is inspect.getattr_static(inherited_from, name, None):
            continue
        if not getattr(inspect.unwrap(getattr(member, "fget", member)), "__module__", "").startswith("deciduous"):
            continue  # scikit-learn documents its own
        title = f"`{name}`" if isinstance(member, property) else signature(name, member)
        lines += described(title, member, "###")
    return lines


def page() -> str:
    """The whole page."""
    lines = ["# API", "", "Made from the docstrings by `make docs`.", ""]
    for base, classes in FAMILIES.items():
        lines += family_pages(base, classes)
    for its_class in CLASSES:
        lines += described(its_class.__name__, its_class, "##") + member_pages(its_class)
    for its_class in ON_CLUSTERS:
        lines += described(f"deciduous.ray.{its_class.__name__}", its_class, "##")
    lines += ["What both have beside what the local estimators have, or with other arguments:", ""]
    for name in ON_CLUSTERS_ALONE:
        member = getattr(ON_CLUSTERS[0], name)
        lines += described(signature(name, member), member, "###")
    for function in FUNCTIONS:
        lines += described(signature(f"deciduous.{function.__name__}", function), function, "##")
    for module, names in MODULES.items():
        lines += described(module.__name__, module, "##")
        for name in names:
            lines += described(signature(name, getattr(module, name)), getattr(module, name), "###")
    lines += ["## Errors and results", ""]
    others = {*chain(*FAMILIES.values()), *CLASSES, *FUNCTIONS}
    for name in deciduous.__all__:
        if getattr(deciduous, name) not in others:
            first = (inspect.getdoc(getattr(deciduous, name)) or "").split("\n")[0]
            lines.append(f"- `{name}`: {first}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
