"""What the API does, asked over HTTP, beside what the library does."""

from __future__ import annotations

import io
import json
from typing import Any

import httpx
import pyarrow as pa
import pytest
from serving import PROBES, Running, kind_of

from deciduous.live import read_forest
from live_tables import Database, fresh_fingerprint, patient
from patience import wait_until

CLINIC = "/v1/models/clinic"
AGES = "/v1/models/ages"


def as_csv(rows: list[dict[str, Any]]) -> str:
    lines = [",".join(rows[0])]
    lines += [",".join("" if value is None else str(value) for value in row.values()) for row in rows]
    return "\n".join(lines) + "\n"


def as_arrow(rows: list[dict[str, Any]], is_file: bool) -> bytes:
    table, sink = pa.Table.from_pylist(rows), io.BytesIO()
    with (pa.ipc.new_file if is_file else pa.ipc.new_stream)(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


BODIES: dict[str, Any] = {
    "json": lambda rows: ("application/json", json.dumps({"rows": rows})),
    "csv": lambda rows: ("text/csv; charset=utf-8", as_csv(rows)),
    "stream": lambda rows: ("application/vnd.apache.arrow.stream", as_arrow(rows, is_file=False)),
    "file": lambda rows: ("application/vnd.apache.arrow.file", as_arrow(rows, is_file=True)),
}


def send(client: httpx.Client, path: str, rows: list[dict[str, Any]], kind: str = "json") -> httpx.Response:
    media, content = BODIES[kind](rows)
    return client.post(path, content=content, headers={"Content-Type": media})


def drop(client: httpx.Client, path: str, **which: Any) -> httpx.Response:
    return client.request("DELETE", path, json=which)


def test_models_are_listed_and_described_without_their_seed(client: httpx.Client) -> None:
    listed = client.get("/v1/models").json()["models"]
    assert {(its["name"], its["task"], its["is_ready"]) for its in listed} == {
        ("clinic", "classification", True),
        ("ages", "regression", True),
    }
    told = client.get(CLINIC).json()
    assert told["features"] == ["age", "ward", "pressure"]
    assert {its["name"]: its["kind"] for its in told["columns"]}["ward"] == "text"
    assert told["classes"] == [0, 1]
    assert told["n_trees"] == 5
    assert told["memory"]["total"] > 0
    assert len(told["fingerprint"]) == 64
    assert "random_state" not in told["params"]
    assert "north" not in json.dumps(told)


@pytest.mark.parametrize("kind", BODIES)
def test_predictions_are_those_of_the_library_whatever_the_rows_come_as(
    clinic: Running, client: httpx.Client, kind: str
) -> None:
    view = read_forest(clinic.folders[0])
    answer = send(client, f"{CLINIC}/predictions", PROBES, kind)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["probabilities"] == view.predict_proba(PROBES).tolist()
    assert told["predictions"] == view.predict(PROBES).tolist()
    assert told["classes"] == view.classes_.tolist()


def test_regressions_give_numbers_or_quantiles(clinic: Running, client: httpx.Client) -> None:
    view = read_forest(clinic.folders[1])
    rows = [{"pressure": 100 + n, "ward": "north", "readmitted": n % 2} for n in range(5)]
    assert send(client, f"{AGES}/predictions", rows).json() == {"predictions": view.predict(rows).tolist()}
    told = send(client, f"{AGES}/predictions?quantiles=0.1&quantiles=0.9", rows).json()
    assert told["quantiles"] == [0.1, 0.9]
    assert told["predictions"] == view.predict(rows, quantiles=[0.1, 0.9]).tolist()
    refused = send(client, f"{CLINIC}/predictions?quantiles=0.5", PROBES)
    assert (refused.status_code, kind_of(refused)) == (422, "other-task")
    for wrong in ("2", "nan", "high"):
        assert kind_of(send(client, f"{AGES}/predictions?quantiles={wrong}", rows)) == "invalid-request"
    slip = send(client, f"{AGES}/predictions?quantile=0.5", rows)
    assert (kind_of(slip), "Known: quantiles." in slip.text) == ("invalid-request", True)


@pytest.mark.parametrize("kind", BODIES)
def test_rows_come_and_go_and_each_change_is_in_table_forest_and_receipts(
    clinic: Running, client: httpx.Client, clinic_database: Database, kind: str
) -> None:
    numbers = range(300, 310)
    before = client.get(CLINIC).json()["fingerprint"]
    added = send(client, f"{CLINIC}/rows", [patient(n) for n in numbers], kind)
    assert added.status_code == 200, added.text
    assert added.json()["n_rows"] == 10
    assert clinic_database.rows("SELECT count(*) FROM patients WHERE id >= 300 AND id < 310") == [(10,)]
    is_now = client.get(CLINIC).json()["fingerprint"]
    assert is_now == added.json()["fingerprint"]
    assert is_now == fresh_fingerprint(clinic_database, read_forest(clinic.folders[0]))
    receipt = client.get(f"{CLINIC}/receipts/{added.json()['receipt']}").json()
    assert (receipt["n_added"], receipt["n_deleted"]) == (10, 0)

    cost = client.post(f"{CLINIC}/cost", json={"ids": list(numbers)}).json()
    assert cost["n_rows"] == 10
    assert cost["n_rows_retrained"] > 0
    assert cost["expected_seconds"] > 0
    deleted = drop(client, f"{CLINIC}/rows", ids=list(numbers))
    assert deleted.status_code == 200, deleted.text
    assert deleted.json()["fingerprint"] == client.get(CLINIC).json()["fingerprint"] == before
    assert clinic_database.rows("SELECT count(*) FROM patients WHERE id >= 300 AND id < 310") == [(0,)]


def test_changes_by_others_are_followed(clinic: Running, client: httpx.Client, clinic_database: Database) -> None:
    before = client.get(CLINIC).json()
    clinic_database.run("DELETE FROM patients WHERE id = 30")
    wait_until(lambda: client.get(CLINIC).json()["n_rows"] == before["n_rows"] - 1, "the forest followed the table")
    is_now = client.get(CLINIC).json()["fingerprint"]
    assert is_now == fresh_fingerprint(clinic_database, read_forest(clinic.folders[0]))


def test_cost_of_a_person_is_told_and_nothing_changes(client: httpx.Client) -> None:
    before = client.get(CLINIC).json()["fingerprint"]
    assert client.post(f"{CLINIC}/cost", json={"subject": "u-20"}).json()["n_rows"] == 3
    assert client.post(f"{CLINIC}/cost", json={"subject": "nobody"}).json()["n_rows"] == 0
    assert kind_of(client.post(f"{CLINIC}/cost", json={"ids": [3, 9999]})) == "unknown-rows"
    assert kind_of(client.post(f"{CLINIC}/cost", json={})) == "invalid-rows"
    assert client.get(CLINIC).json()["fingerprint"] == before


def test_taken_and_unknown_ids_change_nothing(client: httpx.Client, clinic_database: Database) -> None:
    before = clinic_database.rows("SELECT * FROM patients")
    taken = send(client, f"{CLINIC}/rows", [patient(400), patient(9)])
    assert (taken.status_code, kind_of(taken)) == (409, "ids-taken")
    unknown = drop(client, f"{CLINIC}/rows", ids=[9, 9999])
    assert (unknown.status_code, kind_of(unknown)) == (404, "unknown-rows")
    assert clinic_database.rows("SELECT * FROM patients") == before


def test_receipts_and_certificates_are_those_of_the_record(client: httpx.Client) -> None:
    assert send(client, f"{CLINIC}/rows", [patient(450)]).status_code == 200
    assert drop(client, f"{CLINIC}/rows", ids=[450]).status_code == 200
    listed = client.get(f"{CLINIC}/receipts?limit=2").json()["receipts"]
    assert [its["number"] for its in listed] == [1, 2]
    assert client.get(f"{CLINIC}/receipts?after=1&limit=1").json()["receipts"] == listed[1:]
    assert client.get(f"{CLINIC}/receipts/2").json() == listed[1]
    page = client.get(f"{CLINIC}/receipts/2/certificate")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert listed[1]["after"] in page.text
    for path in ("receipts/99999", "receipts/99999/certificate"):
        assert kind_of(client.get(f"{CLINIC}/{path}")) == "unknown-receipt"
    assert kind_of(client.get(f"{CLINIC}/receipts/first")) == "invalid-request"


def test_verification_is_followed_by_events(client: httpx.Client) -> None:
    begun = client.post(f"{CLINIC}/verifications")
    assert begun.status_code == 202
    events: list[tuple[str, dict[str, Any]]] = []
    with client.stream("GET", f"{begun.headers['Location']}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line.startswith("event: "):
                events.append((line.removeprefix("event: "), {}))
            elif line.startswith("data: "):
                events[-1][1].update(json.loads(line.removeprefix("data: ")))
    kind, end = events[-1]
    assert (kind, end["state"], end["outcome"]) == ("end", "done", "exact")
    assert (end["step"], end["n_done"], end["n_steps"]) == ("Training", 5, 5)
    assert all(kind == "progress" for kind, _ in events[:-1])
    assert client.get(begun.headers["Location"]).json() == end
    assert client.get(f"{CLINIC}/receipts?limit=1000").json()["receipts"][-1]["kind"] == "verified"
    assert kind_of(client.get(f"{CLINIC}/verifications/none")) == "unknown-verification"


def test_health_and_metrics_are_for_those_who_run_it(clinic: Running, client: httpx.Client) -> None:
    assert httpx.get(f"{clinic.url}/health").json() == {"status": "ok"}
    assert httpx.get(f"{clinic.url}/ready").json() == {"status": "ready"}
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    values = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    assert values['deciduous_ready{model="clinic"}'] == "1"
    assert float(values['deciduous_rows{model="ages"}']) > 0
    assert any(name.startswith("deciduous_request_seconds_bucket") for name in values)


def test_answers_have_headers_for_browsers_and_problems_have_one_shape(client: httpx.Client) -> None:
    for answer in (client.get("/health"), client.get("/nowhere"), client.put(CLINIC)):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "server" not in answer.headers
    assert kind_of(client.get("/nowhere")) == "not-found"
    refused = client.put(CLINIC)
    assert (kind_of(refused), refused.headers["Allow"]) == ("method-not-allowed", "GET")
    assert kind_of(client.get("/v1/models/other")) == "unknown-model"
    assert client.get("/docs").status_code == client.get("/redoc").status_code == 404
