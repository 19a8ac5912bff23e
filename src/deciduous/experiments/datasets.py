"""The data sets of the paper: where each comes from, how it is read and prepared, and what must come out.

Files are looked for in a folder: the one that is given, that of the environment variable DECIDUOUS_DATA, or a folder
in the user's cache. One parquet file each, columns as published. `load` checks rows, attributes and labels against the
registry and refuses what differs; what is not there is *unavailable*, and never replaced by anything else.

The paper has no regression. The sets with numbers as labels are of our choice, and compared with nothing of the paper.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import resample

from ..errors import DeciduousError, shown
from . import fetching, paper

FOLDER_VARIABLE = "DECIDUOUS_DATA"
SPLIT_SEED = 1  # of the paper's scripts
TRAIN_SHARE = 0.8

Rows = NDArray[np.float32]
Labels = NDArray[np.int64] | NDArray[np.float64]  # classes, of which 1 is positive, or numbers


class Unavailable(DeciduousError):  # noqa: N818
    """Something that an experiment needs is not here; the text says what, and what would help."""


class UnexpectedDataError(DeciduousError, ValueError):
    """A file that is not the data set of the paper; the text says what differs."""


# ------------------------------------------------------------------------------------------------------------ registry


@dataclass(frozen=True)
class Expected:
    """What a data set must be once it is prepared. The means of generated labels vary a little."""

    n_train: int
    n_test: int
    n_attributes: int
    label_sum: int  # the positive rows; of regression the sum of the targets, rounded

    @property
    def mean_label(self) -> float:
        """Share of positive rows, or mean target, train and test together."""
        return self.label_sum / (self.n_train + self.n_test)


@dataclass(frozen=True)
class Entry:
    """A data set: its origin, and how its file turns into rows.

    Columns that are neither numeric nor dropped, nor the target or the split, are one-hot encoded.
    """

    name: str
    title: str
    origin: str
    licence: str
    expected: Expected
    target: str = ""
    positive: tuple[object, ...] = ()  # labels; without any, each that is not missing
    random_depths: tuple[int, ...] = ()  # of regression: d_rmax for each tolerance, as `tune` chose it
    drop: tuple[str, ...] = ()
    numeric: tuple[str, ...] | None = ()  # None: every column that is not dropped
    split: str | None = None  # a column that says "train" or "test"; None: 80% by seed
    dates: Mapping[str, str] = field(default_factory=dict)  # column of times -> prefix of its day, month, year and hour
    fill: tuple[float, str] | None = None  # for missing numbers and texts
    only_complete_rows: bool = False
    fetch: fetching.Fetch | None = None
    generate: Callable[[int], tuple[Rows, Labels]] | None = None
    stands_in_for: str | None = None  # a data set of the paper that is not here
    made_from: str | None = None  # a data set whose file it is read from
    note: str = ""

    @property
    def file_name(self) -> str:
        """Of its file, in the folder of data sets."""
        return f"{self.made_from or self.name}.parquet"

    @property
    def is_regression(self) -> bool:
        """Whether the target is a number. The paper has no such sets."""
        return bool(self.random_depths)

    @property
    def paper_name(self) -> str:
        """The data set of the paper whose hyperparameters and metric are used."""
        return self.stands_in_for or self.name

    @property
    def is_real(self) -> bool:
        """Whether it is read, not generated."""
        return self.generate is None

    @property
    def metric(self) -> str:
        """The paper's measure of quality: "accuracy", "auc" or "average_precision". Of regression R²: "r2"."""
        return "r2" if self.is_regression else paper.dataset(self.paper_name).metric

    def setting(self, criterion: str = "gini", tolerance: str | None = None) -> paper.Setting:
        """The paper's hyperparameters for this data set; of regression those of our choice."""
        if not self.is_regression:
            return paper.setting(self.paper_name, criterion, tolerance)
        depth = 0 if tolerance is None else self.random_depths[paper.TOLERANCES.index(tolerance)]
        return replace(REGRESSION_SETTING, random_depth=depth)


REGRESSION_SETTING = paper.Setting(100, 20, 25, 0)  # the forest's defaults
DATE_PARTS = ("day", "month", "year", "hour")


