"""The table of the data sets: ours and the peers, each in its turn, for every seed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..bench import Bench
from ..data import DataSet, Unavailable
from ..measuring import seconds
from ..peers import PEERS, YARDSTICK, Peer, quality, sklearn_memory
from ..requirements import NODES, OURS, OURS_UNIFORM
from ..settings import UNIFORM

N_PATHS = 20  # rows whose paths are counted


def run(name: str, bench: Bench) -> None:
    """Fit all systems on a data set, in an order that turns with the seed."""
    its = bench.data(name)
    systems: list[Callable[[], None]] = [partial(measure_ours, bench, its), partial(measure_uniform, bench, its)]
    systems += [partial(measure_peer, bench, its, peer) for peer in PEERS]
    turn = bench.seed % len(systems)
    for measure in systems[turn:] + systems[:turn]:
        measure()


def measure_ours(bench: Bench, its: DataSet) -> None:
    """Fit, memory, quality, nodes on the way of a row, deletions one by one, and a batch."""
    key = f"{its.name}/{OURS}"
    forest = bench.fit_data(key, its)
    rows = bench.rows(len(its.X))
    if bench.is_first:
        paths, _ = forest.decision_path(its.X[rows[:N_PATHS]])
        bench.results.record(f"{key}/{NODES}", paths.sum() / paths.shape[0], "nodes")
    bench.delete_each(f"{key}/delete", forest, rows)
    batch = bench.batch_of(forest.ids_)
    bench.results.record(f"{key}/batch of 1%", seconds(lambda: forest.delete(batch)), "s")


def measure_uniform(bench: Bench, its: DataSet) -> None:
    """Fit, memory and quality with uniform candidates."""
    bench.fit_data(f"{its.name}/{OURS_UNIFORM}", its, **UNIFORM)


def measure_peer(bench: Bench, its: DataSet, peer: Peer) -> None:
    """Fit, quality and, of the yardstick, memory."""
    key = f"{its.name}/{peer.name}"
    try:
        model = peer.make(bench.setting(its.name), bench.seed, its.X.shape[1])
    except Unavailable as reason:
        bench.results.skipped[peer.name] = str(reason)
        return
    bench.results.record(f"{key}/fit", seconds(lambda: model.fit(its.X, its.y)), "s")
    bench.results.record(f"{key}/quality", quality(model, its), its.metric)
    if peer.name == YARDSTICK:
        bench.results.record(f"{key}/memory", its.X.nbytes + sklearn_memory(model), "B")
