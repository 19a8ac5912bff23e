"""Who may do what: keys and their scopes, and services that start only where that is safe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from serving import PROBES, Running, asked, kind_of, make_clinic, make_key, running, served_here

from cli_runs import run
from deciduous.errors import InvalidInputError
from deciduous.service.keys import Keys, Scope, scopes_of
from deciduous.service.limits import RateLimit
from deciduous.service.server import is_loopback
from live_tables import patient

CLINIC = "/v1/models/clinic"
ANY = frozenset(Scope) - {Scope.admin}
# Operations that change nothing if they are let in, with the scopes that open them beside `admin`.
OPERATIONS: list[tuple[str, str, dict[str, Any], frozenset[Scope]]] = [
    ("GET", "/v1/models", {}, ANY),
    ("GET", CLINIC, {}, ANY),
    ("GET", "/metrics", {}, ANY),
    ("POST", f"{CLINIC}/predictions", {"json": {"rows": PROBES[:1]}}, frozenset({Scope.predict})),
    ("POST", f"{CLINIC}/rows", {"json": {"rows": [patient(1)]}}, frozenset({Scope.write})),
    ("DELETE", f"{CLINIC}/rows", {"json": {"ids": [9999]}}, frozenset({Scope.erase})),
    ("POST", f"{CLINIC}/cost", {"json": {"ids": [1]}}, frozenset({Scope.erase})),
    ("POST", "/v1/models/ages/verifications", {}, frozenset({Scope.approve})),
    ("GET", f"{CLINIC}/verifications/none", {}, frozenset({Scope.approve})),
    ("GET", f"{CLINIC}/verifications/none/events", {}, frozenset({Scope.approve})),
    ("GET", f"{CLINIC}/receipts", {}, frozenset({Scope.erase, Scope.approve})),
    ("GET", f"{CLINIC}/receipts/1", {}, frozenset({Scope.erase, Scope.approve})),
    ("GET", f"{CLINIC}/receipts/1/certificate", {}, frozenset({Scope.erase, Scope.approve})),
]


@pytest.fixture(scope="session")
def keys_of_scopes(clinic: Running) -> dict[Scope, str]:
    return {scope: make_key(clinic.folders[0], scope) for scope in Scope}


@pytest.mark.parametrize(
    ("method", "path", "request_", "scopes"), OPERATIONS, ids=[f"{method} {path}" for method, path, *_ in OPERATIONS]
)
def test_each_operation_is_open_to_its_scopes_and_to_no_others(
    clinic: Running,
    keys_of_scopes: dict[Scope, str],
    method: str,
    path: str,
    request_: dict[str, Any],
    scopes: frozenset[Scope],
) -> None:
    for scope, key in keys_of_scopes.items():
        with clinic.client(key) as client:
            answer = client.request(method, path, **request_)
        if scope in scopes or scope is Scope.admin:
            assert answer.status_code not in (401, 403), answer.text
        else:
            assert kind_of(answer) == "forbidden"
    refused = httpx.request(method, f"{clinic.url}{path}", **request_)
    assert kind_of(refused) == "unauthenticated"
    assert refused.headers["WWW-Authenticate"] == "Bearer"


def test_all_operations_of_the_description_are_in_the_matrix(clinic: Running) -> None:
    paths = httpx.get(f"{clinic.url}/openapi.json").json()["paths"]
    open_to_all = {("GET", "/health"), ("GET", "/ready")}
    described = {(method.upper(), path) for path, its in paths.items() for method in its} - open_to_all
    tested = {
        (method, path.replace("/none", "/{id}").replace("receipts/1", "receipts/{number}"))
        for method, path, *_ in OPERATIONS
    }
    assert described == {
        (method, path.replace("/clinic", "/{name}").replace("/ages", "/{name}")) for method, path in tested
    }


def test_key_that_is_revoked_opens_nothing_at_once(clinic: Running) -> None:
    folder = clinic.folders[0]
    key = make_key(folder, "predict")
    with clinic.client(key) as client:
        assert client.get("/v1/models").status_code == 200
        with Keys.of(folder) as keys:
            keys.revoke(key.split("_")[1])
        assert kind_of(client.get("/v1/models")) == "unauthenticated"


@pytest.mark.parametrize(
    "spoil", [lambda key: key[:-1] + ("A" if key[-1] != "A" else "B"), lambda _: "dcd_x", lambda _: "ü" * 9]
)
def test_keys_that_are_not_right_open_nothing(clinic: Running, spoil: Any) -> None:
    header = f"Bearer {spoil(clinic.key)}".encode()
    answer = httpx.get(f"{clinic.url}/v1/models", headers={b"Authorization": header})
    assert kind_of(answer) == "unauthenticated"
    assert (
        kind_of(httpx.get(f"{clinic.url}/v1/models", headers={"Authorization": f"Basic {clinic.key}"}))
        == "unauthenticated"
    )


def test_keys_are_made_listed_and_revoked_by_command(tmp_path: Path) -> None:
    _, folder = make_clinic(tmp_path)
    made = json.loads(run("keys", "create", folder, "--scope", "predict", "--scope", "write", "--json").stdout)
    assert made["scopes"] == ["predict", "write"]
    path = folder / "service.db"
    assert path.stat().st_mode & 0o777 == 0o600
    assert made["key"].rpartition("_")[2].encode() not in path.read_bytes()
    (listed,) = json.loads(run("keys", "list", folder, "--json").stdout)["keys"]
    assert listed == {name: value for name, value in made.items() if name != "key"}
    assert json.loads(run("keys", "revoke", folder, made["id"], "--json").stdout)["revoked"]
    ended = run("serve", folder)
    assert (ended.exit_code, "There is no key" in ended.stderr) == (3, True)


def test_services_without_keys_are_for_this_machine_alone(tmp_path: Path) -> None:
    _, folder = make_clinic(tmp_path)
    ended = run("serve", folder, "--insecure-local", "--host", "0.0.0.0")
    assert (ended.exit_code, "this machine alone" in ended.stderr) == (3, True)
    with running(folder, options=("--insecure-local",), scopes=()) as service:
        url = f"{service.url}{CLINIC}"
        assert httpx.get(url).status_code == 200
        assert kind_of(httpx.get(url, headers={"Host": "evil.example"})) == "cross-origin"
        assert kind_of(httpx.get(url, headers={"Origin": "null"})) == "cross-origin"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_is_told(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "localhost.example", ""])
def test_addresses_that_others_see_are_told(host: str) -> None:
    assert not is_loopback(host)


def test_file_of_keys_is_no_link_and_of_this_release(tmp_path: Path) -> None:
    with Keys(tmp_path / "keys.db") as keys:
        keys.create([Scope.predict])
        keys._database.execute("PRAGMA user_version = 99")
    with pytest.raises(InvalidInputError, match="has version 99"):
        Keys(tmp_path / "keys.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "keys.db")
    with pytest.raises(ValueError, match="symbolic link"):
        Keys(tmp_path / "link.db")


def test_scopes_and_ids_that_there_are_not_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="predict, write, erase, approve, admin"):
        scopes_of(["everything"])
    with Keys(tmp_path / "keys.db") as keys:
        with pytest.raises(InvalidInputError, match="what the key opens"):
            keys.create([])
        with pytest.raises(InvalidInputError, match="no key with this id"):
            keys.revoke("none")


def test_rates_are_kept_by_name() -> None:
    now = [0.0]
    limit = RateLimit(2, 3, lambda: now[0])
    assert [limit.take("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert limit.take("b") == 0
    now[0] = 0.5
    assert limit.take("a") == 0
    assert limit.take("a") == 0.5
    for n in range(20_000):
        limit.take(str(n))
    assert len(limit._buckets) == 10_000


def test_those_who_ask_too_often_have_to_wait(tmp_path: Path) -> None:
    _, folder = make_clinic(tmp_path)
    with served_here(folder, rate=0.5, burst=2) as (_, app):
        answers = [asked(app, "GET", CLINIC) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert kind_of(answers[-1]) == "too-many-requests"
        assert answers[-1].headers["Retry-After"] == "2"
