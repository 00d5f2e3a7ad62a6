"""What other people's repositories use: the GitHub Action's steps and the pre-commit hooks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import ggufspec
from support.project import ROOT

pytestmark = pytest.mark.slow

STEPS = {
    step["name"]: step
    for step in yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
}


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def step(name: str, folder: Path, inputs: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a step as a runner does, with its inputs in place."""
    entry: dict[str, Any] = STEPS[name]
    variables = {
        variable: inputs.get(text.removeprefix("${{ inputs.").removesuffix(" }}"), "")
        for variable, text in entry.get("env", {}).items()
    }
    script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", entry["run"]]
    return run(script, folder, RUNNER_TEMP=str(folder / "runner"), **variables)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a good file, a bad one, and generated code; the program is installed."""
    programs = tmp_path / "runner" / "ggufspec" / "bin"
    programs.mkdir(parents=True)
    (programs / "ggufspec").symlink_to(Path(sys.executable).parent / "ggufspec")
    (tmp_path / "models").mkdir()
    ggufspec.write(tmp_path / "models" / "good.gguf", {"general.architecture": "llama"})
    (tmp_path / "bad.gguf").write_bytes(b"GGUF\x03\0\0\0")
    done = run(
        [sys.executable, "-m", "ggufspec", "generate", "--target", "rust", "--types", "Q4_0",
         "--out", "vendor"], tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return tmp_path


INPUTS = {"profile": "lenient", "data": "true", "fail-on": "error"}


def test_action_validates(project: Path) -> None:
    good = step("Validate files", project, {**INPUTS, "files": "models"})
    assert good.returncode == 0, good.stdout + good.stderr
    both = {**INPUTS, "files": "models *.gguf", "sarif": "found.sarif"}
    bad = step("Validate files", project, both)
    assert bad.returncode == 1
    assert "GG0001" in bad.stdout
    assert "GG0001" in (project / "found.sarif").read_text(encoding="utf-8")


def test_action_checks_generated_code(project: Path) -> None:
    fresh = step("Check generated code", project, {"generated": "vendor"})
    assert fresh.returncode == 0, fresh.stdout + fresh.stderr
    (project / "vendor/rust/src/lib.rs").write_text("stale", encoding="utf-8")
    assert step("Check generated code", project, {"generated": "vendor"}).returncode == 1


def test_every_input_of_the_action_is_used() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    page = (ROOT / "docs/tutorials/validate-in-ci.md").read_text(encoding="utf-8")
    for name in action["inputs"]:
        assert f"${{{{ inputs.{name} }}}}" in text
        assert f"| `{name}` |" in page


def test_pre_commit_hooks(project: Path) -> None:
    """`pre-commit try-repo` installs the hooks from the checkout and runs them."""
    source = project / "ggufspec"
    files = run(["git", "ls-files", "-z", "-co", "--exclude-standard"], ROOT).stdout.split("\0")
    for name in filter(None, files):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    repository(source)
    shutil.rmtree(project / "runner")
    own = project / "own"
    own.mkdir()
    for name in ("models", "vendor", "bad.gguf"):
        (project / name).rename(own / name)
    repository(own)
    home = {"PRE_COMMIT_HOME": str(project / "home"), "GGUFSPEC_NATIVE": "0"}
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(source)]
    bad = run([*command, "gguf-validate", "--all-files"], own, **home)
    assert bad.returncode == 1
    assert "GG0001" in bad.stdout, bad.stdout + bad.stderr
    good = run([*command, "gguf-validate", "--files", "models/good.gguf"], own, **home)
    assert good.returncode == 0, good.stdout + good.stderr


def repository(folder: Path) -> None:
    name = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], [*name, "commit", "-q", "-m", "all"]):
        done = run(["git", *arguments], folder)
        assert done.returncode == 0, done.stderr


def test_the_fresh_hook_is_a_command_that_works(project: Path) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    [hook] = [hook for hook in hooks if hook["id"] == "ggufspec-fresh"]
    words = [sys.executable, "-m", *hook["entry"].split(), "vendor"]
    assert run(words, project).returncode == 0
    (project / "vendor/rust/src/lib.rs").write_text("stale", encoding="utf-8")
    assert run(words, project).returncode == 1
