"""The shape of a spec file, checked against its JSON Schema before anything reads it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from .source import Source


@cache
def _validator(path: Path) -> Draft202012Validator:
    schema = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def check_schema(source: Source, schema: Path) -> None:
    """Raise SpecError at the first place where ``source`` breaks the schema file."""
    error = best_match(_validator(schema).iter_errors(source.data))
    if error is None:
        return
    path = tuple(error.absolute_path)
    if error.validator == "additionalProperties":
        path = (*path, min(set(error.instance) - set(_known(error))))
    source.fail(path, _message(error))


def _message(error: ValidationError) -> str:
    value: Any = error.instance
    limit: Any = error.validator_value
    match error.validator:
        case "additionalProperties":
            return f"unknown key; known here: {', '.join(_known(error))}"
        case "required":
            missing = [key for key in _as_list(limit) if key not in value]
            return f"missing key: {', '.join(missing)}"
        case "type":
            return f"{_short(value)} is not of type {' or '.join(_as_list(limit))}"
        case "enum":
            return f"{_short(value)} is not one of {', '.join(map(str, _as_list(limit)))}"
        case "pattern" | "propertyNames":
            return f"{_short(value)} does not have the form {limit}"
        case "minimum" | "maximum":
            return f"{_short(value)} is beyond the {error.validator} {limit}"
        case _:
            return f"{_short(value)} breaks the schema's {error.validator} rule"


def _known(error: ValidationError) -> list[str]:
    schema: Any = error.schema
    return list(schema.get("properties", {}))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
