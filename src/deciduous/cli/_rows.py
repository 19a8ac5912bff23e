"""Rows for a forest: which column is what, and the values in compact arrays.

Numbers are kept as float32 and text as numbers of categories, so that a file of millions of rows takes little more
memory than the forest itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._columns import looks_like_names
from .._tables.values import MisfitError, as_float32, is_number, is_time
from .._targets import ANY_TARGET, CLASSIFICATION, REGRESSION, TargetScale, span_text
from .._tasks import SeenNumbers, task_of
from ..errors import InvalidInputError, shown
from ._compact import Numbers, Texts, Whole
from ._output import counted, note, warn
from ._reading import Source, Terms, Types, columns_of, parquet_file, reading

INDEX_NAMES = ("", "unnamed: 0", "__index_level_0__")  # what pandas makes of an index, in CSV and Parquet
ID_NAMES = ("id", "row_id", "rowid", "uuid", *INDEX_NAMES)
TARGET_NAMES = ("target", "label", "class", "y", "outcome")
SUBJECT_NAMES = ("subject", "subject_id", "person_id", "user_id", "patient_id", "customer_id")
TOO_MANY = 100_000  # categories
MANY_CLASSES = 100
# Types of Parquet that others read to the same float32, labels or names as the rules for values do.
PLAIN_NUMBERS = ("int8", "int16", "int32", "uint8", "uint16", "uint32", "float", "double")
PLAIN_LABELS = ("int64", "double", "bool", "string")
PLAIN_NAMES = ("int64", "string")


@dataclass(frozen=True)
class Asked:
    """What the user says about columns."""

    target: str | None = None
    id: str | None = None
    subject: str | None = None
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    numbers_rows: bool = False

    def require_known(self, names: Iterable[str], where: str) -> None:
        """Raises if a column is named that is not there."""
        known = list(names)
        named = [self.target, self.id, self.subject, *self.categorical, *self.drop]
        for name in named:
            if name is not None and name not in known:
                raise InvalidInputError(f"{where} has no column {name!r}. There are {shown(known, 20)}.")


@dataclass(frozen=True)
class Roles:
    """Which column is what."""

    target: str
    id: str | None
    subject: str | None

    @property
    def named(self) -> tuple[str | None, ...]:
        """The columns that trees do not split on."""
        return self.target, self.id, self.subject


@dataclass
class Rows:
    """Rows as `fit` and `add` take them."""

    roles: Roles
    table: Any  # of pyarrow: float32, and dictionaries for categories
    labels: NDArray[Any]  # or targets of a regression
    ids: Any = None
    subjects: Any = None
    file: str | None = None  # of Parquet, with the columns to split on, if they were left to others

    def __len__(self) -> int:
        return len(self.labels)


def training_rows(
    source: Source,
    asked: Asked,
    task: str | None,
    target_range: tuple[float, float] | None,
    *,
    workers_read: bool = False,
) -> tuple[Rows, str]:
    """All rows of a source, to train on, and the task, which is guessed if none is given. Says what was guessed.

    With `workers_read`, the columns to split on are left to the workers of a cluster, if these get the same from them.
    """
    types = columns_of(source)
    asked.require_known(types, source.name)
    roles = _guessed_roles(types, asked, source.name)
    wanted, left_out = _types_to_read(types, roles, asked, task)
    unread: list[str] = []
    if workers_read and not left_out and _are_plain(source, wanted, roles):
        unread = [name for name in wanted if name not in roles.named]
        wanted = {name: wanted[name] for name in wanted if name in roles.named}
    scale = ANY_TARGET if target_range is None else TargetScale.of_range(*target_range)
    spelled = spelled_types(types, [name for name in wanted if name in asked.categorical])
    while True:
        try:
            terms = Terms(is_guess=True, spelled=spelled)
            collected = _collected(source, roles, wanted, asked.categorical, terms, scale)
            break
        except MisfitError as misfit:  # text after numbers: begin again, with a type that takes both
            if spelled.pop(misfit.column, None) is None:
                wanted = {**wanted, misfit.column: _wider(wanted[misfit.column], misfit, roles, task, source.name)}
    if unread and collected.n_without_label:  # workers do not leave rows out
        return training_rows(source, asked, task, target_range)
    left_out |= collected.left_out
    if not collected.columns and not unread:
        raise InvalidInputError(f"{source.name} has no column to split on beside {shown(filter(None, roles.named))}.")
    _say_roles(roles, asked, "they are numbered 0, 1, 2, …")
    _say_columns(collected, left_out, len(unread))
    rows = collected.rows(roles)
    rows.file = parquet_file(source) if unread else None
    guessed = task or _guessed_task(rows)
    _say_unlabelled(collected, guessed)
    rows.labels = _for_task(rows, guessed)
    warn_of_labels(roles.target, np.unique(rows.labels), len(rows), guessed)
    return rows, guessed


def rows_for(forest: Any, source: Source, asked: Asked) -> Rows:
    """All rows of a source, to be added to a forest."""
    types = columns_of(source)
    asked.require_known(types, source.name)
    features = feature_types(forest, types, asked, source.name)
    others = {name: kind for name, kind in types.items() if name not in features and name not in asked.drop}
    roles = _guessed_roles(others, asked, source.name, takes_the_only_one=True)
    task = task_of(forest)
    scale = forest._target_scale if task == REGRESSION else ANY_TARGET
    wanted = {roles.target: _label_type_of(forest, task, roles.target, types[roles.target]), **features}
    if roles.id is not None:
        wanted[roles.id] = _text_or_whole(is_text=forest.id_type_ is not int)
    if roles.subject is not None:
        subjects = forest.subjects_
        is_text = not all(isinstance(subject, int) for subject in subjects)
        wanted[roles.subject] = _text_or_whole(is_text) if subjects else _name_type(types[roles.subject])
    categories = Known.of(forest, list(features))
    try:
        terms = Terms(known=categories.words(), spelled=spelled_types(types, features))
        collected = _collected(source, roles, wanted, tuple(features), terms, scale, categories)
    except MisfitError as misfit:
        raise not_as_before(misfit, source.name) from None
    _say_roles(roles, asked, "they get fresh numbers")
    _say_unlabelled(collected, task)
    categories.warn()
    rows = collected.rows(roles)
    rows.labels = _for_task(rows, task)
    rows.table = as_input(forest, rows.table.select(list(features)))
    return rows


def as_input(forest: Any, table: Any) -> Any:
    """A table as the forest takes it: one that was trained on an array knows no names of columns."""
    if hasattr(forest, "feature_names_in_"):
        return table
    return np.column_stack([column.to_numpy() for column in table.columns])


@dataclass
class Known:
    """The categories that a forest knows of each column, and what comes that is none of them."""

    categories: dict[str, list[Any]]
    n_values: Counter[str] = field(default_factory=Counter)
    n_unknown: Counter[str] = field(default_factory=Counter)
    examples: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, forest: Any, names: Sequence[str]) -> Known:
        """Those of a forest whose columns have these names in a source."""
        pairs = zip(names, forest.categories_, strict=True)
        return cls({name: [value for value in its if value is not None] for name, its in pairs if its is not None})

    def words(self) -> dict[str, frozenset[str]]:
        """The texts that are values, and not words for a missing one."""
        return {name: frozenset(its) for name, its in self.categories.items() if is_text(its)}

    def see(self, batch: Any) -> None:
        """Count the values of a batch."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for name, values in self.categories.items():
            present = batch.column(name).drop_null()
            known = pa.array(values, pa.string() if is_text(values) else pa.float64())
            unknown = present.filter(pc.invert(pc.is_in(present, value_set=known)))
            self.n_values[name] += len(present)
            self.n_unknown[name] += len(unknown)
            if len(unknown):
                self.examples.setdefault(name, unknown[0].as_py())

    def warn(self) -> None:
        """Tell what share of the values no row had that the forest was trained on."""
        for name, n in self.n_unknown.items():
            if n:
                share = 100 * n / self.n_values[name]
                warn(
                    f"{n:,} of {self.n_values[name]:,} values ({share:.3g}%) of {name!r} are unknown to the forest, "
                    f"such as {self.examples[name]!r}: it was trained without them, so they are none of its categories."
                )