def _date_columns(*prefixes: str) -> tuple[str, ...]:
    return tuple(f"{prefix}_{part}" for prefix in prefixes for part in DATE_PARTS)


def _several(*names: str) -> tuple[str, ...]:
    return tuple(" ".join(names).split())


def blobs(n_rows: int, n_columns: int = 40, **others: Any) -> tuple[Rows, Labels]:
    """The paper's Synthetic: two clusters per class at the corners of a 5-cube, 5% of the labels flipped.

    5 informative attributes, 5 redundant and, of 40, 30 useless ones. `make_classification` shuffles the rows.
    """
    options = {"n_informative": 5, "n_redundant": 5, "n_clusters_per_class": 2, "flip_y": 0.05} | others
    X, y = make_classification(n_rows, n_columns, random_state=SPLIT_SEED, **options)
    return X.astype(np.float32), y.astype(np.int64)


def higgs_shaped(n_rows: int, seed: int = 0) -> tuple[Rows, Labels]:
    """28 continuous columns, 7 of them made from the other 21, and a class that no few of them give away.

    Made in pieces, so that making it takes little more memory than having it.
    """
    X = np.empty((n_rows, 28), dtype=np.float32)
    y = np.empty(n_rows, dtype=np.int64)
    for piece, random in _pieces(n_rows, seed):
        raw = random.standard_normal((piece.stop - piece.start, 21), dtype=np.float32)
        made = np.stack([raw[:, i] * raw[:, i + 7] + 0.5 * np.abs(raw[:, i + 14]) for i in range(7)], axis=1)
        X[piece] = np.hstack([raw, made])
        logit = made[:, :4].sum(axis=1) - made[:, 4:].sum(axis=1) + 0.3 * raw[:, :3].sum(axis=1)
        y[piece] = random.random(len(raw)) < 1 / (1 + np.exp(-0.6 * logit))
    return X, y


def friedman(n_rows: int, seed: int = 0) -> tuple[Rows, Labels]:
    """Friedman's first function of five uniform columns, with noise; five more columns say nothing."""
    random = np.random.default_rng(seed)
    X = random.random((n_rows, 10), dtype=np.float32)
    a, b, c, d, e = X[:, :5].T.astype(np.float64)
    y = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e + random.standard_normal(n_rows)
    return X, y


def _pieces(n_rows: int, seed: int, size: int = 500_000) -> Iterator[tuple[slice, np.random.Generator]]:
    """Consecutive ranges of rows, each with its own source of random numbers."""
    for begin in range(0, n_rows, size):
        yield slice(begin, min(begin + size, n_rows)), np.random.default_rng([seed, begin])


