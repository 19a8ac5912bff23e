"""Public sources of data sets, read into the form of the registry: UCI's archive, and OpenML through scikit-learn."""

from __future__ import annotations

import io
import urllib.request
import zipfile
from collections.abc import Callable
from typing import Any

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
SECONDS_UNTIL_GIVING_UP = 60

Download = Callable[[str], bytes]
Fetch = Callable[[Download], Any]  # gives a pandas frame

ADULT_COLUMNS = """
    age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain
    capital-loss hours-per-week native-country income
"""

CENSUS_COLUMNS = """
    age class_of_worker detailed_industry_code detailed_occupation_code education wage_per_hour
    enroll_in_edu_inst_last_wk marital_stat major_industry_code major_occupation_code race hispanic_origin sex
    member_of_labor_union reason_for_unemployment full_or_part_time_employment_stat capital_gains capital_losses
    dividends_from_stocks tax_filer_stat region_of_previous_residence state_of_previous_residence
    detailed_household_and_family_stat detailed_household_summary_in_household instance_weight
    migration_code_change_in_msa migration_code_change_in_reg migration_code_move_within_reg
    live_in_this_house_1_year_ago migration_prev_res_in_sunbelt num_persons_worked_for_employer
    family_members_under_18 country_of_birth_father country_of_birth_mother country_of_birth_self citizenship
    own_business_or_self_employed fill_inc_questionnaire_for_veterans_admin veterans_benefits weeks_worked_in_year
    year income
"""


def download(url: str) -> bytes:
    """The content of a page."""
    with urllib.request.urlopen(url, timeout=SECONDS_UNTIL_GIVING_UP) as answer:
        content: bytes = answer.read()
        return content


def adult(get: Download) -> Any:
    """Adult: two files; labels of the test part end in a dot."""
    frame = _in_two_parts(
        _csv(get(f"{UCI}adult/adult.data"), ADULT_COLUMNS.split()),
        _csv(get(f"{UCI}adult/adult.test"), ADULT_COLUMNS.split(), skiprows=1),
    )
    return frame.assign(income=frame["income"].str.rstrip("."))


def census(get: Download) -> Any:
    """Census-Income: two compressed files without names of columns."""
    parts = (get(f"{UCI}census-income-mld/census-income.{part}.gz") for part in ("data", "test"))
    return _in_two_parts(*(_csv(part, CENSUS_COLUMNS.split(), compression="gzip") for part in parts))


def bank_marketing(get: Download) -> Any:
    """Bank Marketing: the larger of the files with 20 inputs."""
    return _csv(_member(get(f"{UCI}00222/bank-additional.zip"), "bank-additional-full.csv"), sep=";")


def diabetes(get: Download) -> Any:
    """Diabetes 130-US hospitals."""
    return _csv(_member(get(f"{UCI}00296/dataset_diabetes.zip"), "diabetic_data.csv"))


def higgs(get: Download) -> Any:
    """HIGGS: 11 million lines, the label first."""
    names = ["label", *(f"x{i}" for i in range(28))]
    frame = _csv(get(f"{UCI}00280/HIGGS.csv.gz"), names, compression="gzip", dtype="float32")
    return frame.astype({"label": int})


def credit_card(_: Download) -> Any:
    """Credit Card from OpenML."""
    return _openml(1597).astype({"Class": int})


def electricity(_: Download) -> Any:
    """Electricity from OpenML."""
    return _openml(151)


def california_housing(_: Download) -> Any:
    """California Housing, which scikit-learn fetches by itself."""
    from sklearn.datasets import fetch_california_housing

    return fetch_california_housing(as_frame=True).frame


def _openml(data_id: int) -> Any:
    """OpenML has a client of its own in scikit-learn."""
    from sklearn.datasets import fetch_openml

    return fetch_openml(data_id=data_id, as_frame=True, parser="auto").frame


def _csv(content: bytes, names: list[str] | None = None, **options: Any) -> Any:
    """Texts such as `?`, `None` and `NA` stay what they are: categories, not missing values."""
    import pandas

    options = {"skipinitialspace": True, "keep_default_na": False} | options
    return pandas.read_csv(io.BytesIO(content), names=names, **options)


def _member(archive: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        wanted = next(path for path in files.namelist() if path.rpartition("/")[2] == name)
        return files.read(wanted)


def _in_two_parts(train: Any, test: Any) -> Any:
    import pandas

    return pandas.concat([train.assign(split="train"), test.assign(split="test")], ignore_index=True)
