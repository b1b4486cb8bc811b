"""Schemathesis against the HTTP server: whatever is sent is answered as the document says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings

from simharness.adapters.http import app_for
from tests.adapters.family import framework
from tests.adapters.players import CRM, serve
from tests.adapters.served import Client, served
from tests.effort import times

if TYPE_CHECKING:
    from pathlib import Path

schemathesis: Any = framework("schemathesis")
checks: Any = framework("schemathesis.specs.openapi.checks")

CHECKS = (
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
)
SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)


def test_the_document_is_kept_to_whatever_is_sent(tmp_path: Path) -> None:
    failures: list[Any] = []
    seen: set[int] = set()
    sessions = serve(tmp_path / "run")
    app = app_for(sessions, lambda event, fields: failures.append((event, fields)))
    with served(sessions, app) as url:
        client = Client(url)
        good = {"scenario": CRM, "seed": 1}
        _, begun = client.ask("POST", "/v1/sessions", good)
        _, watched = client.ask("POST", "/v1/sessions", good)
        before = client.ask("GET", f"/v1/sessions/{watched['session_id']}")
        document = client.ask("GET", "/openapi.json")[1]
        schema = schemathesis.openapi.from_dict(document)
        operations = [found.ok() for found in schema.get_all_operations()]
        assert len(operations) == 8
        for operation in operations:
            if operation.label.startswith("DELETE"):
                continue

            @settings(max_examples=times(15), suppress_health_check=SLOW)
            @given(operation.as_strategy())
            def send(case: Any) -> None:
                if case.path_parameters:
                    case.path_parameters["session_id"] = begun["session_id"]
                response = case.call(base_url=url)
                seen.add(response.status_code)
                case.validate_response(response, checks=CHECKS)
                if response.status_code == 201:
                    client.ask("DELETE", f"/v1/sessions/{response.json()['session_id']}")
                elif response.status_code == 409:
                    client.ask("POST", f"/v1/sessions/{begun['session_id']}/reset", good)

            send()
        assert client.ask("GET", f"/v1/sessions/{watched['session_id']}") == before
        client.close()
    assert failures == []
    assert seen >= {200, 201, 422}