ENTRIES = (
    Entry(
        "surgical",
        "Surgical",
        "Kaggle, omnamahshivai/surgical-dataset-binary-classification",
        "not stated",
        Expected(11_708, 2_927, 90, 3_690),
        target="complication",
        positive=(1,),
        numeric=_several("bmi Age ccsComplicationRate ccsMort30Rate complication_rsi hour mortality_rsi"),
    ),
    Entry(
        "vaccine",
        "Vaccine",
        "DrivenData, Flu Shot Learning; the CDC's National 2009 H1N1 Flu Survey",
        "US NCHS data-use terms: statistical reporting and analysis only",
        Expected(21_365, 5_342, 185, 12_435),
        target="seasonal_vaccine",
        positive=(1,),
        drop=("respondent_id",),
        fill=(-1.0, "NAN"),
        note="The other label, h1n1_vaccine, is an input: the paper's 185 attributes only come out so.",
    ),
    Entry(
        "adult",
        "Adult",
        "UCI, adult",
        "CC BY 4.0",
        Expected(32_561, 16_281, 107, 11_687),
        target="income",
        positive=(">50K",),
        drop=("education-num",),
        numeric=_several("age fnlwgt capital-gain capital-loss hours-per-week"),
        split="split",
        fetch=fetching.adult,
    ),
    Entry(
        "bank_marketing",
        "Bank Marketing",
        "UCI, bank-additional-full",
        "CC BY 4.0",
        Expected(32_950, 8_238, 63, 4_640),
        target="y",
        positive=("yes",),
        numeric=_several(
            "age duration campaign pdays previous emp.var.rate cons.price.idx cons.conf.idx euribor3m nr.employed"
        ),
        fetch=fetching.bank_marketing,
        note="The paper prints one train row more. `duration` is kept, though known to leak, as the paper does.",
    ),
    Entry(
        "flight_delays",
        "Flight Delays",
        "Kaggle, flight-delays-fall-2018 (mlcourse.ai); US Bureau of Transportation Statistics",
        "public domain",
        Expected(80_000, 20_000, 648, 19_044),
        target="dep_delayed_15min",
        positive=("Y",),
        numeric=("DepTime", "Distance"),
    ),
    Entry(
        "diabetes",
        "Diabetes",
        "UCI, Diabetes 130-US hospitals for years 1999-2008",
        "CC BY 4.0",
        Expected(81_412, 20_354, 253, 46_902),
        target="readmitted",
        positive=("<30", ">30"),
        drop=_several("encounter_id patient_nbr weight diag_1 diag_2 diag_3"),
        numeric=_several(
            "time_in_hospital num_lab_procedures num_medications number_outpatient",
            "number_emergency number_inpatient number_diagnoses",
        ),
        fetch=fetching.diabetes,
        note="The paper prints one test row less.",
    ),
    Entry(
        "no_show",
        "No Show",
        "Kaggle, joniarroba/noshowappointments",
        "CC BY-NC-SA 4.0",
        Expected(88_421, 22_106, 98, 22_319),
        target="No-show",
        positive=("Yes",),
        drop=_several("PatientId AppointmentID ScheduledDay AppointmentDay"),
        dates={"ScheduledDay": "scheduled", "AppointmentDay": "appointment"},
        numeric=_several("Age Scholarship Hipertension Diabetes Alcoholism Handcap SMS_received")
        + _date_columns("scheduled", "appointment"),
        note="98 attributes; the paper prints 99, which probably counts the label, and one train row more.",
    ),
    Entry(
        "olympics",
        "Olympics",
        "Kaggle, heesoo37/120-years-of-olympic-history-athletes-and-results",
        "CC0",
        Expected(164_932, 41_233, 1_004, 30_181),
        target="Medal",
        drop=("ID", "Name", "Team"),
        numeric=("Age", "Height", "Weight"),
        only_complete_rows=True,
    ),
    Entry(
        "census",
        "Census",
        "UCI, Census-Income (KDD)",
        "CC BY 4.0",
        Expected(199_523, 99_762, 408, 18_568),
        target="income",
        positive=("50000+.",),
        drop=_several(
            "detailed_industry_code detailed_occupation_code num_persons_worked_for_employer weeks_worked_in_year year"
        ),
        numeric=_several("age wage_per_hour capital_gains capital_losses dividends_from_stocks instance_weight"),
        split="split",
        fetch=fetching.census,
        note="The paper's script drops columns by position; 408 attributes only come out so.",
    ),
    Entry(
        "credit_card",
        "Credit Card",
        "Kaggle, mlg-ulb/creditcardfraud; OpenML 1597",
        "Open Database Licence",
        Expected(227_845, 56_962, 29, 492),
        target="Class",
        positive=(1,),
        drop=("Time",),
        numeric=None,
        fetch=fetching.credit_card,
        note="The paper prints one train row more.",
    ),
    Entry(
        "ctr",
        "CTR",
        "Criteo 1TB click logs: the first million rows, label and 13 numeric columns",
        "Criteo's terms: research only",
        Expected(800_000, 200_000, 13, 29_040),
        target="label",
        positive=(1,),
        numeric=None,
        note="No public loader.",
    ),
    Entry(
        "twitter",
        "Twitter",
        "HSpam14: the first million tweets, label and 15 derived numbers",
        "tweets may not be passed on",
        Expected(800_000, 200_000, 15, 169_471),
        target="label",
        positive=(1,),
        numeric=None,
        note="No public loader: the texts have to be asked for by tweet id, and many are gone.",
    ),
    Entry(
        "synthetic",
        "Synthetic",
        "scikit-learn, make_classification, with the paper's parameters",
        "generated",
        Expected(800_000, 200_000, 40, 500_000),
        generate=blobs,
        note="The paper does not give its seed; ours is 1.",
    ),
    Entry(
        "higgs",
        "Higgs",
        "UCI, HIGGS",
        "CC BY 4.0",
        Expected(8_800_000, 2_200_000, 28, 5_829_123),
        target="label",
        positive=(1,),
        numeric=None,
        fetch=fetching.higgs,
        note="A download of 2.8 GB.",
    ),
)