# ------------------------------------------------------------------------------------------------- which column is what


def _guessed_roles(types: Types, asked: Asked, where: str, *, takes_the_only_one: bool = False) -> Roles:
    """Roles by what the user says, and by names. The target may also be the only column that has no other role."""
    id, subject = asked.id, asked.subject
    if id is None and not asked.numbers_rows:
        id = called(ID_NAMES, types, (asked.target, subject, *asked.drop))
    if subject is None:
        subject = called(SUBJECT_NAMES, types, (asked.target, id, *asked.drop))
    target = asked.target or called(TARGET_NAMES, types, (id, subject, *asked.drop))
    left = [name for name in types if name not in (id, subject)]
    if target is None and takes_the_only_one and len(left) == 1:
        target = left[0]
    if target is None:
        raise InvalidInputError(f"Say which column to predict with --target. {where} has {shown(types, 20)}.")
    named = [name for name in (target, id, subject) if name is not None]
    if len(set(named)) < len(named):
        raise InvalidInputError("The target, the id and the subject must be different columns.")
    return Roles(target, id, subject)


def called(names: Sequence[str], types: Types, taken: Sequence[str | None]) -> str | None:
    """The first column with one of these names, in capital letters or not."""
    by_name = {name.lower(): name for name in types if name not in taken}
    return next((by_name[name] for name in names if name in by_name), None)


