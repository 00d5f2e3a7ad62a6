"""The application: finds commands when they are asked for, and says how they failed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from . import machine
from .failures import LIMIT, SYSTEM, USAGE, CommandError, complain, of_error, record
from .manual import complete
from .options import JSON
from .text import printable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

USAGE_ERROR: Any = typer.BadParameter.__base__
"""What typer raises for wrong usage; it has no public name."""

BUILT_IN = (
    "info", "types", "validate", "explain", "quantize", "dequantize", "compare", "meta", "diff",
    "convert-endian", "hash", "rename", "split", "merge", "report", "memory", "serve", "sample",
)  # fmt: skip
"""Each is a module of this package with a function ``command``, or ``group`` for several."""

PLUGINS = "ggufspec.commands"
"""The entry-point group of further commands; an entry is named after the extra it needs."""


class Commands(MutableMapping[str, Any]):
    """Commands by name, imported when asked for, so that one does not pay for all."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}
        self._missing: dict[str, ImportError] | None = None
        self._options: list[Any] = []

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            if name in BUILT_IN:
                self._made[name] = _built_in(name)
            else:
                self._load_plugins()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        self._load_plugins()
        yield from BUILT_IN
        yield from (name for name in self._made if name not in BUILT_IN)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def missing(self) -> dict[str, ImportError]:
        """Extras that would bring more commands, and why they do not."""
        self._load_plugins()
        return self._missing or {}

    def options(self) -> list[Any]:
        """What the plug-ins add to the options of the root command."""
        self._load_plugins()
        return self._options

    def _load_plugins(self) -> None:
        if self._missing is not None:
            return
        from importlib.metadata import entry_points

        self._missing = {}
        for entry in entry_points(group=PLUGINS):
            try:
                group = _plugin(entry)
                self._made |= {name: complete(made, name) for name, made in group.commands.items()}
                self._options += group.params
            except ImportError as error:
                self._missing[entry.name] = error


class Group(TyperGroup):
    """The root command; every way in which a command ends passes here."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        try:
            return super().make_context(*args, **extra)
        except USAGE_ERROR as error:
            _tell_usage(error)
            raise

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """As typer does; an option that is not ours may be that of a plug-in."""
        try:
            return super().parse_args(ctx, list(args))
        except USAGE_ERROR as error:
            more = self._further_options()
            if not more:
                _mention_extras(error, self.commands)
                raise
        self.params += more
        return super().parse_args(ctx, args)

    def _further_options(self) -> list[Any]:
        commands: Any = self.commands
        return [option for option in commands.options() if option not in self.params]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """With the options of all plug-ins."""
        self.params += self._further_options()
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()  # what cannot be written shall fail here
        except USAGE_ERROR as error:
            _tell_usage(error)
            raise
        except (typer.Exit, typer.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            _fail(error, speaks_json=bool(ctx.meta.get(JSON)))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except USAGE_ERROR as error:
            _mention_extras(error, self.commands)
            raise


def run() -> NoReturn:
    """Run the command line; it leaves with an exit code and never with a traceback."""
    _stop_cleanly()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        # A terminal that cannot show a character gets its escape.
        getattr(sys, name).reconfigure(errors="backslashreplace")
    try:
        application()(prog_name="ggufspec")
        sys.exit(0)
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get("GGUFSPEC_TRACEBACK"):
            raise
        failure = of_error(error)
        complain(failure)
        sys.exit(failure.exit)


def _stop_cleanly() -> None:
    """Let the other ways to be told to stop do what Ctrl-C does: remove what is half done."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def application() -> Any:
    """The root command of typer's underlying library."""
    app = typer.Typer(
        name="ggufspec", cls=Group, no_args_is_help=True, pretty_exceptions_enable=False
    )
    app.callback()(_root)
    command = typer.main.get_command(app)
    command.commands = Commands()  # type: ignore[attr-defined]
    return command


def _show_version(wanted: bool) -> None:
    if wanted:
        from .version import show

        show()
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=_show_version,
            help="Show versions, and what runs the kernels.",
        ),
    ] = False,
) -> None:
    """Read, check, quantize and compare GGUF files."""


def _built_in(name: str) -> Any:
    module = import_module(f".{name.replace('-', '_')}", __package__)
    made = module.group() if hasattr(module, "group") else _command(name, module.command)
    return complete(made, name, getattr(module, "EXAMPLES", ()))


def _command(name: str, function: Any) -> Any:
    app = typer.Typer(add_completion=False)
    app.command(name)(function)
    return typer.main.get_command(app)


def _plugin(entry: EntryPoint) -> Any:
    """The group of what an entry point registers: its commands, and options for all."""
    app = typer.Typer(add_completion=False)
    app.callback()(lambda: None)  # so that a single command stays a named one
    entry.load()(app)
    return typer.main.get_command(app)


def _mention_extras(error: Any, commands: Any) -> None:
    for extra, reason in commands.missing().items():
        error.message += (
            f"\nMore commands come with: pip install 'ggufspec[{extra}]' ({reason.msg})"
        )


def _tell_usage(error: Any) -> None:
    """Wrong usage as JSON, where the words ask for it: typer tells it to people only."""
    lines = error.message.split("\n")
    error.message = "\n".join(printable(line, LIMIT) for line in lines)
    words = sys.argv[1:]
    words = words[: words.index("--")] if "--" in words else words
    if "--json" in words:
        machine.emit(record(CommandError(error.format_message(), USAGE)))


def _end_as_cat_does() -> NoReturn:
    """Nobody reads what we print any more: end without a word, by the signal."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    raise typer.Exit(SYSTEM)


def _fail(error: BaseException, *, speaks_json: bool) -> NoReturn:
    if isinstance(error, BrokenPipeError):
        _end_as_cat_does()
    if os.environ.get("GGUFSPEC_TRACEBACK"):
        raise error
    failure = of_error(error)
    try:
        if speaks_json:
            machine.emit(record(failure))
        sys.stdout.flush()
    except OSError:
        # Nobody takes what we print; Python shall not try again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    complain(failure)
    raise typer.Exit(failure.exit)
