"""`vernal`: the command line, a thin layer over the public functions.

Every command returns its exit code; whatever it raises ends here as one message. Nothing heavy is imported before a
command needs it, so that `vernal --help` is instant.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated

import typer

from vernal.cli import exits
from vernal.cli.clock import invoked, process_start
from vernal.cli.commands import COMMANDS, add_commands, asked_for
from vernal.cli.interrupt import exit_code, leave, watching
from vernal.cli.invocation import given
from vernal.cli.options import option
from vernal.cli.stream import drop_output, open_closed, plain_warnings, say
from vernal.errors import Stopped, VernalError

EXAMPLES = """\b
Examples:
  vernal check vcas.toml                                  every property of the task
  vernal check vcas.toml --spec "AX[3] (h > 100 | h < -100)" --trace bad.trace.json
  vernal replay bad.trace.json                            recompute what was found
  vernal check room.toml --spec "G (T <= 22)"             for all time, without a bound
  vernal sweep vcas.toml --over v0=-19.5,-22.5 --over k=1..6
  vernal reach vcas.toml --of h --plot tube.svg           what h can be at every step
  vernal explain vcas.toml                                the system and its properties in words

\b
Exit codes: 0 holds, 10 violated, 5 unknown, 2 bad input (`vernal COMMAND --help` where they differ).
"""

NAME = "Vernal"


def _version(wanted: bool) -> None:
    if wanted:
        from vernal.evidence.program_version import version

        typer.echo(version())
        raise typer.Exit


def _name(wanted: bool) -> None:
    if wanted:
        typer.echo(NAME)
        raise typer.Exit


def _root(
    version: Annotated[
        bool, option("--version", "Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
    name: Annotated[
        bool, option("--name", "Show the name of the program and exit.", callback=_name, is_eager=True)
    ] = False,
) -> None:
    """Options of the program itself, as the VNN-LIB standard has them."""


def application(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The program with these commands."""
    made = typer.Typer(
        help="Does a system of neural agents in an uncertain environment keep its promises over time?",
        epilog=EXAMPLES,
        no_args_is_help=True,
        rich_markup_mode=None,  # plain help: quick to show, easy to search
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    made.callback()(_root)
    add_commands(made, names)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Time limits count from the start of the process, or of this call."""
    open_closed()
    arguments = list(sys.argv[1:] if argv is None else argv)
    given.set(arguments)
    invoked.set(process_start() if argv is None else time.monotonic())
    with watching(), plain_warnings():
        code = _guarded(lambda: _run(arguments))
    if argv is None:
        leave(code)
    return code


def _run(arguments: list[str]) -> int:
    """What the command returns; usage errors are shown and end with 2."""
    command = typer.main.get_command(application(asked_for(arguments)))
    try:
        command.main(args=arguments, prog_name="vernal", standalone_mode=True)
    except SystemExit as leaving:
        sys.stdout.flush()
        if isinstance(leaving.__context__, BrokenPipeError):  # typer turns a broken pipe into exit code 1
            raise leaving.__context__ from None
        why = getattr(leaving.__context__, "__cause__", None)
        if isinstance(why, KeyboardInterrupt):  # typer turns every interrupt into exit code 130
            raise why from None
        return leaving.code if isinstance(leaving.code, int) else exits.OK
    return exits.OK


def _guarded(run: Callable[[], int]) -> int:
    """The exit code, whatever happens; a traceback only for those who ask for it."""
    try:
        return run()
    except KeyboardInterrupt as interrupt:
        say("interrupted")
        return exit_code(interrupt)
    except BrokenPipeError:
        drop_output()
        return exits.BROKEN_PIPE
    except Stopped as stopped:
        say(f"unknown: {stopped}, before any question was asked")
        return exits.UNDECIDED
    except VernalError as error:
        say(f"error: {error}")
        return exits.BAD_INPUT
    except OSError as error:
        say(f"error: {_os_message(error)}")
        return exits.BAD_INPUT
    except MemoryError:
        say("out of memory; try --memory, a smaller bound or a smaller initial set")
        return exits.UNDECIDED
    except Exception as error:
        return _internal(error)


def _os_message(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename else what


def _internal(error: Exception) -> int:
    """A fault of ours: one line, and the traceback under VERNAL_DEBUG=1."""
    if os.environ.get("VERNAL_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    say(f"internal error, please report it: {type(error).__name__}: {error}\n(VERNAL_DEBUG=1 shows where it happened)")
    return exits.INTERNAL
