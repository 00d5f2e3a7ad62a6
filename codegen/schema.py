"""The shape of a spec file, checked against its JSON Schema before anything reads it."""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from .errors import YamlPath
from .source import Source, load_yaml

_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "empty",
}


def _is_integer(_checker: object, value: object) -> bool:
    """JSON Schema counts 4.0 as an integer; a description does not."""
    return isinstance(value, int) and not isinstance(value, bool)


_Strict: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


@cache
def _validator(path: Path) -> Validator:
    schema = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    made: Validator = _Strict(schema)
    return made


def load_checked(path: Path, root: Path, schema: Path) -> Source:
    """Parse a YAML file and hold it against its schema file; names in errors as `load_yaml`'s."""
    source = load_yaml(path, root)
    check_schema(source, schema)
    return source


def check_schema(source: Source, schema: Path) -> None:
    """Raise SpecError at the first place where ``source`` breaks the schema file."""
    error = best_match(_validator(schema.resolve()).iter_errors(source.data))
    if error is not None:
        source.fail(_path(error), _message(error))


def _path(error: ValidationError) -> YamlPath:
    """Where the fault is; an unknown or ill-formed key counts as a place of its own."""
    path = tuple(error.absolute_path)
    if error.validator == "additionalProperties":
        return (*path, _stray(error))
    if "propertyNames" in error.absolute_schema_path:
        return (*path, str(error.instance))
    return path


def _message(error: ValidationError) -> str:
    value: Any = error.instance
    limit: Any = error.validator_value
    match error.validator:
        case "additionalProperties":
            known = _known(error)
            close = get_close_matches(_stray(error), known, 1)
            return "unknown key; " + (
                f"did you mean {close[0]}?" if close else f"known here: {', '.join(known)}"
            )
        case "required":
            return f"missing key: {', '.join(key for key in limit if key not in value)}"
        case "dependentRequired":
            given = next(key for key in limit if key in value and set(limit[key]) - set(value))
            return f"{given} needs {', '.join(key for key in limit[given] if key not in value)}"
        case "type":
            kinds = limit if isinstance(limit, list) else [limit]
            return f"{_short(value)} is not {' or '.join(_WORDS[kind] for kind in kinds)}"
        case "enum":
            return f"{_short(value)} is not one of {', '.join(map(str, limit))}"
        case "pattern":
            return f"{_short(value)} is not {_form(error)}"
        case "minimum":
            return f"{value} is too small; at least {limit}"
        case "maximum":
            return f"{value} is too large; at most {limit}"
        case "minItems" | "minProperties":
            return f"{len(value)} entries; at least {limit}"
        case "maxItems" | "maxProperties":
            return f"{len(value)} entries; at most {limit}"
        case _:
            return f"{_short(value)} breaks the schema's {error.validator} rule"


def _form(error: ValidationError) -> str:
    """What a pattern stands for: the schema's own words, else the pattern."""
    schema: Any = error.schema
    return str(schema.get("title") or f"of the form {error.validator_value}")


def _stray(error: ValidationError) -> str:
    value: Any = error.instance
    strays: set[str] = set(value) - set(_known(error))
    return min(strays)


def _known(error: ValidationError) -> list[str]:
    schema: Any = error.schema
    return list(schema.get("properties", {}))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
