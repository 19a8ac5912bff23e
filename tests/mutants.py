"""Damaged model files with checksums that are right again: what they say is wrong, and nothing else gives it away."""

import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from deciduous import (
    CorruptModelError,
    DareForestClassifier,
    DareForestRegressor,
    FrozenForestClassifier,
    FrozenForestRegressor,
)
from file_format import container, sections_of
from tampering import CATEGORICAL, INF, NAN, REGRESSION, SOUND, Forest, categorical_forest

# What may stand at any place of a description, as JSON text: 1e400 is read as infinity.
ODD_TEXTS = ["null", "true", "false", "0", "-1", "1", "2.5", "-0.0", str(2**70), "1e300", "1e400", "NaN", "-Infinity"]
ODD_TEXTS += [
    '""',
    '"x"',
    '"\\u0000"',
    '"\\ud800"',
    "[]",
    "{}",
    "[[]]",
    '{"a":[1,{}]}',
    "[null]",
    '[["x",1.0]]',
    "[1,2,3]",
]
JSON_SECTIONS = ("meta", "names", "categories")


def named_forest() -> DareForestClassifier:
    """Rows named by strings, some of which belong to people of all kinds of names; balanced classes of text."""
    X = [[i / 2, i % 3] for i in range(9)]
    people = [None, 7, "ann", "ann", 7, None, "bob", "ann", "bob"]
    forest = DareForestClassifier(2, max_depth=3, class_weight="balanced", random_state=3)
    return forest.fit(X, list("abcabcabc"), ids=[f"row-{i}" for i in range(9)], subjects=people)


NAMED = named_forest().to_bytes()
FROZEN = categorical_forest().freeze().to_bytes()
FROZEN_REGRESSION = categorical_forest(DareForestRegressor).freeze().to_bytes()
FORESTS = {"weighted": SOUND, "categorical": CATEGORICAL, "named": NAMED, "regression": REGRESSION}
EVERY_MODEL = FORESTS | {"frozen": FROZEN, "frozen regression": FROZEN_REGRESSION}


def reader_of_forest(which: str) -> type[Forest]:
    """What reads a model with rows."""
    return DareForestRegressor if which == "regression" else DareForestClassifier


