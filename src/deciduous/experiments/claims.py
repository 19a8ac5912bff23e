"""What the paper claims, one by one, and whether our runs bear it out."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from . import paper
from .datasets import entry_of
from .measuring import geometric_mean
from .page import Table
from .protocols.deletion import ADVERSARIES
from .protocols.deletion import MODELS as DELETION_MODELS
from .protocols.exactness import LEMMA
from .sections.choosing import TITLES, along, by_dataset, of_kind
from .sections.costs import scaled_memory
from .sections.deletions import error_increase, speedups
from .sections.updates import SIGNIFICANT
from .store import Runs
from .task import G_DARE
from .wording import digits, listed, points

CLOSE = 0.005  # half a percentage point
ONE_POINT = 0.01
AGREEMENT = 0.1  # of accounted and resident memory
MODEST_K = (5, 10, 25)


class Verdict(StrEnum):
    """How a claim fared."""

    HOLDS = "holds"
    IN_PART = "in part"
    FAILS = "does not hold"
    NOT_MEASURED = "not measured"


STYLES = {Verdict.HOLDS: "holds", Verdict.IN_PART: "part", Verdict.FAILS: "fails", Verdict.NOT_MEASURED: "absent"}


@dataclass(frozen=True)
class Claim:
    """A claim, where it stands, what we found."""

    text: str
    where: str
    found: str
    verdict: Verdict


def claims(runs: Runs) -> list[Claim]:
    """All of them."""
    return [check(runs) for check in CHECKS]


def claims_table(runs: Runs) -> Table:
    """As a table, the verdict last."""
    all_of_them = claims(runs)
    rows = [[its.text, its.where, its.found, str(its.verdict)] for its in all_of_them]
    head = ("claim", "where", "what we found", "verdict")
    styles = [STYLES[its.verdict] for its in all_of_them]
    return Table("The paper's claims, one by one", head, rows, frozenset({0, 1, 2}), classes=styles)


def _judged(n_true: int, n: int) -> Verdict:
    if n == 0:
        return Verdict.NOT_MEASURED
    return Verdict.HOLDS if n_true == n else Verdict.IN_PART if 2 * n_true >= n else Verdict.FAILS


def _names(datasets: Sequence[str]) -> str:
    return listed([entry_of(name).title for name in datasets])


# ------------------------------------------------------------------------------------------------------------- quality


def _quality_is_the_papers(runs: Runs) -> Claim:
    differences = {
        name: (its.mean("score") or 0.0) - paper.score(entry_of(name).paper_name, G_DARE)
        for name, its in by_dataset(runs.done("performance", model=G_DARE, rows="all"))
        if entry_of(name).is_real
    }
    far = {name: value for name, value in differences.items() if abs(value) > CLOSE}
    shown = listed([f"{entry_of(name).title} {points(value)}" for name, value in far.items()])
    return Claim(
        "our G-DaRE is as good as the paper's: within 0.5 points on every real data set",
        "Table 5",
        f"{len(differences) - len(far)} of {len(differences)} sets; farther: {shown}",
        _judged(len(differences) - len(far), len(differences)),
    )


def _scores(runs: Runs, model: str) -> dict[str, float]:
    """Means on each data set, on the rows that all models were trained on."""
    rows = "some" if runs.done("performance", rows="some") else "all"
    return {
        name: its.mean("score") or 0.0 for name, its in by_dataset(runs.done("performance", model=model, rows=rows))
    }


def _compared(runs: Runs, one: str, other: str) -> dict[str, float]:
    first, second = _scores(runs, one), _scores(runs, other)
    return {name: first[name] - second[name] for name in first if name in second}


def _quality_is_scikit_learns(runs: Runs) -> Claim:
    differences = _compared(runs, G_DARE, "sklearn_rf")
    behind = [name for name, value in differences.items() if value < -CLOSE]
    better = [name for name, value in differences.items() if value > CLOSE]
    return Claim(
        "G-DaRE predicts as well as scikit-learn's forest, or better",
        "appendix B.2",
        f"more than 0.5 points behind on: {_names(behind)}; ahead on: {_names(better)}; of {len(differences)} sets",
        _judged(len(differences) - len(behind), len(differences)),
    )


def _random_models_are_worse(runs: Runs) -> Claim:
    differences = [
        value for other in ("random_trees", "extra_trees") for value in _compared(runs, G_DARE, other).values()
    ]
    n_true = sum(value > 0 for value in differences)
    return Claim(
        "Random Trees and Extra Trees are consistently worse than G-DaRE",
        "appendix B.2",
        f"in {n_true} of {len(differences)} comparisons",
        _judged(n_true, len(differences)),
    )


def _bootstrap_is_negligible(runs: Runs) -> Claim:
    differences = _compared(runs, "sklearn_rf_bootstrap", "sklearn_rf")
    n_true = sum(abs(value) <= ONE_POINT for value in differences.values())
    most = max(map(abs, differences.values()), default=0.0)
    return Claim(
        "bootstrapping hardly changes scikit-learn's forests",
        "appendix B.2",
        f"within 1 point on {n_true} of {len(differences)} sets; at most {100 * most:.2f} points",
        _judged(n_true, len(differences)),
    )


# ------------------------------------------------------------------------------------------------------------ deletion


def _greedy_is_two_orders_faster(runs: Runs) -> Claim:
    ours = speedups(runs, "gini", "random", G_DARE)
    n_true = sum(value >= 100 for value in ours.values())
    mean = f"; geometric mean {digits(geometric_mean(list(ours.values())))}x (paper 257x)" if ours else ""
    return Claim(
        "G-DaRE is usually two orders of magnitude faster than naive retraining (random adversary)",
        "section 4.2",
        f"at least 100x on {n_true} of {len(ours)} sets{mean}",
        Verdict.NOT_MEASURED if not ours else Verdict.HOLDS if 2 * n_true > len(ours) else _judged(n_true, len(ours)),
    )


def _means(runs: Runs, criterion: str, adversary: str) -> list[float]:
    all_of_them = [list(speedups(runs, criterion, adversary, model).values()) for model in DELETION_MODELS]
    return [geometric_mean(values) for values in all_of_them if values]


def _larger_tolerance_is_faster(criterion: str, adversary: str) -> Callable[[Runs], Claim]:
    def check(runs: Runs) -> Claim:
        means = _means(runs, criterion, adversary)
        n_rising = sum(after >= before for before, after in pairwise(means))
        found = ", ".join(
            f"{TITLES[model]} {digits(mean)}x" for model, mean in zip(DELETION_MODELS, means, strict=False)
        )
        return Claim(
            f"R-DaRE is faster than G-DaRE, the more so the larger the tolerance ({criterion}, "
            f"{adversary.replace('_', ' ')})",
            "Table 2" if criterion == "gini" else "Table 9",
            found,
            _judged(n_rising, len(DELETION_MODELS) - 1 if means else 0),
        )

    return check


def _worst_is_slower(runs: Runs) -> Claim:
    quotients = []
    for criterion in ("gini", "entropy"):
        for model in DELETION_MODELS:
            random, worst = (speedups(runs, criterion, adversary, model) for adversary in ADVERSARIES)
            quotients += [random[name] / worst[name] for name in random if name in worst]
    n_true = sum(value > 1 for value in quotients)
    middle = f"; by {digits(statistics.median(quotients))}x in the median" if quotients else ""
    return Claim(
        "the speed-up is smaller against worst-of-1000, often by an order of magnitude",
        "section 4.2",
        f"smaller in {n_true} of {len(quotients)} pairs{middle}",
        _judged(n_true, len(quotients)),
    )


def _error_stays_within_a_point(runs: Runs) -> Claim:
    increases = [
        value
        for tolerance in paper.TOLERANCES
        for value in error_increase(runs, "gini", f"r_dare_{tolerance}").values()
    ]
    n_true = sum(value <= ONE_POINT for value in increases)
    most = f"; at most {100 * max(increases):.2f} points" if increases else ""
    return Claim(
        "R-DaRE typically stays within 1 point of G-DaRE's test error",
        "section 4.2",
        f"in {n_true} of {len(increases)} cases{most}",
        Verdict.NOT_MEASURED if not increases else Verdict.HOLDS if n_true >= 0.8 * len(increases) else
        _judged(n_true, len(increases)),
    )  # fmt: skip


def _worst_retrains_more(runs: Runs) -> Claim:
    pairs = []
    for _, its in by_dataset(runs.done("random-depth")):
        random, worst = (
            dict(along(its.done("random-depth", adversary=adversary), "random_depth", "rows_retrained"))
            for adversary in ADVERSARIES
        )
        pairs += [(random[depth], worst[depth]) for depth in random if depth in worst]
    n_true = sum(worst >= random for random, worst in pairs)
    return Claim(
        "worst-of-1000 deletions retrain more rows than random ones",
        "section 4.3, Figure 2",
        f"at {n_true} of {len(pairs)} random depths",
        _judged(n_true, len(pairs)),
    )


def _random_depth_is_faster(runs: Runs) -> Claim:
    gains = {}
    for name, its in by_dataset(runs.done("random-depth")):
        curve = along(its.done("random-depth", adversary="random"), "random_depth", "speedup")
        gains[name] = curve[-1][1] / curve[0][1]
    n_true = sum(gain > 1 for gain in gains.values())
    found = listed([f"{entry_of(name).title} {digits(gain)}x" for name, gain in gains.items()])
    return Claim(
        "a larger d_rmax makes deletions faster",
        "section 4.3, Figure 2",
        f"from d_rmax = 0 to d_max: {found}",
        _judged(n_true, len(gains)),
    )


def _error_grows_slowly(runs: Runs) -> Claim:
    half, whole = {}, {}
    for name, its in by_dataset(runs.done("random-depth")):
        curve = along(its.done("random-depth", adversary="random"), "random_depth", "score")
        middle = [value for depth, value in curve if depth <= curve[-1][0] / 2]
        half[name], whole[name] = curve[0][1] - middle[-1], curve[0][1] - curve[-1][1]
    n_true = sum(half[name] <= max(whole[name], 0) / 2 + CLOSE for name in half)
    found = listed(
        [f"{entry_of(name).title} {100 * half[name]:.2f} of {100 * whole[name]:.2f} points" for name in half]
    )
    return Claim(
        "error grows slowly in d_rmax at first",
        "section 4.3, Figure 2",
        f"lost at half of d_max, of all that is lost at d_max: {found}",
        _judged(n_true, len(half)),
    )


def _modest_k_is_enough(runs: Runs) -> Claim:
    lost = {}
    for name, its in by_dataset(runs.done("thresholds")):
        scores = dict(along(its, "k", "score"))
        modest = [scores[k] for k in MODEST_K if k in scores]
        if modest:
            lost[name] = max(scores.values()) - max(modest)
    n_true = sum(value <= CLOSE for value in lost.values())
    return Claim(
        "modest k (5 to 25) is competitive",
        "section 4.3, Figure 3",
        f"within 0.5 points of the best k on {n_true} of {len(lost)} sets",
        _judged(n_true, len(lost)),
    )


def _larger_k_is_slower(runs: Runs) -> Claim:
    changes = {}
    for name, its in by_dataset(runs.done("thresholds")):
        curve = along(its, "k", "speedup")
        changes[name] = curve[-1][1] / curve[0][1]
    n_true = sum(value < 1 for value in changes.values())
    mean = f"; by a factor of {digits(geometric_mean(list(changes.values())))}" if changes else ""
    return Claim(
        "a larger k makes deletions less efficient",
        "section 4.3, Figure 3",
        f"speed-up falls from the smallest to the largest k on {n_true} of {len(changes)} sets{mean}",
        _judged(n_true, len(changes)),
    )


# -------------------------------------------------------------------------------------------------- memory, exactness


def _memory_overhead(runs: Runs) -> Claim:
    ours = {
        name: scaled_memory(next(iter(its)))["overhead"]
        for name, its in by_dataset(runs.done("memory"))
        if not entry_of(name).stands_in_for
    }
    theirs = {name: paper.memory(entry_of(name).paper_name)["overhead_x"] for name in ours}
    n_true = sum(ours[name] <= theirs[name] for name in ours)
    span = f"{digits(min(ours.values()))}x to {digits(max(ours.values()))}x" if ours else ""
    return Claim(
        "deletion takes no more memory than in the paper: 5.8 to 25.6 times that of scikit-learn's forest and the data",
        "Table 3",
        f"ours takes {span}; less than the paper's on {n_true} of {len(ours)} sets",
        _judged(n_true, len(ours)),
    )


def _accounting_is_resident(runs: Runs) -> Claim:
    shares = {
        name: its.values("resident_growth")[0] / its.values("total")[0] for name, its in by_dataset(runs.done("memory"))
    }
    off = {name: value for name, value in shares.items() if abs(value - 1) > AGREEMENT}
    asked_for = [
        its.values("allocated_growth")[0] / its.values("total")[0]
        for _, its in by_dataset(runs.done("memory"))
        if its.values("allocated_growth")
    ]
    found = listed([f"{entry_of(name).title} {value:.2f}" for name, value in off.items()])
    return Claim(
        "our accounting of memory is what a process takes, within 10%",
        "ours",
        f"on {len(shares) - len(off)} of {len(shares)} sets; resident / accounted elsewhere: {found}"
        + (f"; allocated / accounted: {min(asked_for):.2f} to {max(asked_for):.2f}" if asked_for else ""),
        _judged(len(shares) - len(off), len(shares)),
    )


def _is_exact(text: str, where: str, is_regression: bool) -> Callable[[Runs], Claim]:
    def check(runs: Runs) -> Claim:
        all_of_them = of_kind(runs.done("exactness"), is_regression)
        records = [record for record in all_of_them if record.unit.dataset != LEMMA]
        n_true = sum(bool((record.result or {})["matches"]) for record in records)
        found = f"{n_true} of {len(records)} forests have the fingerprint of the retrained one"
        return Claim(text, where, found, _judged(n_true, len(records)))

    return check


_deletion_is_exact = _is_exact(
    "deletion gives the model that retraining gives (ours: the same bytes)", "section 3, theorem", is_regression=False
)
_regression_is_exact = _is_exact(
    "regression: deletion gives the same bytes as retraining", "ours, not in the paper", is_regression=True
)


def _lemma_is_exact(runs: Runs) -> Claim:
    records = list(runs.done("exactness", LEMMA))
    wrong = [r.unit.options["case"] for r in records if (r.result or {})["paper"]["p"] < SIGNIFICANT]
    ours = sum(bool((r.result or {})["ours"]["matches"]) for r in records)
    return Claim(
        "resampling invalid thresholds keeps the sample uniform",
        "Lemma A.1",
        f"the scheme as written departs from retraining in: {listed(wrong)}; ours has the same bytes in {ours} of "
        f"{len(records)} cases",
        Verdict.NOT_MEASURED if not records else Verdict.FAILS if wrong else Verdict.HOLDS,
    )


CHECKS: tuple[Callable[[Runs], Claim], ...] = (
    _quality_is_the_papers,
    _quality_is_scikit_learns,
    _random_models_are_worse,
    _bootstrap_is_negligible,
    _greedy_is_two_orders_faster,
    _larger_tolerance_is_faster("gini", "random"),
    _larger_tolerance_is_faster("gini", "worst_of_1000"),
    _larger_tolerance_is_faster("entropy", "random"),
    _larger_tolerance_is_faster("entropy", "worst_of_1000"),
    _worst_is_slower,
    _error_stays_within_a_point,
    _random_depth_is_faster,
    _error_grows_slowly,
    _worst_retrains_more,
    _modest_k_is_enough,
    _larger_k_is_slower,
    _memory_overhead,
    _accounting_is_resident,
    _deletion_is_exact,
    _regression_is_exact,
    _lemma_is_exact,
)
