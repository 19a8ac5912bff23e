"""Bodies that are not as they should be: each is refused with a reason, changes nothing, and is in no log."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import httpx
import pyarrow as pa
import pytest
from serving import PROBES, Running, kind_of

from live_tables import Database, patient

CLINIC = "/v1/models/clinic"
SECRET = "Zyxwvutsrq"  # a value that nobody may see again
JSON, CSV, ARROW = "application/json", "text/csv", "application/vnd.apache.arrow.stream"
HEADER = "id,person_id,age,ward,pressure,readmitted\n"


def rows(*changes: dict[str, Any]) -> str:
    return json.dumps({"rows": [patient(501 + n) | change for n, change in enumerate(changes)]})


def stream(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


BAD_ROWS: dict[str, tuple[str, Any, str]] = {
    "no json": (JSON, "{", "unreadable-body"),
    "no unicode": (JSON, b'{"rows": [{"age": "\xff\xfe"}]}', "unreadable-body"),
    "half a character": (JSON, '{"rows": [{"age": "\\ud800"}]}', "unreadable-body"),
    "nothing": (JSON, "", "unreadable-body"),
    "not an object": (JSON, f'["{SECRET}"]', "invalid-request"),
    "no rows": (JSON, '{"rows": []}', "invalid-request"),
    "another entry": (JSON, f'{{"rows": [{{}}], "{SECRET[:0]}more": "{SECRET}"}}', "invalid-request"),
    "nested": (JSON, rows({"age": {"years": SECRET}}), "invalid-request"),
    "lists": (JSON, rows({"age": [SECRET]}), "invalid-request"),
    "infinity": (JSON, '{"rows": [{"age": Infinity}]}', "invalid-request"),
    "giant": (JSON, '{"rows": [{"age": 1e999}]}', "invalid-request"),
    "deep": (JSON, "[" * 5000 + "]" * 5000, "unreadable-body"),
    "text for a number": (JSON, rows({}, {"age": SECRET}), "invalid-rows"),
    "number for text": (JSON, rows({"ward": 5}), "invalid-rows"),
    "too large for the forest": (JSON, rows({"age": 1e300}), "invalid-rows"),
    "integer beyond all": (JSON, rows({"pressure": 10**400}), "invalid-rows"),
    "integer beyond the database": (JSON, rows({"pressure": 2**70}), "invalid-rows"),
    "fraction as a label": (JSON, rows({"readmitted": 0.5}), "invalid-rows"),
    "text as an id": (JSON, rows({"id": SECRET}), "invalid-rows"),
    "number as a person": (JSON, rows({"person_id": 5}), "invalid-rows"),
    "column missing": (JSON, json.dumps({"rows": [{"id": 501}]}), "invalid-rows"),
    "column unknown": (JSON, rows({"weight": SECRET}), "invalid-rows"),
    "id twice": (JSON, rows({}, {"id": 501}), "invalid-rows"),
    "csv of nothing": (CSV, "", "invalid-rows"),
    "csv of a header": (CSV, HEADER, "invalid-rows"),
    "csv without a header": (CSV, f"501,{SECRET},4,north,5,1\n502,{SECRET},4,north,5,1\n", "invalid-rows"),
    "csv with a column twice": (CSV, f"{SECRET},{SECRET}\n1,2\n", "invalid-rows"),
    "csv with text for numbers": (CSV, f"{HEADER}501,u,{SECRET},north,5,1\n", "invalid-rows"),
    "csv with an open quote": (CSV, f'{HEADER}501,u,"{SECRET},north,5,1\n', "invalid-rows"),
    "csv with too few values": (CSV, f"{HEADER}501,{SECRET}\n", "unreadable-body"),
    "csv in another encoding": (CSV, HEADER.encode() + b"501,\xff\xfe\xfd,4,north,5,1\n", "invalid-rows"),
    "csv compressed": (CSV, gzip.compress(HEADER.encode()), "unreadable-body"),
    "no arrow": (ARROW, SECRET, "unreadable-body"),
    "half of arrow": (ARROW, stream(pa.table({"age": [SECRET] * 99}))[:300], "unreadable-body"),
    "arrow with text for numbers": (
        ARROW,
        stream(
            pa.table(dict(patient(501), age=SECRET) and {k: [v] for k, v in dict(patient(501), age=SECRET).items()})
        ),
        "invalid-rows",
    ),
    "arrow with lists": (ARROW, stream(pa.table({k: [[v]] for k, v in patient(501).items()})), "invalid-rows"),
    "another type": ("application/xml", f"<{SECRET}/>", "unsupported-media-type"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_rows_that_cannot_be_taken_are_refused_and_leave_no_trace(
    clinic: Running, client: httpx.Client, clinic_database: Database, name: str
) -> None:
    media, content, kind = BAD_ROWS[name]
    before = clinic_database.rows("SELECT * FROM patients ORDER BY id")
    answer = client.post(f"{CLINIC}/rows", content=content, headers={"Content-Type": media})
    assert kind_of(answer) == kind, answer.text
    assert SECRET not in answer.text
    assert SECRET not in clinic.log
    assert clinic_database.rows("SELECT * FROM patients ORDER BY id") == before


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in BAD_ROWS
        if name not in ("fraction as a label", "text as an id", "number as a person")
        and name not in ("integer beyond the database", "column unknown", "id twice")
    ],
)  # which are not of columns that predictions read
def test_rows_that_cannot_be_predicted_are_refused(clinic: Running, client: httpx.Client, name: str) -> None:
    media, content, kind = BAD_ROWS[name]
    answer = client.post(f"{CLINIC}/predictions", content=content, headers={"Content-Type": media})
    assert kind_of(answer) in (kind, "invalid-rows"), answer.text
    assert SECRET not in answer.text + clinic.log


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"ids": []}, "invalid-request"),
        ({"ids": [SECRET]}, "invalid-rows"),
        ({"ids": [None]}, "invalid-request"),
        ({"ids": [True]}, "invalid-request"),
        ({"ids": [2**80]}, "invalid-rows"),
        ({"ids": [5, 5]}, "invalid-rows"),
        ({"rows": [5]}, "invalid-request"),
    ],
)
def test_ids_that_are_none_are_refused(clinic: Running, client: httpx.Client, body: Any, kind: str) -> None:
    for method, path in (("DELETE", "rows"), ("POST", "cost")):
        answer = client.request(method, f"{CLINIC}/{path}", json=body)
        assert kind_of(answer) == kind, answer.text
        assert SECRET not in answer.text + clinic.log


def test_what_is_asked_for_is_in_no_log(clinic: Running, client: httpx.Client) -> None:
    client.get(f"/v1/{SECRET}", params={"q": SECRET}, headers={"User-Agent": SECRET, "X-More": SECRET})
    client.get(f"/v1/models/{SECRET}")
    client.get(f"{CLINIC}/receipts/{SECRET}")
    client.request(SECRET.upper(), CLINIC)
    client.post(f"{CLINIC}/predictions", json={"rows": [row | {"ward": SECRET} for row in PROBES]})
    assert client.get("/v1/models").status_code == 200
    assert SECRET.lower() not in clinic.log.lower()
    assert clinic.key is not None
    assert clinic.key not in clinic.log


def test_row_without_a_column_is_refused_wherever_it_is(client: httpx.Client) -> None:
    rows = [PROBES[0], {name: value for name, value in PROBES[1].items() if name != "ward"}]
    answer = client.post(f"{CLINIC}/predictions", json={"rows": rows})
    assert (kind_of(answer), "'ward'" in answer.text) == ("invalid-rows", True)


def test_compressed_bodies_are_refused(client: httpx.Client) -> None:
    content = gzip.compress(json.dumps({"rows": PROBES}).encode())
    headers = {"Content-Type": JSON, "Content-Encoding": "gzip"}
    answer = client.post(f"{CLINIC}/predictions", content=content, headers=headers)
    assert kind_of(answer) == "unsupported-media-type"
