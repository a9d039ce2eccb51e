"""The payment service itself: once per key, whatever goes wrong around it."""

import importlib.util
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import httpx
import pytest

SOURCE = Path(__file__).parents[1] / "services" / "payment_service.py"
ORDER = {"order": "A-1", "amount": 12.5, "idempotency_key": "k1"}


def load_service() -> ModuleType:
    """Return the module; tests are no package, so it is loaded by path."""
    spec = importlib.util.spec_from_file_location("payment_service", SOURCE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


service_module = load_service()
Faults = service_module.Faults


@pytest.fixture
def start(tmp_path):
    """Start services that are stopped at the end."""
    running = []

    def begin(seed=0, **faults):
        one = service_module.start_payment_service(tmp_path, seed, Faults(**faults))
        running.append(one)
        return one

    yield begin
    for one in running:
        one.stop()


def pay(service, body=ORDER, timeout_s=5.0):
    return httpx.post(f"{service.base_url}/pay", json=body, timeout=timeout_s)


def test_same_key_moves_money_once(start):
    """A repeated request under one key is answered from memory."""
    service = start()
    first, second = pay(service).json(), pay(service).json()
    assert (first["id"], False, True) == (
        second["id"],
        first["replayed"],
        second["replayed"],
    )
    assert service.moved()["payments"] == {"A-1": 1}


def test_without_a_key_every_request_moves_money(start):
    """Blind repetition costs twice: the service does not protect a careless caller."""
    service = start()
    for _ in range(2):
        pay(service, {"order": "A-1", "amount": 3})
    moved = service.moved()
    assert (moved["payments"], moved["net"]) == ({"A-1": 2}, 6.0)


def test_key_with_other_parameters_is_refused_in_stripes_words(start):
    """A key stands for one request only."""
    service = start()
    pay(service)
    answer = pay(service, {**ORDER, "amount": 99})
    assert answer.status_code == 400
    assert "can only be used with the same parameters" in answer.text
    assert "Try using a key other than 'k1'" in answer.text
    assert service.moved()["net"] == 12.5


def test_racing_requests_of_one_key_move_money_once(start):
    """Sixteen requests at once under one key are one payment."""
    service = start()
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: pay(service).json(), range(16)))
    assert len({each["id"] for each in answers}) == 1
    assert service.moved()["payments"] == {"A-1": 1}


@pytest.mark.parametrize(
    ("fault", "status", "payments"),
    [
        ("rate_limited", 429, {}),
        ("unavailable", 503, {}),
        ("error_after", 500, {"A-1": 1}),
    ],
)
def test_fault_with_an_answer(start, fault, status, payments):
    """The status says failure; only the table says whether it happened."""
    service = start(at={1: fault}, retry_after="7")
    answer = pay(service)
    assert (status, payments) == (answer.status_code, service.moved()["payments"])
    assert (answer.headers.get("Retry-After") == "7") is (status == 429)
    assert pay(service).status_code == 200
    assert service.moved()["payments"] == {"A-1": 1}


@pytest.mark.parametrize(
    ("fault", "error", "payments"),
    [
        ("drop_before", httpx.RemoteProtocolError, {}),
        ("drop_after", httpx.RemoteProtocolError, {"A-1": 1}),
        ("hang_before", httpx.ReadTimeout, {}),
        ("hang_after", httpx.ReadTimeout, {"A-1": 1}),
    ],
)
def test_fault_without_an_answer(start, fault, error, payments):
    """A lost answer looks the same whether or not the money moved."""
    service = start(at={1: fault})
    with pytest.raises(error):
        pay(service, timeout_s=0.3)
    assert payments == service.moved()["payments"]
    assert pay(service).json()["replayed"] is bool(payments)
    assert service.moved()["payments"] == {"A-1": 1}


def test_processing_becomes_final_after_the_polls(start):
    """Accepted is not done: the status tells when it is."""
    service = start(at={1: "processing"}, polls=2)
    seen = [pay(service).json()["status"]]
    seen += [
        httpx.get(f"{service.base_url}/pay/A-1").json()["status"] for _ in range(3)
    ]
    assert seen == ["processing", "processing", "processing", "succeeded"]


def test_refund_happens_once(start):
    """The same refund is answered again, another one of the same order refused."""
    service = start()
    pay(service)
    url = f"{service.base_url}/refund"
    body = {"order": "A-1", "idempotency_key": "r1"}
    first, again = httpx.post(url, json=body), httpx.post(url, json=body)
    other = httpx.post(url, json={"order": "A-1", "idempotency_key": "r2"})
    assert (first.json(), 409) == (again.json(), other.status_code)
    moved = httpx.get(f"{service.base_url}/ledger").json()
    assert (moved["refunds"], moved["net"]) == ({"A-1": 1}, 0.0)


def test_unknown_order_and_bad_amount_are_told(start):
    """Bad requests have their own statuses and move nothing."""
    service = start()
    assert httpx.get(f"{service.base_url}/pay/none").status_code == 404
    assert pay(service, {"order": "A-1", "amount": -1}).status_code == 400
    assert pay(service, {"amount": 1}).status_code == 400
    assert service.moved()["payments"] == {}


def test_seed_repeats_the_faults(tmp_path):
    """The same seed gives the same faults, another seed others."""
    rates = {"unavailable": 0.3, "rate_limited": 0.3}
    faults = Faults(rates=rates)
    seen = [
        [faults.pick("POST", number, seed) for number in range(30)]
        for seed in (1, 1, 2)
    ]
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]
    assert {"unavailable", "rate_limited", ""} == set(seen[0])


def test_money_survives_the_services_own_death(start):
    """A killed service comes back knowing its keys."""
    first = start()
    paid = pay(first).json()
    first.stop()
    second = start()
    assert (paid["id"], True) == (
        pay(second).json()["id"],
        pay(second).json()["replayed"],
    )
    assert second.moved()["payments"] == {"A-1": 1}
