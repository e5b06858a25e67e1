"""`coverjax sequences`: fit a base model, factorize it, draw logs from it, evaluate and explore with it."""

import dataclasses
import pathlib
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import tyro

from coverjax.cli.options import check_seed, parse_with_file
from coverjax.cli.outputs import (
    command_line,
    file_facts,
    finish,
    interruptible,
    out_folder,
    plain,
    refuse_unfinished,
)
from coverjax.cli.under_verbs import run_under_verb
from coverjax.foundation.checks import InputError, file_error

File = Annotated[pathlib.Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="FILE.toml")]
Preset = Literal["quick", "small", "medium", "large"]
Objective = Literal["marginal", "elbo", "beta_elbo", "global", "global_token", "balanced", "gaussian"]
Role = Literal["fit", "development", "test"]

UNFINISHED = "unfinished-fit.npz"
MODEL = "model.npz"


@dataclasses.dataclass(frozen=True)
class FitOptions:
    """Fit a base model to the texts of a task: its mixture of strategies, no labels.

    coverjax sequences fit --task list_summation --out base
    """

    file: File = None
    """Options as TOML, under the names of the flags; flags given beside it win."""
    task: str = "list_summation"
    """A family of inputs, or multi_task, the mixture of all of them."""
    size: Preset = "quick"
    """How large a network that starts from nothing is: about 0.1, 0.34, 4.7, 85 million parameters."""
    steps: int = 2_000
    """Number of updates."""
    batch: int = 64
    """Texts of an update."""
    learning_rate: float | None = None
    """Of Muon, at its largest; 0.02, for balanced 0.04, when not given."""
    decay: float | None = None
    """What an update takes off each number, times the learning rate: more where inputs are few and learned by
    heart. When not given 0.1 for a base model, else 0."""
    warmup: int = 100
    """Updates over which it rises."""
    texts: int = 40_000
    """Number of texts to fit."""
    held_out: int = 512
    """Texts of other inputs that the loss is told on."""
    every: int = 100
    """Updates between two of those, and between two checkpoints."""
    out: pathlib.Path | None = None
    """Folder for model.npz, history.csv and summary.json; needed."""
    resume: bool = False
    """Go on with the unfinished fit in --out. It ends with the bytes of one never interrupted."""
    json: bool = False
    """Print summary.json on stdout, and nothing else there."""
    seed: int = 0
    """Seed of everything random."""


@dataclasses.dataclass(frozen=True)
class FactorizeOptions(FitOptions):
    """Split a mixture of strategies into a router and a generator, without labels.

    coverjax sequences factorize --base base/model.npz --out split
    """

    task: str = ""
    """A family of inputs, or multi_task. Default: that of --base."""
    base: pathlib.Path | None = None
    """The base model to start from. Default: start from nothing."""
    objective: Objective = "balanced"
    """What is made small; gaussian makes latents continuous."""
    latents: int | None = None
    """Number of latents. Default: of balanced three for each strategy of an input, and those that are not
    needed are dropped; of the others half as many again as strategies, and one more."""
    prune: float | None = None
    """balanced: nats a text that a latent must save, or it is dropped after --hold; 0 keeps all. Default:
    0.05, and 0 where --latents is given."""
    beta: float | None = None
    """Weight of the divergence from the router; of the likelihood in balanced. Not of marginal and elbo."""
    alpha: float = 0.5
    """global_token: share of the weight that all tokens get alike."""
    gamma: float = 1.0
    """global_token: how much the tokens that surprise the base model stand out."""
    hold: float | None = None
    """Share of the updates in which balanced uses all latents equally; gaussian leaves the KL out. Default:
    0.25, and 0.4 where latents are dropped."""
    fade: float | None = None
    """Share of the updates after which balanced lets the router alone decide, gaussian has the whole KL.
    Default: 0.2 more than --hold; where latents are dropped, at once."""
    dimensions: int = 4
    """gaussian: number of dimensions of a latent."""
    free: float = 0.0
    """gaussian: nats of each dimension's KL that cost nothing, against latents that tell nothing."""


@dataclasses.dataclass(frozen=True)
class DrawOptions:
    """Draw texts from a model, validate each, and write them as a log that `coverjax estimate` reads.

    coverjax sequences draw --model split/model.npz --inputs 100 --samples 32 --out drawn
    coverjax estimate drawn/log.jsonl --declared drawn/declared.csv
    """

    file: File = None
    """Options as TOML, under the names of the flags; flags given beside it win."""
    model: pathlib.Path | None = None
    """A model of fit or factorize; needed."""
    task: str = ""
    """What it is asked. Default: the task it was fitted to."""
    role: Role = "test"
    """Which inputs: those it was fitted to, or others."""
    inputs: int = 64
    """Number of inputs."""
    samples: int = 32
    """Texts of each input."""
    latents: Literal["router", "each"] = "router"
    """Where latents come from: the router, or all in turn."""
    temperature: float = 1.0
    """Of the tokens."""
    top_p: float = 1.0
    """Tokens beyond the smallest set that holds this probability are never drawn."""
    out: pathlib.Path | None = None
    """Folder for log.jsonl, declared.csv, texts.csv and summary.json."""
    json: bool = False
    """Print summary.json on stdout, and nothing else there."""
    seed: int = 0
    """Seed of everything random."""