def _say_roles(roles: Roles, asked: Asked, without_ids: str) -> None:
    if asked.target is None:
        note(f"Guessed: {roles.target!r} is the column to predict (--target).")
    if roles.id is None:
        note(f"Rows have no column of ids (--id): {without_ids}.")
    elif asked.id is None:
        note(f"Guessed: {named_column(roles.id)} names the rows (--id, or --number-rows).")
    if roles.subject is not None and asked.subject is None:
        note(f"Guessed: {roles.subject!r} says to whom a row belongs (--subject, or --drop {roles.subject}).")


def named_column(name: str) -> str:
    """How messages name a column, which may have no name."""
    return f"{name!r}, the index of pandas," if name.lower() in INDEX_NAMES else repr(name)


def say_task(task: str, target: str, why_measured: str | None = None) -> None:
    """What was guessed of a target that holds numbers, and why, if that is known."""
    held, other = "numbers with few different values", REGRESSION
    if task == REGRESSION:
        held, other = why_measured or "numbers that are not whole, or many different ones", CLASSIFICATION
    note(f"Guessed: {task}, as {target!r} holds {held} (--task {other}).")


def warn_of_labels(target: str, values: NDArray[Any], n_rows: int, task: str) -> None:
    """Of labels that are hardly what was meant; of each value once."""
    if len(values) == 1:
        what = "targets" if task == REGRESSION else "labels"
        warn(f"All {what} in {target!r} are {values[0]}: there is nothing to learn. Choose another --target?")
    elif task == CLASSIFICATION and len(values) > MANY_CLASSES:
        warn(
            f"{target!r} has {len(values):,} different values in {counted(n_rows, 'row')}, and each is a class. "
            "Choose another --target, or make fewer classes of it?"
        )


def _say_columns(collected: _Collected, left_out: dict[str, str], n_unread: int) -> None:
    texts = [f"{name} ({len(its)})" for name, its in collected.columns.items() if isinstance(its, Texts)]
    n_numbers = len(collected.columns) - len(texts) + n_unread
    note(f"Guessed: {counted(n_numbers, 'column')} of numbers, {len(texts)} of categories" + _listed(texts) + ".")
    for name, reason in left_out.items():
        note(f"Left out: {name!r}, {reason}.")


def _say_unlabelled(collected: _Collected, task: str) -> None:
    if collected.n_without_label:
        what = "target" if task == REGRESSION else "label"
        note(f"Left out: {counted(collected.n_without_label, 'row')} without a {what}.")


def _listed(texts: list[str]) -> str:
    return f": {shown(texts, 20)}" if texts else ""


# --------------------------------------------------------------------------------------------------- types of columns


