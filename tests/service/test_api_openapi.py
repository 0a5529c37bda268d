"""The OpenAPI document: what it says, and that the server keeps to it."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from api_calls import MIXED, TWO, serving
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import photinus as ph
from photinus.local import LocalBackend
from photinus.problem import Problem
from photinus.service import Settings, create_app
from photinus.service.auth import make_token


def the_server_did_not_fail(context: Any, response: Any, case: Any) -> None:
    """501 is no failure: it says that a sensible wish is not supported yet."""
    assert response.status_code < 500 or response.status_code == 501, response.text


CHECKS = [
    the_server_did_not_fail,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_app(Settings(storage="memory")).openapi()


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, operation)
        for path, verbs in document["paths"].items()
        for method, operation in verbs.items()
    ]


def test_every_field_and_every_choice_says_what_it_means(document: dict[str, Any]):
    for name, schema in document["components"]["schemas"].items():
        assert schema.get("description"), name
        for field, meaning in schema.get("properties", {}).items():
            assert meaning.get("description"), f"{name}.{field}"
    for method, path, operation in operations(document):
        assert operation.get("description"), f"{method} {path}"
        for choice in operation.get("parameters", []):
            assert choice.get("description"), f"{method} {path} {choice['name']}"


def test_every_address_says_how_it_fails_and_in_which_form(document: dict[str, Any]):
    for method, path, operation in operations(document):
        if path == "/healthz":
            continue
        for status, answer in operation["responses"].items():
            if int(status) >= 400:
                schema = answer["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/ErrorBody"}, f"{method} {path} {status}"
        assert {"422", "429", "500", "503"} <= set(operation["responses"]), f"{method} {path}"


def test_addresses_of_the_api_need_a_token_and_others_do_not(document: dict[str, Any]):
    for _, path, operation in operations(document):
        is_guarded = path.startswith("/api/") or path == "/metrics"
        assert (operation.get("security", []) != []) == is_guarded, path


def test_operations_have_names_to_make_clients_from(document: dict[str, Any]):
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(names)) == len(names) and {"create_study", "ask", "tell_trial"} <= set(names)


def test_no_page_of_the_document_loads_anything_from_elsewhere():
    with serving() as api:
        for path in ("/docs", "/redoc", "/docs/oauth2-redirect"):
            assert api.client.get(path).status_code == 404
        assert api.client.get("/openapi.json").json()["info"]["title"] == "Photinus"


PLACES = {"study_id": 1, "number": 0, "kind": "history"}  # that exist
FUZZED = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def served() -> tuple[Any, str]:
    """A server's document, loaded from the running application, and a token that may do everything."""
    app = create_app(Settings(storage="memory", max_trials_per_request=20, max_points=20))
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    storage = app.state.server.storage
    record, token = make_token("admin", "admin")
    storage.add_token(record)
    for problem in (MIXED, TWO):
        study = ph.Study.create(LocalBackend(storage), Problem.from_dict(problem), algorithm="random")
        for trial in study.ask(3)[:2]:
            study.tell(trial, dict.fromkeys(study.problem.metric_names, 1.0))
    return schema, token


def fuzz(served: tuple[Any, str], max_examples: int, only: Callable[[Any], bool]) -> int:
    """Send what the document allows, and what it does not; how many requests there were."""
    schema, token = served
    num_requests = 0

    def run(case: Any) -> None:
        nonlocal num_requests
        num_requests += 1
        headers = {"Authorization": f"Bearer {token}"}
        case.call_and_validate(checks=CHECKS, headers=headers, timeout=600)

    for result in schema.get_all_operations():
        operation = result.ok()
        if not only(operation):
            continue
        places = {name: value for name, value in PLACES.items() if f"{{{name}}}" in operation.path}
        fixed = {"path_parameters": places} if places and operation.method != "delete" else {}
        for mode, choice in (("POSITIVE", fixed), ("NEGATIVE", fixed), ("NEGATIVE", {})):
            strategy = operation.as_strategy(generation_mode=schemathesis.GenerationMode[mode], **choice)
            with contextlib.suppress(Unsatisfiable):  # where every request is right
                settings(FUZZED, max_examples=max_examples)(given(case=strategy)(run))()
    return num_requests


def is_quick(operation: Any) -> bool:
    return operation.path.endswith(("/ask", "/tell", "/studies", "/trials"))


def test_no_request_by_the_document_breaks_the_server(served: tuple[Any, str]):
    assert fuzz(served, 4, is_quick) > 50


@pytest.mark.long
def test_no_request_at_all_breaks_the_server(served: tuple[Any, str]):
    assert fuzz(served, 15, lambda operation: True) > 500
