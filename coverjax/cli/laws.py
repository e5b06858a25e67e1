"""What `exact` and `simulate` share: the law, the policies as they are written, the report."""

import dataclasses
import inspect
import math
import pathlib
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import tyro

from coverjax.cli.options import check_seed
from coverjax.cli.outputs import command_line, file_facts, finish, out_folder, plain
from coverjax.cli.progress import Progress
from coverjax.curves import Curves
from coverjax.foundation.checks import InputError, shown
from coverjax.model.law import OutcomeLaw
from coverjax.model.named import DEFAULTS, SETTINGS, WITH_LATENTS, named_family
from coverjax.model.router_generator import RouterGenerator

MOST_NUMBERS = 1 << 30
"""Probabilities in the law of a family at most (8 bytes each)."""

REFERENCES = ("IID", "OracleNoRepeat")
"""The policies that Gain is measured against; they are always there."""


@dataclasses.dataclass(frozen=True)
class LawChoice:
    """Which law; a TOML file may hold the same names."""

    file: Annotated[pathlib.Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="FILE.toml")] = None
    """Options as TOML, under the names of the flags; flags given beside it win."""
    family: Literal["uniform", "zipf", "geometric", "dirichlet", "two_tier", "confusion"] | None = None
    """A family of laws. confusion is a router-generator; the others are laws."""
    law: pathlib.Path | None = None
    """A table of a law instead: input, strategies, p (with latent and router: a router-generator)."""
    declared: pathlib.Path | None = None
    """Declared strategies of the table."""
    inputs: int = 1
    """Number of inputs of a family."""
    strategies: int = 10
    """Number of strategies of a family."""
    exponent: float = 1.0
    """zipf: p of rank r is proportional to r^-exponent."""
    ratio: float = 0.5
    """geometric: each strategy is this much less likely than the one before."""
    concentration: float = 1.0
    """dirichlet: small is uneven."""
    common: int = 2
    """two_tier: number of common strategies; the other ones are rare."""
    common_mass: float = 0.9
    """two_tier: probability of the common strategies together."""
    eps: float = 0.1
    """confusion: probability that a latent's draw is another strategy than its own."""


@dataclasses.dataclass(frozen=True)
class LawOptions(LawChoice):
    """Which law, which policies, which budgets; a TOML file may hold the same names."""

    policy: tuple[str, ...] = ()
    """Policies, as they are written in Python: IID "LatentNoRepeat(order='router')" module:Class; or files of
    trained ones (.npz). Default: all that the law allows."""
    budget: int = 64
    """Number of draws K."""
    coverage: Literal["raw", "valid", "correct"] = "raw"
    """Which draws count."""
    rare_below: float = 1.0
    """A strategy is rare when its base probability x K is below this."""
    out: pathlib.Path | None = None
    """Folder for report.html, curves.csv, inputs.csv, summary.json and the figures, PNG and SVG."""
    json: bool = False
    """Print summary.json on stdout, and nothing else there."""
    seed: int = 0
    """Seed of random families and of simulation."""


def law_of(options: LawChoice, seed: int) -> OutcomeLaw | RouterGenerator:
    """Return the law that the options name; random ones are of this seed."""
    if (options.family is None) == (options.law is None):
        got = "neither" if options.law is None else "both"
        place = options.file or "coverjax"
        raise InputError(
            f"{place}: give either --family (one of {', '.join(SETTINGS)}) or --law FILE; got {got}"
        )
    if options.law is not None:
        from coverjax.logs.law_files import read_law

        return read_law(options.law, None if options.declared is None else str(options.declared))
    _check_room(options)
    given = {name: getattr(options, name) for name in DEFAULTS if hasattr(options, name)}
    return named_family(str(options.family), **given | {"seed": seed})


def _check_room(options: LawChoice) -> None:
    """Refuse a family that no memory holds."""
    latents = options.strategies if options.family in WITH_LATENTS else 0
    numbers = options.inputs * options.strategies * (1 + latents)
    if numbers > MOST_NUMBERS:
        raise InputError(
            f"strategies: a law must be at most {MOST_NUMBERS:,} numbers large; {options.inputs:,} inputs of "
            f"{options.family} with {options.strategies:,} strategies are {shown(numbers)}: take fewer"
        )


def check_rare(below: float) -> None:
    """Raise where `--rare-below` is no number of draws.

    Raises:
        InputError: it is not finite, or not above 0.
    """
    if not (math.isfinite(below) and below > 0):
        raise InputError(f"--rare-below: must be a finite number above 0; got {below}")