def _types_to_read(types: Types, roles: Roles, asked: Asked, task: str | None) -> tuple[dict[str, Any], dict[str, str]]:
    """The type in which each column is read, and the columns that are left out, each with the reason."""
    import pyarrow as pa

    wanted: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for name, kind in types.items():
        if name == roles.target:
            wanted[name] = _number_type(name, kind) if task == REGRESSION else _label_type(kind)
        elif name in roles.named:
            wanted[name] = _name_type(kind)
        elif name in asked.drop:
            left_out[name] = "as asked"
        elif name.lower() in INDEX_NAMES:
            left_out[name] = "the index of pandas"
        elif name in asked.categorical or pa.types.is_string(kind):
            wanted[name] = pa.string()
        elif is_number(kind):
            wanted[name] = kind if pa.types.is_boolean(kind) or is_time(kind) else pa.float64()
        elif pa.types.is_null(kind):
            wanted[name] = pa.float64()
        else:
            left_out[name] = f"which holds values of the type {kind}: neither numbers nor text"
    return wanted, left_out


def _are_plain(source: Source, wanted: Types, roles: Roles) -> bool:
    """Whether all columns are in a file of Parquet, and of types that make the rules for values superfluous."""
    import pyarrow as pa

    if parquet_file(source) is None:
        return False
    held = {name: str(kind).removeprefix("large_") for name, kind in source.types().items()}
    features = [name for name in wanted if name not in roles.named]
    names = [name for name in (roles.id, roles.subject) if name is not None]
    return (
        all(held[name] in PLAIN_NUMBERS and pa.types.is_floating(wanted[name]) for name in features)
        and all(held[name] in PLAIN_NAMES and held[name] == str(wanted[name]) for name in names)
        and held[roles.target] in PLAIN_LABELS
        and held[roles.target] == str(wanted[roles.target])
    )


def feature_types(forest: Any, types: Types, asked: Asked, where: str) -> dict[str, Any]:
    """The columns that a forest splits on, in its order, with the type in which each is read."""
    import pyarrow as pa

    names = list(getattr(forest, "feature_names_in_", ()))
    if not names:  # it was trained on an array: its columns are those that have no other purpose
        taken = {asked.target, asked.id, asked.subject, *asked.drop}
        names = [name for name in types if name not in taken][: forest.n_features_in_]
    missing = [name for name in names if name not in types]
    if missing or len(names) < forest.n_features_in_:
        what = f"no column {missing[0]!r}" if missing else f"{len(names)} columns"
        raise InvalidInputError(
            f"{where} has {what}, but the forest splits on {counted(forest.n_features_in_, 'column')}"
            + (f": {shown(names, 20)}." if missing else ", which have no names.")
        )
    pairs = zip(names, forest.categories_, strict=True)
    return {name: pa.string() if its is not None and is_text(its) else pa.float64() for name, its in pairs}


def is_text(categories: Iterable[Any]) -> bool:
    """Whether these categories are texts; the missing value is none."""
    return any(isinstance(value, str) for value in categories)


def spelled_types(types: Types, names: Iterable[str]) -> dict[str, Any]:
    """What these columns spell out if they are of text."""
    import pyarrow as pa

    return {name: types[name] for name in names if is_number(types[name]) and not pa.types.is_null(types[name])}


def _name_type(kind: Any) -> Any:
    """The type of names: whole numbers if they are, also where a table has made floats of them."""
    import pyarrow as pa

    is_whole = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)
    return _text_or_whole(is_text=not is_whole)


def _text_or_whole(is_text: bool) -> Any:
    import pyarrow as pa

    return pa.string() if is_text else pa.int64()