def reader_of(which: str) -> Any:
    """What reads a model."""
    frozen = {"frozen": FrozenForestClassifier, "frozen regression": FrozenForestRegressor}
    return frozen.get(which) or reader_of_forest(which)


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each part of a JSON value, the whole included."""
    yield before
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield from places(value[key], (*before, key))


def with_text_at(value: Any, place: tuple[Any, ...], text: str) -> bytes:
    """The JSON of a value with this text instead of what is at a place."""
    if not place:
        return text.encode()
    marked = json.loads(json.dumps(value))
    holder = marked
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = "\N{PILCROW SIGN}"
    return json.dumps(marked).replace(json.dumps("\N{PILCROW SIGN}"), text).encode()


def description_mutants(data: bytes) -> Iterator[tuple[str, bytes]]:
    """A file with each part of each description replaced by each odd text, with a word on what was done."""
    sections = sections_of(data)
    for i, (name, content) in enumerate(sections):
        if name not in JSON_SECTIONS:
            continue
        value = json.loads(content)
        for place in places(value):
            for text in ODD_TEXTS:
                changed = (name, with_text_at(value, place, text))
                yield f"{name}{list(place)} = {text}", container([*sections[:i], changed, *sections[i + 1 :]])


# ------------------------------------------------------------------------------------------------------ at random

EDGES = [0, 1, 2, 3, 127, 128, 255, 2**15, 2**16 - 1, 2**30, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1]
ODD_ENTRIES = [None, True, False, 0, 1, -1, 2, 255, 2**31, 2**32, 2**63, 2**64, 10**400, 0.5, -0.0, 1e308, NAN, INF]
ODD_ENTRIES += ["", "a", "\0", "\ud800", "valid", "uniform", "<U1", "|O", [], [0], [[0, 1.0]], {}, {"a": 1}]


def with_flipped_bits(data: bytes, rng: random.Random) -> bytes:
    """One to three bits are others."""
    damaged = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def with_edge_number(data: bytes, rng: random.Random) -> bytes:
    """A number on the edge of its type somewhere."""
    width = rng.choice([1, 1, 2, 4, 4, 8])
    number = (rng.choice(EDGES) % 2 ** (8 * width)).to_bytes(width, "little")
    place = rng.randrange(max(1, len(data) - width))
    return data[:place] + number + data[place + width :]


def with_splice(data: bytes, rng: random.Random) -> bytes:
    """A piece is cut out, doubled, or put somewhere else."""
    begin = rng.randrange(len(data))
    end = min(len(data), begin + rng.choice([1, 2, 4, 8, 9, 16, 64]))
    if rng.random() < 0.3:
        return data[:begin] + data[end:]
    place = rng.randrange(len(data))
    keep = rng.choice([0, end - begin])
    return data[:place] + data[begin:end] + data[place + keep :]


MUTATIONS = (with_flipped_bits, with_edge_number, with_splice)


def with_odd_entry(description: bytes, rng: random.Random) -> bytes:
    """An entry of a description, however deep, is another value, or gone, or doubled in a list."""
    state = json.loads(description)
    place, key = state, rng.choice(list(state))
    while isinstance(place[key], dict | list) and place[key] and rng.random() < 0.8:
        place = place[key]
        key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))
    if rng.random() < 0.1:
        del place[key]
    elif isinstance(place, list) and rng.random() < 0.2:
        place.append(place[key])
    else:
        place[key] = rng.choice(ODD_ENTRIES)
    return json.dumps(state).encode()


def empty_forest() -> DareForestClassifier:
    """The named forest without rows."""
    forest = named_forest()
    forest.delete(forest.ids_)
    return forest


def plain_forest() -> DareForestClassifier:
    """A forest of other parameters, labels and rows."""
    X = np.arange(20, dtype=np.float32).reshape(10, 2)
    return DareForestClassifier(2, candidates="uniform", random_state=1).fit(X, list("abababcabc"))


def plain_regressor() -> DareForestRegressor:
    """The same rows with numbers of a large scale as targets."""
    X = np.arange(20, dtype=np.float32).reshape(10, 2)
    return DareForestRegressor(2, random_state=1).fit(X, np.arange(10) ** 3 * 1e290)


def random_mutants(n_files: int, seed: int, sound: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Damaged files and what they were: a quarter as they are, the others with checksums that are right again."""
    rng = random.Random(seed)
    forests: list[Forest] = [empty_forest(), plain_forest(), plain_regressor()]
    others = [section for forest in forests for section in sections_of(forest.to_bytes())]
    for _ in range(n_files):
        how = rng.random()
        which, data = rng.choice(list(sound.items()))
        sections = sections_of(data)
        i = rng.randrange(len(sections))
        name, content = sections[i]
        if how < 0.25:
            yield which, rng.choice(MUTATIONS)(data, rng)
            continue
        if how < 0.35:
            sections[i] = (name, rng.choice(others)[1])
        elif how < 0.4:
            j = rng.randrange(len(sections))
            sections[i], sections[j] = (name, sections[j][1]), (sections[j][0], content)
        elif name in JSON_SECTIONS and rng.random() < 0.9:
            sections[i] = (name, with_odd_entry(content, rng))
        else:
            sections[i] = (name, rng.choice(MUTATIONS)(content, rng))
        yield which, container(sections)


def is_refused(which: str, data: bytes) -> bool:
    """Whether these bytes are refused as a corrupt model; else they are one that can be saved and loaded again."""
    reader = reader_of(which)
    try:
        model = reader.from_bytes(data)
    except CorruptModelError as error:
        return bool(error.reason)
    again = model.to_bytes()
    assert reader.from_bytes(again).to_bytes() == again
    return False