@dataclasses.dataclass(frozen=True)
class EvaluateOptions:
    """Say what the latents of a model became, and what choosing them on purpose brings.

    Latents are forced on development inputs; every policy then explores test inputs by generating and
    validating, beside what the table W of the development inputs predicts.

    coverjax sequences evaluate --model split/model.npz --base base/model.npz --out judged
    """

    file: File = None
    """Options as TOML, under the names of the flags; flags given beside it win."""
    model: pathlib.Path | None = None
    """A model of factorize; needed."""
    base: pathlib.Path | None = None
    """The base model: what independent sampling is measured with. Default: the model's own mixture."""
    development: int = 48
    """Number of development inputs."""
    test: int = 64
    """Number of test inputs."""
    samples: int = 16
    """Texts of each latent on each development input; continuous latents leave it aside."""
    trials: int = 8
    """Runs of each policy on each test input."""
    budget: int | None = None
    """Number of draws K. Default: the number of strategies."""
    policies: tuple[str, ...] = ()
    """Which policies explore, or ways of drawing continuous latents. Default: all of them."""
    level: float = 0.95
    """Nominal level of intervals."""
    out: pathlib.Path | None = None
    """Folder for the logs, curves.csv, summary.json and the figure."""
    json: bool = False
    """Print summary.json on stdout, and nothing else there."""
    seed: int = 0
    """Seed of everything random."""


def run(argv: Sequence[str]) -> None:
    """Run the verb with these arguments: the first is the verb under it."""
    run_under_verb(
        "sequences",
        "A language model that learns strategies from text, and explores with them.",
        VERBS,
        parse_with_file,
        argv,
    )


# -- fit and factorize -----------------------------------------------------------------------------


def fit_command(options: FitOptions) -> None:
    """Fit, write, print."""
    _fitted(options, "fit")


def factorize_command(options: FactorizeOptions) -> None:
    """Factorize, write, print."""
    _fitted(options, "factorize")


def _fitted(options: FitOptions, verb: str) -> None:
    _check_fit(options, verb)
    from coverjax.report.plain import to_json, write_json
    from coverjax.report.sequence_tables import fit_document, fit_text, write_fit_history
    from coverjax.sequences.parting import checkpoints

    assert options.out is not None
    with out_folder(options.out) as part, interruptible(options.out, UNFINISHED):
        assert part is not None
        model, history = _fit(options, options.out / UNFINISHED)
        model.save(part / MODEL)
        write_fit_history(history, part / "history.csv")
        told = fit_document(
            model,
            history,
            verb=f"sequences {verb}",
            command=command_line(f"sequences {verb}", options),
            options=plain(options),
            files=file_facts(options.file, getattr(options, "base", None)),
        )
        text = to_json(told)
        write_json(part / "summary.json", text)
    for unfinished in checkpoints(options.out / UNFINISHED):
        unfinished.unlink(missing_ok=True)
    finish(
        options.out,
        [MODEL, "history.csv", "summary.json"],
        text if options.json else fit_text(model, history),
    )


def _fit(options: FitOptions, unfinished: pathlib.Path) -> tuple[Any, dict[str, Any]]:
    import jax

    from coverjax.sequences.fitting import factorize, fit_base
    from coverjax.sequences.language_model import LanguageModel
    from coverjax.sequences.tasks.registry import task

    key = jax.random.key(options.seed)
    names = ("size", "steps", "batch", "learning_rate", "decay", "warmup", "texts", "held_out", "every")
    given = {name: getattr(options, name) for name in names} | {"checkpoint": unfinished}
    if not isinstance(options, FactorizeOptions):
        return fit_base(key, task(options.task), **given)
    base = None if options.base is None else LanguageModel.read(options.base)
    name = options.task or (base.task if base is not None else "list_summation")
    more = ("objective", "latents", "prune", "beta", "alpha", "gamma", "hold", "fade", "dimensions", "free")
    given |= {name: getattr(options, name) for name in more}
    return factorize(key, task(name), base, **given)


def _check_fit(options: FitOptions, verb: str) -> None:
    check_seed(options.seed)
    if options.out is None:
        raise InputError(f"coverjax sequences {verb}: needs --out, the folder for the model")
    refuse_unfinished(options.out / UNFINISHED, "fit", options.resume)