STAND_IN = Entry(
    "higgs_stand_in",
    "Higgs-shaped (stand-in)",
    "generated: 28 continuous columns, hard to separate",
    "generated",
    Expected(8_800_000, 2_200_000, 28, 5_950_000),
    generate=higgs_shaped,
    stands_in_for="higgs",
    note="A stand-in for runs at scale. Its scores are not Higgs' and are not compared with the paper's.",
)

# The random depths are what `tune` chose on 10,000 random train rows, by R², for the forest's default parameters.
REGRESSION = (
    Entry(
        "california_housing",
        "California Housing",
        "StatLib, through scikit-learn",
        "not stated",
        Expected(16_512, 4_128, 8, 42_695),
        target="MedHouseVal",
        numeric=None,
        random_depths=(10, 10, 11, 12),
        fetch=fetching.california_housing,
        note="Regression: the median price of houses in a block.",
    ),
    Entry(
        "electricity",
        "Electricity",
        "OpenML 151: the market of New South Wales, 1996 to 1998",
        "not stated",
        Expected(36_249, 9_063, 5, 19_277),
        target="nswdemand",
        drop=("date", "day", "class"),
        numeric=None,
        random_depths=(18, 18, 18, 19),
        fetch=fetching.electricity,
        note="Regression: the demand of half an hour, scaled to [0, 1]. The class, made from prices, is left out.",
    ),
    Entry(
        "diabetes_stay",
        "Diabetes, stay",
        "UCI, Diabetes 130-US hospitals for years 1999-2008",
        "CC BY 4.0",
        Expected(81_412, 20_354, 252, 447_362),
        target="time_in_hospital",
        drop=_several("encounter_id patient_nbr weight diag_1 diag_2 diag_3 readmitted"),
        numeric=_several(
            "num_lab_procedures num_medications number_outpatient number_emergency number_inpatient number_diagnoses"
        ),
        random_depths=(2, 2, 3, 7),
        fetch=fetching.diabetes,
        made_from="diabetes",
        note="Regression: days in hospital, whole numbers from 1 to 14, so that many rows have the same target.",
    ),
    Entry(
        "friedman",
        "Friedman",
        "generated: Friedman's first function (1991), with noise",
        "generated",
        Expected(80_000, 20_000, 10, 1_441_016),
        random_depths=(0, 1, 2, 3),
        generate=friedman,
        note="Regression: five columns of ten matter.",
    ),
)

REGISTRY = {entry.name: entry for entry in (*ENTRIES, STAND_IN, *REGRESSION)}


def entry_of(name: str) -> Entry:
    """A data set of the registry by name."""
    if name not in REGISTRY:
        raise Unavailable(f"No data set is called {name!r}. There are {', '.join(REGISTRY)}.")
    return REGISTRY[name]


# ------------------------------------------------------------------------------------------------------------- loading


@dataclass(frozen=True)
class DataSet:
    """Rows to train on and rows to test with."""

    name: str
    X: Rows
    y: Labels
    X_test: Rows
    y_test: Labels
    metric: str = "accuracy"

    @property
    def is_regression(self) -> bool:
        """Whether the labels are numbers."""
        return self.metric == "r2"

    def first(self, n_rows: int) -> DataSet:
        """The same with at most this many rows to train on, and as many to test with."""
        return replace(
            self, X=self.X[:n_rows], y=self.y[:n_rows], X_test=self.X_test[:n_rows], y_test=self.y_test[:n_rows]
        )

    def sample(self, n_train: int | None, n_test: int | None, seed: int) -> DataSet:
        """At most so many random rows to train on and to test with; None for all. Mix of classes and order stay."""
        train, test = _some(self.y, n_train, seed), _some(self.y_test, n_test, seed)
        return replace(self, X=self.X[train], y=self.y[train], X_test=self.X_test[test], y_test=self.y_test[test])


