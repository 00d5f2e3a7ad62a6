"""``python -m ggufspec.demo [MODEL]``: the main job from end to end, as a user would type it.

Without MODEL a sample is written first. Everything lands in a temporary folder.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from .cli import screen
from .cli.screen import Column
from .cli.text import size

TYPES = ("Q8_0", "Q4_K", "Q4_0")

RESULT = (
    Column("type", style="green"),
    Column("file", right=True),
    Column("bits/weight", right=True),
    Column("RMSE", right=True),
    Column("max error", right=True),
    Column("cosine", right=True),
    Column("SNR dB", right=True),
)


def main(arguments: Sequence[str]) -> int:
    """Run the tour; the exit code of the first command that fails, else 0."""
    with TemporaryDirectory(prefix="ggufspec-demo-") as name:
        try:
            _tour(Path(name), Path(arguments[0]).resolve() if arguments else None)
        except subprocess.CalledProcessError as error:
            return error.returncode
        except KeyboardInterrupt:
            return 130
    return 0


def _tour(folder: Path, model: Path | None) -> None:
    def run(*words: str) -> None:
        """Show a command and run it in a process of its own."""
        screen.say()
        screen.say(f"$ ggufspec {' '.join(words)}", "bold cyan")
        sys.stdout.flush()
        subprocess.run([sys.executable, "-m", "ggufspec", *words], cwd=folder, check=True)

    source = str(model or "sample.gguf")
    if model is None:
        run("sample", source)
    run("info", source, "--elements", "3")
    run("dequantize", source, "reference.gguf", "--type", "F16")
    for kind in TYPES:
        run("quantize", "--pure", "reference.gguf", f"{kind}.gguf", kind)
    run("dequantize", "Q4_K.gguf", "floats.gguf")
    run("compare", "reference.gguf", "Q4_K.gguf")
    _summarise(folder)


def _summarise(folder: Path) -> None:
    from .jobs.comparing import compare

    reference = folder / "reference.gguf"
    rows = []
    for kind in TYPES:
        path = folder / f"{kind}.gguf"
        sums = compare(reference, path)
        rows.append(
            (
                kind,
                size(path.stat().st_size),
                f"{sums.bits_per_weight:.3f}",
                f"{sums.rmse:.3e}",
                f"{sums.largest:.3e}",
                f"{sums.cosine:.6f}",
                f"{sums.snr:.2f}",
            )
        )
    screen.table(RESULT, rows, f"{reference.name}, {size(reference.stat().st_size)}, quantized:")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
