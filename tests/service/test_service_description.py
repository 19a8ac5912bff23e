"""The API is what its description says: schemathesis sends what it allows, and what it does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from serving import Running, make_clinic, running

OPERATIONS = 15
ARROW = ("application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file")


@schemathesis.serializer("text/csv", *ARROW)
def as_it_is(_: Any, value: Any) -> bytes:
    """What is in the body, whatever it is."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service of its own, as rows are deleted at random."""
    _, folder = make_clinic(tmp_path_factory.mktemp("description"))
    with running(folder, options=("--rate", "100000", "--no-vacuum")) as service:
        yield service


@pytest.fixture(scope="module")
def description(service: Running) -> Any:
    return schemathesis.openapi.from_url(f"{service.url}/openapi.json")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
@pytest.mark.parametrize("number", range(OPERATIONS))
def test_operation_is_as_described(service: Running, description: Any, number: int, mode: GenerationMode) -> None:
    """No answer has a status, a type or a shape that is not described, and none is a fault of the service.

    The description cannot know the columns of a table, so rows that it allows may be refused.
    """
    operation = [result.ok() for result in description.get_all_operations()][number]
    is_sent = 0

    @given(case=operation.as_strategy(generation_mode=mode), is_known=st.booleans())
    @settings(max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck), derandomize=True)
    def check(case: Any, is_known: bool) -> None:
        nonlocal is_sent
        if is_known and "name" in case.path_parameters:
            case.path_parameters["name"] = "clinic"
        answer = case.call(headers={"Authorization": f"Bearer {service.key}"})
        case.validate_response(answer, excluded_checks=[positive_data_acceptance])
        is_sent += 1

    try:
        check()
    except Exception as error:
        if "Unsatisfiable" not in type(error).__name__ and "no negative" not in str(error).lower():
            raise
        pytest.skip("there is nothing that the description does not allow")
    assert is_sent


def test_description_is_complete(service: Running) -> None:
    """Each operation says what it does, takes and answers, and each problem has its shape."""
    told = httpx.get(f"{service.url}/openapi.json").json()
    operations = [its for path in told["paths"].values() for its in path.values()]
    assert len(operations) == OPERATIONS
    for operation in operations:
        assert operation["description"]
        assert operation["tags"]
        for status, response in operation["responses"].items():
            (media, *_), content = list(response["content"]), response["content"]
            assert content[media]["schema"], operation
            assert (media == "application/problem+json") == (int(status) >= 400)
