"""Faults in spec/recipes are refused with file, line, YAML path and a sentence."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ggufspec.codegen.errors import SpecError, show_path
from ggufspec.codegen.recipes import load_recipes
from ggufspec.recipes.conditions import CONDITIONS
from support.project import SPEC
from support.specs import real_spec

FAULTS = {
    # name: (file, text, what stands for it, YAML path, message)
    "unknown_tensor_type": (
        "rules", "type: Q6_K, why: the output", "type: Q6_X, why: the output",
        "sections.output.rules[5].type", "no live tensor type is called Q6_X",
    ),
    "removed_tensor_type": (
        "rules", "type: Q6_K, why: the output", "type: Q4_2, why: the output",
        "sections.output.rules[5].type", "no live tensor type is called Q4_2",
    ),
    "unknown_role": (
        "rules", "when: {role: attn_k}", "when: {role: attn_x}",
        "sections.attn_k.when.role",
        "no role is called attn_x; known: attn_k, attn_output, attn_q, attn_v, ffn_down, ffn_gate, "
        "ffn_up, output, token_embd",
    ),
    "file_type_nobody_can_ask_for": (
        "rules", "below_3_bits: [IQ1_S,", "below_3_bits: [NVFP4,",
        "sections.output.rules[3].file_type", "no file type is called NVFP4; known: BF16, F16,",
    ),
    "unknown_condition": (
        "rules", "{role: attn_v, min_gqa: 4", "{role: attn_v, gqa: 4",
        "sections.below 3 bits.rules[0].gqa", "unknown key; did you mean min_gqa?",
    ),
    "position_spelt_wrong": (
        "rules", "position: first 2,", "position: first two,",
        "sections.attn_v.rules[6].position", '"first two" is not of the form',
    ),
    "position_of_a_role_that_is_not_counted": (
        "rules", "{file_type: IQ3_XS, type: IQ3_XXS, why: attn_q",
        "{file_type: IQ3_XS, position: more, type: IQ3_XXS, why: attn_q",
        "sections.attn_q.rules[0].position", "only a role with `n` has positions",
    ),
    "layers_of_a_role_counted_by_tensors": (
        "rules", "when: {role: attn_v}", "when: {role: attn_v}\n    by_layer: true",
        "sections.attn_v.rules[0]", "`by_layer` is for roles counted among the layers",
    ),
    "rule_that_is_never_reached": (
        "rules", "{file_type: Q3_K_M, position: more, type: Q4_K",
        "{file_type: Q3_K_M, not_arch: falcon, position: more, type: Q4_K",
        "sections.ffn_down.rules[6]", "never reached: [5] applies before it",
    ),
    "section_that_is_never_reached": (
        "rules", "when: {role: attn_k}", "when: {role: attn_v}",
        "sections.attn_k.when", "never reached: earlier sections take all its tensors",
    ),
    "unknown_option": (
        "rules", "option: output-tensor-type", "option: output",
        "sections.output.option", "no option is called output",
    ),
    "fallback_to_blocks_as_large": (
        "rules", "    Q4_K: Q5_0", "    Q4_K: Q5_K",
        "fallback.types.Q4_K", "Q5_K has no smaller blocks than Q4_K",
    ),
    "fallback_forgotten": (
        "rules", "none: [Q1_0, NVFP4]", "none: [Q1_0]",
        "fallback.types", "nothing is said about NVFP4",
    ),
    "last_resort_in_blocks": (
        "rules", "last_resort: F16", "last_resort: Q8_0",
        "fallback.last_resort", "the last resort must fit any row",
    ),
    "id_missing": (
        "file_types", "Q4_2: {id: 5, status: retired}", "",
        "file_types", "id 5 is missing (a retired one stays listed)",
    ),
    "id_twice": (
        "file_types", "Q4_2: {id: 5, status: retired}", "Q4_2: {id: 4, status: retired}",
        "file_types.Q4_2", "Q4_1_SOME_F16 has 4 already",
    ),
    "alias_that_is_a_name": (
        "file_types", "alias: Q3_K,", "alias: Q2_K,",
        "file_types.Q3_K_M", "Q2_K has Q2_K already",
    ),
    "offered_without_a_type": (
        "file_types", "Q2_0: {id: 41, type: Q2_0}", "Q2_0: {id: 41}",
        "file_types.Q2_0", "a file type that is offered, and no other, has a type",
    ),
    "guess_of_no_file_type": (
        "file_types", "    Q4_K: Q4_K_M", "    Q4_K: Q4_K",
        "guess.types.Q4_K", "no file type is called Q4_K",
    ),
    "unknown_key": (
        "tensors", "key: '{arch}.expert_count'", "key: '{arch}.experts'",
        "facts.n_expert.key", "{arch}.experts is no key of spec/metadata",
    ),
    "option_of_no_role": (
        "tensors", "output-tensor-type: {role: output}", "output-tensor-type: {role: head}",
        "options.output-tensor-type.role", "no role is called head",
    ),
    "kept_twice": (
        "tensors", "{contains: [altup, laurel]", "{contains: _norm.weight, name: x",
        "keep[6]", "never reached: [3] applies before it",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_fault(name: str, tmp_path: Path) -> None:
    stem, old, new, path, message = FAULTS[name]
    for folder in ("metadata", "recipes", "schema"):
        shutil.copytree(SPEC / folder, tmp_path / folder)
    file = tmp_path / "recipes" / f"{stem}.yaml"
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    with pytest.raises(SpecError) as caught:
        load_recipes(replace(real_spec(), root=tmp_path))
    error = caught.value
    assert (error.file, show_path(error.path)) == (f"recipes/{stem}.yaml", path)
    assert error.message.startswith(message)
    place = error.path[-1]
    assert isinstance(place, int) or place in file.read_text().splitlines()[error.line - 1]


def test_the_engine_knows_the_conditions() -> None:
    """What the spec uses is what the runtime evaluates."""
    recipes = load_recipes(real_spec())
    rules = [*recipes.keep, *recipes.required]
    whens = [role.when for role in recipes.roles]
    for section in recipes.sections:
        rules += [*section.rules, *section.then]
        whens += section.when
    whens += [rule.when for rule in rules]
    assert {name for when in whens for name, _ in when} == set(CONDITIONS)