def _some(y: Labels, at_most: int | None, seed: int) -> Any:
    if at_most is None or len(y) <= at_most:
        return slice(None)
    strata = y if y.dtype == np.int64 else None
    return np.sort(resample(np.arange(len(y)), replace=False, n_samples=at_most, stratify=strata, random_state=seed))


@dataclass(frozen=True)
class Table:
    """A real set before it is encoded: pandas frames of the columns in use, and labels."""

    numeric: list[str]
    categories: list[str]
    train: Any
    y: Labels
    test: Any
    y_test: Labels


def data_folder(given: Path | None = None) -> Path:
    """Where data sets are looked for."""
    if given is not None:
        return given
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "deciduous" / "data"


def load(name: str, folder: Path | None = None, n_train: int | None = None) -> DataSet:
    """A data set of the registry, checked. A generated one is made with at most `n_train` rows to train on."""
    entry = entry_of(name)
    if entry.generate is None:
        return _real(name, data_folder(folder))
    return _generated(name, min(entry.expected.n_train, n_train or entry.expected.n_train))


def state_of(name: str, folder: Path | None = None) -> str | None:
    """Why a data set is not here, and what would help; None if it is."""
    entry = entry_of(name)
    path = data_folder(folder) / entry.file_name
    if entry.generate is not None or path.exists():
        return None
    way_out = f"`deciduous experiment fetch {name}` downloads it" if entry.fetch else "it has no public loader"
    return f"no {path.name} in {path.parent} (set {FOLDER_VARIABLE} or --data to where it is); {way_out}"


def fetch(name: str, folder: Path | None = None, download: fetching.Download = fetching.download) -> Path:
    """Download a data set from its public source into the folder, checked; the path of its file."""
    entry = entry_of(name)
    if entry.fetch is None:
        raise Unavailable(f"{name} has no public loader: {entry.note or entry.origin}")
    path = data_folder(folder) / entry.file_name
    try:
        frame = entry.fetch(download)
    except (OSError, ValueError, KeyError) as error:
        raise Unavailable(f"{name} could not be fetched from {entry.origin}: {error}") from error
    _checked(entry, _encoded(entry.name, _table(entry, frame)))
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(path, index=False)
    return path


@lru_cache(maxsize=2)
def _real(name: str, folder: Path) -> DataSet:
    return _checked(entry_of(name), _encoded(name, table(name, folder)))


@lru_cache(maxsize=2)
def _generated(name: str, n_train: int) -> DataSet:
    entry = entry_of(name)
    assert entry.generate is not None
    X, y = entry.generate(round(n_train / TRAIN_SHARE))
    data = DataSet(name, X[:n_train], y[:n_train], X[n_train:], y[n_train:], entry.metric)
    return _checked(entry, data) if n_train == entry.expected.n_train else data


@lru_cache(maxsize=1)
def table(name: str, folder: Path) -> Table:
    """A real set as its file has it, columns derived and dropped, split as the paper does."""
    if reason := state_of(name, folder):
        raise Unavailable(reason)
    return _table(entry_of(name), _read_frame(folder / entry_of(name).file_name))


def _read_frame(path: Path) -> Any:
    try:
        import pandas
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise Unavailable(
            f"reading {path.name} needs {error.name}; install it with: pip install 'deciduous[experiments]'"
        ) from None
    return pandas.read_parquet(path)


def _table(entry: Entry, frame: Any) -> Table:
    _require_columns(entry, frame)
    frame = frame.copy(deep=False)
    for column, prefix in entry.dates.items():
        _derive_dates(frame, column, prefix)
    y = _labels(entry, frame[entry.target])
    is_real_column = [name for name in frame if name not in (entry.target, entry.split, *entry.drop)]
    if entry.only_complete_rows:
        is_complete = frame[is_real_column].notna().all(axis=1).to_numpy()
        frame, y = frame[is_complete], y[is_complete]
    is_train = _train_mask(frame, entry.split)
    numeric = is_real_column if entry.numeric is None else list(entry.numeric)
    categories = [name for name in is_real_column if name not in numeric]
    frame = _filled(frame[numeric + categories], entry.fill)
    train, test = (frame[part].reset_index(drop=True) for part in (is_train, ~is_train))
    return Table(numeric, categories, train, y[is_train], test, y[~is_train])


