"""Damaged model files, most of them with repaired checksums: each is refused as a corrupt model, or is a sound forest.

    python tests/torture/files.py --mutants 1000000
    python tests/torture/files.py --mutants 20000 --models regression "frozen regression"

Half of the mutants change bytes, numbers and sections at random, half put odd values into the descriptions. What loads
must be consistent, predict, and come back from being saved; every fourth one is deleted from and added to as well. No
mutant may take more memory or time than its size allows: the sound files have a few kilobytes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from file_format import container, sections_of
from mutants import (
    EVERY_MODEL,
    FORESTS,
    JSON_SECTIONS,
    ODD_TEXTS,
    is_refused,
    places,
    random_mutants,
    reader_of_forest,
    with_text_at,
)
from tampering import outcome

MOST_MEGABYTES = 600  # of a process that has loaded mutants only
MOST_SECONDS = 2.0  # of work for one mutant
PER_TASK = 2_000


def described(n_files: int, seed: int, sound: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Files in which one or two parts of descriptions are odd."""
    rng = random.Random(seed)
    for _ in range(n_files):
        which, data = rng.choice(list(sound.items()))
        sections = sections_of(data)
        for _ in range(rng.choice([1, 1, 2])):
            i = rng.choice([i for i, (name, _) in enumerate(sections) if name in JSON_SECTIONS])
            name, content = sections[i]
            try:
                value = json.loads(content)
            except ValueError:
                continue
            sections[i] = (name, with_text_at(value, rng.choice(list(places(value))), rng.choice(ODD_TEXTS)))
        yield which, container(sections)


def run(task: tuple[int, int, list[str]]) -> Counter[str]:
    """What became of a number of mutants of these models; one that breaks something is kept."""
    seed, n_files, models = task
    sound = {which: EVERY_MODEL[which] for which in models}
    counts: Counter[str] = Counter()
    halves = random_mutants(n_files // 2, seed, sound), described(n_files - n_files // 2, seed, sound)
    for number, (which, data) in enumerate(itertools.chain(*halves)):
        begin = time.process_time()
        try:
            is_bad = is_refused(which, data)
            if not is_bad and which in FORESTS:
                assert outcome(data, updates=number % 4 == 0, reader=reader_of_forest(which)) is None
            assert time.process_time() - begin < MOST_SECONDS, "it took too long"
            assert megabytes() < MOST_MEGABYTES, "it took too much memory"
        except BaseException as error:
            found = Path(os.environ.get("DECIDUOUS_FUZZ_FOUND", "build")) / f"found-{seed}-{number}.forest"
            found.parent.mkdir(exist_ok=True)
            found.write_bytes(data)
            raise AssertionError(f"{found}, made of {which!r}, gives {type(error).__name__}: {error}") from error
        counts["refused" if is_bad else "sound"] += 1
    return counts


def megabytes() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Runs as many mutants as were asked for, in all processors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", nargs="+", choices=EVERY_MODEL, default=list(EVERY_MODEL))
    arguments = parser.parse_args()
    begin, counts = time.monotonic(), Counter[str]()
    n_tasks = -(-arguments.mutants // PER_TASK)
    tasks = [(arguments.seed + number, PER_TASK, arguments.models) for number in range(n_tasks)]
    with multiprocessing.get_context("spawn").Pool() as pool:
        for done in pool.imap_unordered(run, tasks):
            counts += done
            print(f"{counts.total()} of {n_tasks * PER_TASK} mutants", file=sys.stderr)
    seconds = time.monotonic() - begin
    told = f"{counts['refused']} refused, {counts['sound']} sound, nothing else"
    print(f"file mutants: {counts.total()} ({told}) in {seconds:.0f} s")


if __name__ == "__main__":
    main()