def chosen_policies(named: Sequence[str], law: OutcomeLaw | RouterGenerator) -> dict[str, Any]:
    """Return the policies by how they are written: the references first, then those asked for.

    Without any, all that the law allows.
    """
    from coverjax.policy.base import label
    from coverjax.policy.learned import LearnedLatent
    from coverjax.policy.registry import policies, written_policy

    if not named:
        latent = isinstance(law, RouterGenerator)
        needs = {name for name, kind in policies().items() if _required(kind)}
        named = [
            name
            for name, kind in policies().items()
            if name not in needs and (latent or getattr(kind, "acts_on", "") != "latents")
        ]
    made = {text: written_policy(text) for text in dict.fromkeys([*REFERENCES, *named])}
    # A trained policy is named by its file: its numbers can't be written out.
    return {
        text if isinstance(policy, LearnedLatent) else label(policy): policy for text, policy in made.items()
    }


def _required(kind: Any) -> bool:
    """Whether a policy can't be made without settings."""
    parameters = inspect.signature(kind).parameters.values()
    return any(
        p.default is inspect.Parameter.empty and p.kind is not inspect.Parameter.VAR_KEYWORD
        for p in parameters
    )


FIGURES = ("coverage", "novelty", "time-to-coverage", "time-by-input", "gain-split")
OUTPUTS = (
    *("curves.csv", "inputs.csv", "summary.json", "report.html"),
    *(f"{stem}.{kind}" for stem in FIGURES for kind in ("png", "svg")),
)
"""What may be written; what an earlier run left of these goes."""


def report_policies(
    verb: str, options: LawOptions, produce: Callable[[Any, OutcomeLaw | RouterGenerator], Curves]
) -> None:
    """Make the curves of every policy, study them, write and print the report.

    A policy that was not asked for by name and can't be had is left out with its reason; one that was
    asked for is an error.
    """
    from coverjax.report.plain import to_json
    from coverjax.report.policy_study import document, study_policies
    from coverjax.report.policy_tables import policy_text

    _check(options)
    with out_folder(options.out, OUTPUTS) as part, Progress(verb) as progress:
        law = law_of(options, options.seed)
        curves, refused = {}, {}
        for name, policy in chosen_policies(options.policy, law).items():
            progress.step(f"{verb} {name}")
            try:
                curves[name] = produce(policy, law)
            except InputError as error:
                if options.policy or name in REFERENCES:
                    raise
                refused[name] = str(error).removeprefix(f"{name}: ")
        iid, oracle = (curves[name] for name in REFERENCES)
        study = study_policies(curves, iid, oracle, rare_below=options.rare_below, refused=refused)
        told = document(
            study,
            verb=verb,
            command=command_line(verb, options),
            options=plain(options),
            seed=options.seed,
            files=file_facts(
                getattr(options, "file", None),
                options.law,
                options.declared,
                *(text for text in options.policy if pathlib.Path(text).is_file()),
            ),
        )
        text = to_json(told) if options.json else policy_text(study)
        written = [] if part is None else write_study(study, told, part, progress)
    finish(options.out, written, text)


def _check(options: LawOptions) -> None:
    """Refuse numbers out of range before any work."""
    if not 1 <= options.budget < 1 << 53:
        raise InputError(f"--budget: must be at least 1 draw and below 2^53; got {options.budget}")
    check_rare(options.rare_below)
    check_seed(options.seed)
    if options.family == "two_tier" and not 0 < options.common < options.strategies:
        raise InputError(
            f"--common: must be at least 1 and below --strategies, {options.strategies}; got {options.common}"
        )


def write_study(
    study: Any, told: dict[str, Any], part: pathlib.Path, progress: Progress, more: Sequence[str] = ()
) -> list[str]:
    """Write page, tables, figures and the summary of a study into a folder; return the files' names, `more`
    too.

    Args:
        study: what was found.
        told: its document; the page takes from it where it came from.
        part: the folder.
        progress: told of each step.
        more: files of the verb that stand in the folder already; the page shows and names them too.
    """
    from coverjax.report.html import write_page
    from coverjax.report.plain import write_json
    from coverjax.report.policy_page import policy_page
    from coverjax.report.policy_plots import write_policy_figures
    from coverjax.report.policy_tables import write_policy_curves

    progress.step("writing tables")
    write_policy_curves(study, part / "curves.csv")
    write_policy_curves(study, part / "inputs.csv", by_input=True)
    write_json(part / "summary.json", told)
    figures = write_policy_figures(study, part, progress.step)
    written = [*more, "curves.csv", "inputs.csv", "summary.json", *figures]
    progress.step("writing the page")
    return [write_page(policy_page(study, told, written), part), *written]