def _labels(entry: Entry, target: Any) -> Labels:
    """Numbers as they are, and 1 for what is positive."""
    if entry.is_regression:
        numbers: NDArray[np.float64] = target.to_numpy(np.float64)
        return numbers
    positive: NDArray[np.bool_] = (target.isin(entry.positive) if entry.positive else target.notna()).to_numpy()
    return positive.astype(np.int64)


def _require_columns(entry: Entry, frame: Any) -> None:
    derived = _date_columns(*entry.dates.values())
    needed = {entry.target, *entry.dates, *(entry.numeric or ())} - set(derived)
    needed |= {entry.split} if entry.split else set()
    if missing := sorted(needed - set(frame.columns)):
        raise UnexpectedDataError(
            f"{entry.file_name} lacks the columns {shown(missing)}: it is not the {entry.title} data of {entry.origin}."
        )


def _derive_dates(frame: Any, column: str, prefix: str) -> None:
    """The parts of a column of times as columns of their own."""
    import pandas

    times = pandas.to_datetime(frame[column])
    for part in DATE_PARTS:
        frame[f"{prefix}_{part}"] = getattr(times.dt, part)


def _filled(frame: Any, fill: tuple[float, str] | None) -> Any:
    if fill is None:
        return frame
    number, text = fill
    from pandas.api.types import is_numeric_dtype

    return frame.fillna({name: number if is_numeric_dtype(frame[name]) else text for name in frame})


def _train_mask(frame: Any, split: str | None) -> NDArray[np.bool_]:
    """The designated train part, or the paper's 80 per cent."""
    if split is not None:
        designated: NDArray[np.bool_] = (frame[split] == "train").to_numpy()
        return designated
    is_train = np.zeros(len(frame), dtype=bool)
    chosen = np.random.RandomState(SPLIT_SEED).choice(len(frame), int(TRAIN_SHARE * len(frame)), replace=False)
    is_train[chosen] = True
    return is_train


def _encoded(name: str, its: Table) -> DataSet:
    """One-hot: the encoder knows the train part only."""
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=True, dtype=np.float32)
    if its.categories:
        encoder.fit(its.train[its.categories])

    def rows(frame: Any) -> Rows:
        n_numeric = len(its.numeric)
        indicators = encoder.transform(frame[its.categories]) if its.categories else None
        n_columns = n_numeric + (0 if indicators is None else indicators.shape[1])
        X = np.empty((len(frame), n_columns), dtype=np.float32)  # in place: the largest set takes 660 MB
        X[:, :n_numeric] = frame[its.numeric].to_numpy(np.float32)
        if indicators is not None:
            X[:, n_numeric:] = indicators.toarray()
        return X

    return DataSet(name, rows(its.train), its.y, rows(its.test), its.y_test, entry_of(name).metric)


def _checked(entry: Entry, data: DataSet) -> DataSet:
    """The data, if they are what the registry expects."""
    its = entry.expected
    label_sum = round(float(data.y.sum() + data.y_test.sum()))
    found = Expected(len(data.y), len(data.y_test), data.X.shape[1], label_sum)
    counted = "as the sum of targets" if entry.is_regression else "positives"
    names = {"n_train": "train rows", "n_test": "test rows", "n_attributes": "attributes", "label_sum": counted}
    differing = [
        f"{getattr(found, key):,} {what} instead of {getattr(its, key):,}"
        for key, what in names.items()
        if getattr(found, key) != getattr(its, key) and not (key == "label_sum" and _is_close(entry, found))
    ]
    if differing:
        raise UnexpectedDataError(
            f"{entry.name} is not the {entry.title} data that is expected: it has {'; '.join(differing)}. "
            f"Expected is {entry.origin}."
        )
    return data


def _is_close(entry: Entry, found: Expected) -> bool:
    """Whether the mean label of a generated set is within a hundredth: a percentage point of positives."""
    return not entry.is_real and abs(found.mean_label - entry.expected.mean_label) < 0.01
