"""What must hold of the recipes: every name exists, every rule can be reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from ..source import Source
from ..spec import Spec
from .model import Conditions, Recipes, Rule, Section

Path = tuple[str | int, ...]


def check_recipes(
    recipes: Recipes, spec: Spec, file_types: Source, rules: Source, tensors: Source
) -> None:
    """Raise SpecError at the first fault."""
    _check_file_types(recipes, spec, file_types)
    _check_guess(recipes, spec, file_types)
    _check_tensors(recipes, spec, tensors)
    _check_sections(recipes, spec, rules)
    _check_fallback(recipes, spec, rules)


def _check_file_types(recipes: Recipes, spec: Spec, source: Source) -> None:
    taken: dict[int | str, str] = {}
    for kind in recipes.file_types:
        path = ("file_types", kind.name)
        if (kind.status == "copy") == (kind.id is not None):
            source.fail(path, "every file type but a copy has an id")
        if (kind.status == "offered") != bool(kind.type):
            source.fail(path, "a file type that is offered, and no other, has a type")
        if kind.type:
            _check_type(kind.type, spec, source, (*path, "type"))
        for name in (kind.id, kind.name, kind.alias):
            if name in taken and name not in ("", None):
                source.fail(path, f"{taken[name]} has {name} already")
            if name is not None:
                taken[name] = kind.name
    ids = [kind.id for kind in recipes.file_types if kind.id is not None]
    if missing := sorted(set(range(max(ids))) - set(ids)):
        source.fail(("file_types",), f"id {missing[0]} is missing (a retired one stays listed)")


def _check_guess(recipes: Recipes, spec: Spec, source: Source) -> None:
    known = {kind.name for kind in recipes.file_types}
    guesses: dict[Path, str] = {("otherwise",): recipes.guess.otherwise}
    for type_, file_type in recipes.guess.types.items():
        _check_type(type_, spec, source, ("guess", "types", type_))
        guesses["types", type_] = file_type
    for path, file_type in guesses.items():
        if file_type not in known:
            source.fail(("guess", *path), f"no file type is called {file_type}")


def _check_tensors(recipes: Recipes, spec: Spec, source: Source) -> None:
    facts = {fact.name for fact in recipes.facts}
    for fact in recipes.facts:
        if fact.key not in spec.keys:
            source.fail(("facts", fact.name, "key"), f"{fact.key} is no key of spec/metadata")
        if fact.default and fact.default not in facts:
            source.fail(("facts", fact.name, "default"), f"no fact is called {fact.default}")
    for number, entry in enumerate(recipes.layers):
        if entry.times and entry.times not in spec.keys:
            source.fail(("layers", number, "times"), f"{entry.times} is no key of spec/metadata")
    for option in recipes.options:
        if option.role not in _roles(recipes):
            source.fail(("options", option.name, "role"), f"no role is called {option.role}")
    _check_order([rule.when for rule in recipes.keep], source, ("keep",))


def _check_sections(recipes: Recipes, spec: Spec, source: Source) -> None:
    seen: list[Conditions] = []
    options = {option.name for option in recipes.options}
    for section in recipes.sections:
        path: Path = ("sections", section.name)
        for when in section.when:
            _check_names(when, recipes, spec, source, (*path, "when"))
        if all(any(_covers(old, when) for old in seen) for when in section.when):
            source.fail((*path, "when"), "never reached: earlier sections take all its tensors")
        seen += section.when
        if section.option and section.option not in options:
            source.fail((*path, "option"), f"no option is called {section.option}")
        for part, rules in (("rules", section.rules), ("then", section.then)):
            _check_order([rule.when for rule in rules], source, (*path, part))
            for number, rule in enumerate(rules):
                _check_rule(rule, section, recipes, spec, source, (*path, part, number))


def _check_rule(
    rule: Rule, section: Section, recipes: Recipes, spec: Spec, source: Source, path: Path
) -> None:
    _check_type(rule.type, spec, source, (*path, "type"))
    _check_names(rule.when, recipes, spec, source, path)
    conditions = dict(rule.when)
    roles = conditions.get("role") or _section_roles(section)
    counted = {role.name: role.n for role in recipes.roles}
    if "position" in conditions and not (roles and all(counted[role] for role in roles)):
        source.fail((*path, "position"), "only a role with `n` has positions")
    if section.by_layer and any(counted[role] != "layers" for role in roles):
        source.fail(path, "`by_layer` is for roles counted among the layers")


def _section_roles(section: Section) -> tuple[str, ...]:
    return tuple(chain.from_iterable(dict(when).get("role", ()) for when in section.when))


def _check_names(
    when: Conditions, recipes: Recipes, spec: Spec, source: Source, path: Path
) -> None:
    offered = {kind.name for kind in recipes.file_types if kind.type}
    for name, argument in when:
        here = (*path, name)
        if name == "chosen":
            for type_ in argument:
                _check_type(type_, spec, source, here)
        known = {"file_type": offered, "role": _roles(recipes)}.get(name)
        if known is not None and (wrong := [one for one in argument if one not in known]):
            what = name.replace("_", " ")
            source.fail(here, f"no {what} is called {wrong[0]}; known: {', '.join(sorted(known))}")


def _check_fallback(recipes: Recipes, spec: Spec, source: Source) -> None:
    fallback = recipes.fallback
    targets = fallback.types
    for name, target in targets.items():
        path = ("fallback", "types", name)
        for type_ in (name, target):
            _check_type(type_, spec, source, path)
        if spec.type(target).elements >= spec.type(name).elements:
            source.fail(path, f"{target} has no smaller blocks than {name}")
    _check_type(fallback.last_resort, spec, source, ("fallback", "last_resort"))
    if spec.type(fallback.last_resort).elements != 1:
        source.fail(("fallback", "last_resort"), "the last resort must fit any row")
    for kind in spec.types:
        decided = kind.name in targets or kind.name in fallback.none
        large = kind.status == "live" and kind.elements > fallback.small_block
        if large and not decided:
            source.fail(("fallback", "types"), f"nothing is said about {kind.name}")
    for number, role in enumerate(recipes.exempt):
        if role not in _roles(recipes):
            source.fail(("imatrix", "exempt", number), f"no role is called {role}")
    for number, rule in enumerate(recipes.required):
        _check_names(rule.when, recipes, spec, source, ("imatrix", "required", number))


def _check_type(name: str, spec: Spec, source: Source, path: Path) -> None:
    live = [kind.name for kind in spec.types if kind.status == "live"]
    if name not in live:
        source.fail(path, f"no live tensor type is called {name}")


def _check_order(all_conditions: Sequence[Conditions], source: Source, path: Path) -> None:
    for number, conditions in enumerate(all_conditions):
        for earlier in range(number):
            if _covers(all_conditions[earlier], conditions):
                source.fail((*path, number), f"never reached: [{earlier}] applies before it")


def _covers(wide: Conditions, narrow: Conditions) -> bool:
    """Whether ``wide`` surely holds wherever ``narrow`` does."""
    given = dict(narrow)
    return all(
        name in given
        and (
            given[name] == argument
            or (_is_choice(name, argument) and set(given[name]) <= set(argument))
        )
        for name, argument in wide
    )


def _is_choice(name: str, argument: object) -> bool:
    return isinstance(argument, tuple) and name not in ("position", "not_arch")


def _roles(recipes: Recipes) -> Iterable[str]:
    return [role.name for role in recipes.roles]