# -- draw and evaluate -----------------------------------------------------------------------------


def _model(path: pathlib.Path | None, verb: str) -> Any:
    from coverjax.sequences.language_model import LanguageModel

    if path is None:
        raise InputError(f"coverjax sequences {verb}: needs --model, a model of fit or factorize")
    return LanguageModel.read(path)


def _require_latents(model: Any, path: pathlib.Path | None) -> None:
    """Raise where the file holds a base model, with the command that makes what is asked for."""
    assert path is not None
    try:
        model.require_latents()
    except InputError as error:
        way = "" if model.dimensions else f" (coverjax sequences factorize --base {path} --out FOLDER)"
        raise file_error(path, None, None, str(error).removeprefix("model: ") + way) from error


def draw_command(options: DrawOptions) -> None:
    """Draw, write, print."""
    check_seed(options.seed)
    import jax
    import numpy as np

    from coverjax.logs.writing import write_declared, write_log
    from coverjax.report.plain import to_json, write_json
    from coverjax.report.sequence_tables import draw_document, draw_text, write_texts
    from coverjax.sequences.generation import draw
    from coverjax.sequences.roles import inputs_of
    from coverjax.sequences.tasks.registry import task

    model = _model(options.model, "draw")
    subject = task(options.task or model.task)
    inputs = inputs_of(subject, np.random.default_rng(options.seed), options.inputs, options.role)
    latents = None
    if options.latents == "each":
        _require_latents(model, options.model)
        latents = np.arange(options.samples) % model.latents
    with out_folder(options.out) as part:
        drawn = draw(
            jax.random.key(options.seed),
            model,
            subject,
            inputs,
            options.samples,
            latents=latents,
            temperature=options.temperature,
            top_p=options.top_p,
        )
        told = draw_document(
            drawn,
            command=command_line("sequences draw", options),
            options=plain(options),
            files=file_facts(options.file, options.model),
        )
        text = to_json(told)
        written = []
        if part is not None:
            write_log(drawn.log, part / "log.jsonl")
            write_declared(drawn.log, part / "declared.csv")
            write_texts(drawn, part / "texts.csv")
            write_json(part / "summary.json", text)
            written = ["log.jsonl", "declared.csv", "texts.csv", "summary.json"]
    finish(options.out, written, text if options.json else draw_text(drawn))


def evaluate_command(options: EvaluateOptions) -> None:
    """Evaluate and explore, write, print."""
    check_seed(options.seed)
    from coverjax.report.plain import to_json

    model = _model(options.model, "evaluate")
    if not model.dimensions:
        _require_latents(model, options.model)
    with out_folder(options.out, _evaluation_files()) as part:
        study, document, said, write = _study(options, model)
        told = document(
            study,
            level=options.level,
            command=command_line("sequences evaluate", options),
            options=plain(options),
            files=file_facts(options.file, options.model, options.base),
        )
        text = to_json(told)
        written = [] if part is None else write(study, text, part, options.level)
    finish(options.out, written, text if options.json else said(study, options.level))


def _evaluation_files() -> tuple[str, ...]:
    from coverjax.report.sequence_tables import evaluation_files
    from coverjax.sequences.continuous_exploration import DRAWS
    from coverjax.sequences.exploration import BASE, POLICIES, ROUTER

    return evaluation_files((BASE, ROUTER, *POLICIES, *DRAWS))


def _study(options: EvaluateOptions, model: Any) -> tuple[Any, Any, Any, Any]:
    """Return what is measured on a model, and what tells, prints and writes it."""
    import jax

    from coverjax.report import continuous_tables, sequence_tables
    from coverjax.sequences.continuous_study import judged_continuous
    from coverjax.sequences.language_model import LanguageModel
    from coverjax.sequences.studies import judged
    from coverjax.sequences.tasks.registry import task

    base = None if options.base is None else LanguageModel.read(options.base)
    subject = (jax.random.key(options.seed), task(model.task), model, base)
    names = ("development", "test", "trials", "budget", "level")
    given: dict[str, Any] = {name: getattr(options, name) for name in names}
    if options.policies:
        given["methods" if model.dimensions else "policies"] = options.policies
    if model.dimensions:
        tables: Any = continuous_tables
        told = (tables.continuous_document, tables.continuous_text, tables.write_continuous)
        return judged_continuous(*subject, **given), *told
    tables = sequence_tables
    told = (tables.study_document, tables.study_text, tables.write_study)
    return judged(*subject, samples=options.samples, **given), *told


VERBS: dict[str, tuple[Any, Callable[[Any], None]]] = {
    "fit": (FitOptions, fit_command),
    "factorize": (FactorizeOptions, factorize_command),
    "draw": (DrawOptions, draw_command),
    "evaluate": (EvaluateOptions, evaluate_command),
}