def _label_type(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return pa.bool_()
    if pa.types.is_integer(kind) or pa.types.is_null(kind):
        return pa.int64()
    return pa.float64() if pa.types.is_floating(kind) else pa.string()


def _number_type(name: str, kind: Any) -> Any:
    """The type in which targets of a regression are read."""
    import pyarrow as pa

    if is_time(kind):
        raise InvalidInputError(
            f"Column {name!r} holds times, but the targets of a regression are numbers. Make a column of numbers."
        )
    return pa.bool_() if pa.types.is_boolean(kind) else pa.float64()


def _label_type_of(forest: Any, task: str, name: str, kind: Any) -> Any:
    """The type in which labels of new rows are read: text if those of the forest are."""
    import pyarrow as pa

    if task == REGRESSION:
        return _number_type(name, kind)
    return pa.string() if forest.classes_.dtype.kind == "U" else _label_type(kind)


def _wider(kind: Any, misfit: MisfitError, roles: Roles, task: str | None, where: str) -> Any:
    """A type that also takes what did not fit."""
    import pyarrow as pa

    if misfit.column == roles.target and task == REGRESSION:
        raise InvalidInputError(
            f"Column {misfit.column!r} of {where} does not hold numbers, as the targets of a regression must be: "
            f"{misfit.reason}. Correct it, choose another --target, or take --task {CLASSIFICATION}."
        )
    if pa.types.is_string(kind):
        raise InvalidInputError(f"Column {misfit.column!r} of {where} cannot be read as text: {misfit.reason}.")
    if misfit.column == roles.target and pa.types.is_integer(kind):
        return pa.float64()
    return pa.string()


def not_as_before(misfit: MisfitError, where: str) -> InvalidInputError:
    """The error of a column that is not what the forest was trained on."""
    return InvalidInputError(
        f"Column {misfit.column!r} of {where} is not of the kind that the forest was trained on: {misfit.reason}."
    )


# ----------------------------------------------------------------------------------------------------------- collecting


@dataclass
class _Collected:
    """Everything that was read."""

    columns: dict[str, Numbers | Texts]
    labels: Whole | Texts
    ids: Whole | Texts | None
    subjects: Whole | Texts | None
    left_out: dict[str, str] = field(default_factory=dict)
    n_rows: int = 0
    n_without_label: int = 0

    def rows(self, roles: Roles) -> Rows:
        import pyarrow as pa

        labels = _labels(self.labels)
        table = pa.table({name: column.taken() for name, column in self.columns.items()})
        return Rows(roles, table, labels, _names(self.ids), _names(self.subjects))


def _collected(
    source: Source,
    roles: Roles,
    types: Types,
    categorical: Sequence[str],
    terms: Terms,
    scale: TargetScale,
    known: Known | None = None,
) -> _Collected:
    import pyarrow as pa

    def empty(name: str | None) -> Whole | Texts | None:
        return None if name is None else Texts() if pa.types.is_string(types[name]) else Whole()

    features = [name for name in types if name not in roles.named]
    columns = {name: Texts() if pa.types.is_string(types[name]) else Numbers() for name in features}
    labels = empty(roles.target)
    assert labels is not None
    collected = _Collected(columns, labels, empty(roles.id), empty(roles.subject))
    with reading(source, types, terms) as batches:
        for batch, numbers in _with_labels(batches, roles.target, collected):
            _require_within(batch.column(roles.target), roles.target, scale, numbers)
            collected.labels.see(batch.column(roles.target))
            for name, names in ((roles.id, collected.ids), (roles.subject, collected.subjects)):
                if names is not None and name is not None:
                    _require_present(batch.column(name), name, numbers)
                    names.see(batch.column(name))
            require_finite(batch, [name for name, its in columns.items() if isinstance(its, Numbers)], numbers)
            for name, column in columns.items():
                column.see(batch.column(name))
            if known is not None:
                known.see(batch)
            collected.n_rows += batch.num_rows
            _leave_out_names(collected, categorical, lambda n_texts: n_texts > TOO_MANY)
    if collected.n_rows == 0:
        raise InvalidInputError(f"{source.name} has no rows with a value in {roles.target!r}.")
    _leave_out_names(collected, categorical, lambda n_texts: looks_like_names(n_texts, collected.n_rows))
    return collected


def _with_labels(batches: Iterator[Any], target: str, collected: _Collected) -> Iterator[tuple[Any, NDArray[np.int64]]]:
    """Batches without the rows that have no label, and the numbers of the others in the source, from 1."""
    import pyarrow.compute as pc

    n_before = 0
    for batch in batches:
        numbers = np.arange(n_before, n_before + batch.num_rows) + 1
        n_before += batch.num_rows
        labels = batch.column(target)
        has_label = pc.is_valid(labels).to_numpy(zero_copy_only=False)
        if str(labels.type) == "double":
            has_label &= ~np.isnan(labels.to_numpy(zero_copy_only=False))
        n_left = int(has_label.sum())
        collected.n_without_label += batch.num_rows - n_left
        yield (batch, numbers) if n_left == batch.num_rows else (batch.filter(_mask(has_label)), numbers[has_label])


def _mask(chosen: NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.array(chosen)


def _require_present(names: Any, column: str, numbers: NDArray[np.int64]) -> None:
    if names.null_count:
        missing = np.flatnonzero(names.is_null().to_numpy(zero_copy_only=False))[0]
        raise InvalidInputError(f"Row {numbers[missing]} has no value in column {column!r}, which names rows.")


def require_finite(batch: Any, columns: Iterable[str], numbers: NDArray[np.int64]) -> None:
    """Raises if a number is infinite as float32: the forest refuses it, too, but cannot tell where in the source."""
    for name in columns:
        column = batch.column(name)
        infinite = np.flatnonzero(np.isinf(as_float32(column)))
        if len(infinite):
            raise InvalidInputError(
                f"Row {numbers[infinite[0]]} holds {column[int(infinite[0])]} in column {name!r}, but infinity, and "
                "values too large for float32 (beyond 3.4e38), cannot be used. Clip them, or leave them empty."
            )


def _require_within(targets: Any, column: str, scale: TargetScale, numbers: NDArray[np.int64]) -> None:
    """Raises if a target is beyond the scale: the forest refuses it, too, but cannot tell where in the source."""
    if str(targets.type) != "double":
        return
    values = targets.to_numpy(zero_copy_only=False)
    for place in np.flatnonzero(scale.beyond(values))[:1]:
        way_out = "Correct it, or leave it empty."
        if scale != ANY_TARGET:
            way_out = "Correct it, or train a forest with a --target-range that is wide enough."
        raise InvalidInputError(
            f"Row {numbers[place]} holds {values[place]} in column {column!r}, but targets are numbers "
            f"{span_text(*scale.limits)}. {way_out}"
        )


def _leave_out_names(collected: _Collected, categorical: Sequence[str], is_too_many: Callable[[int], bool]) -> None:
    """Leaves out columns of text with so many different values that they look like names."""
    for name, column in list(collected.columns.items()):
        if isinstance(column, Texts) and is_too_many(len(column)) and name not in categorical:
            collected.left_out[name] = f"text that is hardly ever the same (--categorical {name} to use it)"
            del collected.columns[name]


def _guessed_task(rows: Rows) -> str:
    """The task that the labels look like. Text and truth values are classes, which needs no word."""
    if rows.labels.dtype.kind not in "if":
        return CLASSIFICATION
    seen = SeenNumbers()
    seen.see(rows.labels)
    say_task(seen.task, rows.roles.target, seen.why_measured)
    return seen.task


def _for_task(rows: Rows, task: str) -> NDArray[Any]:
    """The labels as the forest takes them: classes, or numbers."""
    if task == REGRESSION:
        return rows.labels.astype(np.float64, copy=False)
    if rows.labels.dtype.kind == "f":
        broken = rows.labels[rows.labels != np.floor(rows.labels)][:1]
        if len(broken):
            raise InvalidInputError(
                f"Column {rows.roles.target!r} holds {broken[0]}, but labels are classes: text or whole numbers. "
                f"Choose another --target, make classes of the numbers, or train with --task {REGRESSION}."
            )
    return rows.labels


def _labels(labels: Whole | Texts) -> NDArray[Any]:
    return np.array(labels.texts())[labels.codes()] if isinstance(labels, Texts) else labels.taken()


def _names(names: Whole | Texts | None) -> Any:
    if names is None or isinstance(names, Whole):
        return None if names is None else names.taken()
    texts = np.array(names.texts(), dtype=object)
    return texts[names.codes()].tolist()
