"""The command `coverjax`: find the verb, run it, turn what went wrong into an exit code.

This module imports nothing that is slow: a verb's module is imported when the verb was asked for.
"""

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence

from coverjax._version import __version__

VERBS = {
    "estimate": ("coverjax.cli.estimate", "coverage curves, intervals and figures of a log of samples"),
    "compare": ("coverjax.cli.compare", "methods of a log against a baseline: gain, who finds what, power"),
    "label": ("coverjax.cli.label", "label the text of samples, and how far other labels agree"),
    "exact": ("coverjax.cli.exact", "exact curves of policies on a known law"),
    "simulate": ("coverjax.cli.simulate", "simulated curves of policies on a known law"),
    "train": ("coverjax.cli.train", "fit a policy to coverage on a known router-generator"),
    "sweep": ("coverjax.cli.sweep", "policies over a grid of laws, sizes, budgets and seeds"),
    "sequences": ("coverjax.cli.sequences", "a language model that learns strategies from text"),
    "corrections": ("coverjax.cli.corrections", "how many corrections until a concept is competent"),
    "route": ("coverjax.cli.route", "is the team that a router chose as good as the best one"),
    "demo": ("coverjax.cli.demo", "the ladder on built-in tasks: figures, tables, one page"),
}
"""Verb -> (module that offers `run(arguments)`, one line of help)."""

DONE, FAULT, WRONG_INPUT, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0: done. 2: the user's input is wrong, said in one line on stderr. 1: a fault of coverjax, said in a
    short message (the traceback too where COVERJAX_DEBUG=1). 130: interrupted. 141: whoever read stdout
    went away.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    files = sys.modules.get("coverjax.foundation.files")
    if files is not None:
        files.WRITTEN.clear()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            # A label outside the terminal's alphabet is shown escaped; it must not end the command.
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else DONE if stop.code is None else FAULT
    except BrokenPipeError:
        return _closed_pipe()
    except KeyboardInterrupt:
        print(f"coverjax: interrupted; {_written()}", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        return _wrong_input(error) if _is_input_error(error) else _fault(error, arguments)
    return code


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_help())
    elif arguments[0] in ("-V", "--version"):
        print(f"coverjax {__version__}")
    elif arguments[0] not in VERBS:
        print(_unknown(arguments[0]), file=sys.stderr)
        return WRONG_INPUT
    else:
        importlib.import_module(VERBS[arguments[0]][0]).run(arguments[1:])
    return DONE


def _help() -> str:
    longest = max(map(len, VERBS))
    verbs = "\n".join(f"  {verb:<{longest}}  {line}" for verb, (_, line) in VERBS.items())
    return f"""usage: coverjax VERB ...      coverjax VERB --help      coverjax --version

How fast does a sampler cover the strategies of an input?

verbs
{verbs}

exit codes
  0 done        2    the input is wrong, said in one line on stderr
  1 our fault   130  interrupted"""


def _unknown(verb: str) -> str:
    import difflib

    near = difflib.get_close_matches(verb, [*VERBS, "--help", "--version"], n=1, cutoff=0.5)
    advice = f"did you mean `{near[0]}`?" if near else f"the verbs are {', '.join(VERBS)}"
    kind = "an option" if verb.startswith("-") else "a verb"
    return f"coverjax: {verb!r} is not {kind} of coverjax; {advice}; see coverjax --help"


def _is_input_error(error: Exception) -> bool:
    # Where `checks`, which needs numpy, was never imported there is no InputError either.
    checks = sys.modules.get("coverjax.foundation.checks")
    return checks is not None and isinstance(error, checks.InputError)


def _wrong_input(error: Exception) -> int:
    print(" ".join(str(error).splitlines()), file=sys.stderr)
    return WRONG_INPUT


def _closed_pipe() -> int:
    # Python flushes stdout once more at exit and would complain there.
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def _written() -> str:
    """Say what was written before something went wrong: mostly nothing, as all is renamed at the end.

    What was whole in a temporary folder went with it.
    """
    files = sys.modules.get("coverjax.foundation.files")
    names = [str(path) for path in dict.fromkeys(getattr(files, "WRITTEN", [])) if path.exists()]
    if not names:
        return "nothing was written"
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"written before that, and whole: {', '.join(names[:3])}{more}"


def _fault(error: Exception, arguments: list[str]) -> int:
    if os.environ.get("COVERJAX_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    written = _written()
    command = " ".join(["coverjax", *arguments])[:300]
    print(
        f"coverjax: a fault of coverjax, not of your input: {what}\n"
        f"{written[0].upper()}{written[1:]}. To report it, run again with COVERJAX_DEBUG=1 and send the "
        "traceback together with:\n"
        f"  coverjax {__version__}, Python {sys.version.split()[0]}, {sys.platform}\n  {command}",
        file=sys.stderr,
    )
    return FAULT
