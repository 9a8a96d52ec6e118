"""Routes answer the models that the client reads back: one for each thing, built where it is looked up."""

from __future__ import annotations

from fastapi.routing import APIRoute

from api.app import RESOURCES
from graphveil.models.base import Answer

STORED = {"api.schemas.reports"}
"""The shape of a document that is served as it was stored with its release."""
REFUSALS = "api.schemas.problems"


def test_what_routes_answer_are_models_that_the_client_has() -> None:
    routes = [route for module in RESOURCES for route in module.router.routes if isinstance(route, APIRoute)]
    answered = {
        model
        for route in routes
        for model in (route.response_model, *(told.get("model") for told in route.responses.values()))
        if model is not None and model.__module__ != REFUSALS
    }
    assert len(answered) > 30
    for model in answered:
        if model.__module__ not in STORED:
            assert issubclass(model, Answer), model
            assert model.__module__.startswith("graphveil.models."), model


def test_a_read_model_is_built_and_never_copied_from_a_likeness() -> None:
    pending: list[type[Answer]] = [Answer]
    while pending:
        model = pending.pop()
        assert not model.model_config.get("from_attributes"), model
        assert model.model_config.get("frozen"), model
        pending += model.__subclasses__()
