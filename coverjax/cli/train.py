"""`coverjax train`: fit a policy to coverage on a known router-generator, and compare it with others."""

import contextlib
import dataclasses
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from coverjax.cli.laws import OUTPUTS as TABLES
from coverjax.cli.laws import LawChoice, check_rare, chosen_policies, law_of
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
from coverjax.cli.progress import Progress
from coverjax.curves import Curves
from coverjax.foundation.checks import InputError, shown

POLICY, HISTORY, UNFINISHED = "policy.npz", "history.csv", "unfinished-training.npz"

OUTPUTS = (POLICY, HISTORY, "training.png", "training.svg", *TABLES)
"""What may be written; what an earlier run left of these goes."""

MADE = ("LatentIID", "LatentSchedule")
"""Policies without settings of their own in training."""

MOST, MOST_DRAWS = (1 << 31) - 1, 1 << 20
"""The most simulated runs, and the most draws that a policy is trained on."""


@dataclasses.dataclass(frozen=True)
class TrainOptions(LawChoice):
    """Train a policy on a known router-generator, and compare it with the others.

    coverjax train learn.toml --out learned
    coverjax exact --law other-model.csv --policy learned/policy.npz GreedyLatent OptimalLatent
    """

    policy: str = "LearnedLatent"
    """What to train: LearnedLatent (a network), LatentIID (a router an input), LatentSchedule (a router an
    input and draw), module:Class of your own, or a trained policy's file (.npz) to go on from."""
    network: Literal["set", "mlp", "table"] = "set"
    """LearnedLatent: set carries over to other models; mlp is for latents that mean the same on all inputs;
    table is a row of logits for every input (and, seeing outcomes, every draw and seen set)."""
    width: int = 24
    """LearnedLatent: size of the network's hidden layers."""
    sees: Literal["blind", "latents", "outcomes"] = "outcomes"
    """LearnedLatent: what it sees while it runs."""
    knows: Literal["nothing", "router", "true_W"] = "true_W"
    """LearnedLatent: what it knows beforehand."""
    memory: Literal["set", "counts"] = "set"
    """LearnedLatent: the set of strategies seen, or how often each latent gave each of them."""
    budget: int = 16
    """Number of draws K."""
    objective: Literal["auc", "coverage", "log_coverage", "full_coverage", "gain"] = "auc"
    """What is made large; coverage and full_coverage are those of K draws."""
    steps: int = 1_000
    """Number of updates."""
    learning_rate: float | None = None
    """Of Adam, at its largest. Default: 0.4 for tables, 0.003 for networks."""
    decay: Literal["cosine", "constant"] = "cosine"
    """How the learning rate falls."""
    warmup: int = 0
    """Updates over which the learning rate rises."""
    batch: int | None = None
    """Inputs of one update. Default: all."""
    held_out: float = 0.0
    """Share of the inputs that is not trained on: the policy is chosen, judged and compared on them."""
    every: int = 50
    """Updates between two evaluations."""
    patience: int | None = None
    """Stop after so many evaluations without a better one."""
    seeds: int = 1
    """Independent trainings side by side; the best is kept."""
    gradient: Literal["auto", "exact", "score", "regret"] = "auto"
    """exact: through the closed forms; score: from simulated runs; regret: from simulated runs, with what
    each choice loses against the optimal plan."""
    trials: int = 16
    """Simulated runs of each input in an update (score, regret)."""
    kl: float = 0.0
    """Weight of the divergence from the base router."""
    entropy: float = 0.0
    """Weight of the choices' entropy."""
    weights: tuple[float, ...] = ()
    """What each strategy counts, in the order of the law's strategies. Default: all the same."""
    coverage: Literal["raw", "valid", "correct"] = "raw"
    """Which draws count."""
    against: tuple[str, ...] = ()
    """Policies to compare it with, as for `coverjax exact --policy`. Default: all that the law allows."""
    runs: int = 1_024
    """Simulated runs of each input of policies that have no exact curves."""
    rare_below: float = 1.0
    """A strategy is rare when its base probability x K is below this."""
    out: pathlib.Path | None = None
    """Folder for policy.npz, history.csv, curves.csv, inputs.csv, summary.json and the figures."""
    resume: bool = False
    """Go on with the unfinished training in --out. It ends with the bytes of one never interrupted."""
    json: bool = False
    """Print summary.json on stdout, and nothing else there."""
    seed: int = 0
    """Seed of everything random."""


def run(argv: Sequence[str]) -> None:
    """Run the verb with these arguments."""
    options = parse_with_file(TrainOptions, "train", argv)
    with _named(options):
        _check(options)
    from coverjax.policy.registry import TRAINED
    from coverjax.report.plain import to_json
    from coverjax.report.policy_study import document
    from coverjax.report.policy_tables import policy_text
    from coverjax.report.training_report import training_facts, training_text

    with out_folder(options.out, OUTPUTS) as part, interruptible(options.out, UNFINISHED):
        with _named(options):
            policy, training = _trained(options)
        told = document(
            training.study,
            verb="train",
            command=command_line("train", options),
            options=plain(options),
            seed=options.seed,
            files=file_facts(
                options.file,
                options.law,
                options.declared,
                *(text for text in (options.policy, *options.against) if text.endswith(TRAINED)),
            ),
        )
        told["training"] = training_facts(training)
        written = [] if part is None else _write(policy, training, told, part)
    if options.out is not None:
        (options.out / UNFINISHED).unlink(missing_ok=True)
    finish(
        options.out,
        written,
        to_json(told) if options.json else f"{training_text(training)}\n{policy_text(training.study)}",
    )


def _check(options: TrainOptions) -> None:
    """Refuse before any work what can be refused."""
    check_seed(options.seed)
    check_rare(options.rare_below)
    for name, most in (("runs", MOST), ("budget", MOST_DRAWS)):
        value = getattr(options, name)
        if not 1 <= value <= most:
            raise InputError(f"--{name}: must be at least 1 and at most {most:,}; got {shown(value)}")
    if options.out is None:
        if options.resume:
            raise InputError("--resume: needs --out, the folder of the unfinished training")
        return
    refuse_unfinished(options.out / UNFINISHED, "training", options.resume)


@contextlib.contextmanager
def _named(options: TrainOptions) -> Iterator[None]:
    """Put the file's name before a complaint about a value that stands in it."""
    try:
        yield
    except InputError as error:
        name = str(error).partition(":")[0].removeprefix("--").replace("-", "_")
        if options.file is None or name not in {field.name for field in dataclasses.fields(options)}:
            raise
        line = _line(options.file, name)
        if line is None:
            raise
        raise InputError(f"{options.file}:{line}: {error}") from error


def _line(path: pathlib.Path, name: str) -> int | None:
    """Return the line of a TOML file where a name stands; None where it doesn't."""
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if text.partition("=")[0].strip().strip("\"'").replace("-", "_") == name:
            return number
    return None


# -- training --------------------------------------------------------------------------------------


def _trained(options: TrainOptions) -> tuple[Any, Any]:
    """Train, and study what came of it beside the others."""
    import jax

    from coverjax.learning.training import train_policy
    from coverjax.model.router_generator import RouterGenerator
    from coverjax.report.training_report import Training

    model = law_of(options, options.seed)
    if not isinstance(model, RouterGenerator):
        raise InputError(
            f"{options.law or options.family}: must be a router-generator, training chooses among its "
            "latents: a table with the columns latent and router, or --family confusion; got a law without"
        )
    try:
        others = chosen_policies(options.against, model)
    except InputError as error:
        raise InputError(f"against: {str(error).removeprefix('policy: ')}") from error
    if options.against:
        _require_fitting(others, model, options)
    kind, settings = _to_train(options)
    given = {name: getattr(options, name) for name in _training_settings()}
    given |= {"weights": list(options.weights) or None, "progress": None}
    if options.out is not None:
        given["checkpoint"] = options.out / UNFINISHED
    key = jax.random.key(options.seed)
    policy, history = train_policy(key, kind, model, options.budget, options.objective, **given, **settings)
    judged = history["judged"]
    held_out = len(judged) if len(judged) < model.inputs else 0
    name = f"trained {options.policy}"
    with Progress("train") as progress:
        study = _study(options, model.take(judged) if held_out else model, {name: policy}, others, progress)
    weighted = bool(options.weights)
    return policy, Training(name, options.objective, history, held_out, model.inputs, study, weighted)


def _require_fitting(others: dict[str, Any], model: Any, options: TrainOptions) -> None:
    """Raise before the training where a policy to compare with doesn't fit as many inputs as are judged."""
    from coverjax.policy.stage import knowledge, require_fit

    judged = model.take(range(max(1, round(options.held_out * model.inputs)))) if options.held_out else model
    for name, policy in others.items():
        try:
            require_fit(policy, judged)
            knowledge(policy, judged, options.budget)
        except InputError as error:
            if not getattr(policy, "no_sequence", ""):
                raise InputError(f"against: {name}: {error}") from error


def _training_settings() -> tuple[str, ...]:
    """Return the names that stand in `TrainConfig` too."""
    from coverjax.learning.config import TrainConfig

    config = {field.name for field in dataclasses.fields(TrainConfig)}
    return tuple(field.name for field in dataclasses.fields(TrainOptions) if field.name in config)


def _to_train(options: TrainOptions) -> tuple[Any, dict[str, Any]]:
    """Return what `train_policy` is to train, and the settings of its start."""
    from coverjax.policy.learned import LearnedLatent
    from coverjax.policy.registry import TRAINED, policies, policy_class, written_policy

    settings = ("network", "width", "sees", "knows", "memory")
    if options.policy == "LearnedLatent":
        return LearnedLatent, {name: getattr(options, name) for name in settings}
    changed = [name for name in settings if getattr(options, name) != getattr(TrainOptions, name)]
    if changed:
        raise InputError(f"{changed[0]}: is a setting of LearnedLatent; --policy is {shown(options.policy)}")
    if options.policy.endswith(TRAINED):
        return written_policy(options.policy), {}
    kind = policy_class(options.policy)
    if options.policy not in MADE and not callable(getattr(kind, "save", None)):
        why = "can't be trained" if options.policy in policies() else "must have a method save(path)"
        raise InputError(
            f"policy: {options.policy} {why}; train LearnedLatent, LatentIID, LatentSchedule, a trained "
            "policy's file, or module:Class with a classmethod start(key, model, budget) and a method "
            "save(path)"
        )
    return kind, {}


def _study(
    options: TrainOptions, model: Any, trained: dict[str, Any], others: dict[str, Any], progress: Progress
) -> Any:
    """Study the trained policy and the others on a model; who can't be had is named with the reason."""
    import jax

    from coverjax.report.policy_study import curves_of, study_policies

    curves: dict[str, Curves] = {}
    refused: dict[str, str] = {}
    for name, policy in (trained | others).items():
        progress.step(f"curves of {name}")
        try:
            key = jax.random.key(options.seed)  # common random numbers where curves are simulated
            curves[name] = curves_of(key, policy, model, options.budget, options.runs, options.coverage)
        except InputError as error:
            if options.against or name in trained:
                raise
            refused[name] = str(error).removeprefix(f"{name}: ")
    references = curves["IID"], curves["OracleNoRepeat"]
    return study_policies(curves, *references, rare_below=options.rare_below, refused=refused)


# -- what is written -------------------------------------------------------------------------------


def _write(policy: Any, training: Any, told: dict[str, Any], part: pathlib.Path) -> list[str]:
    from coverjax.cli.laws import write_study
    from coverjax.report.training_report import write_history, write_training_figures

    with Progress("train") as progress:
        _saved(policy).save(part / POLICY)
        write_history(training, part / HISTORY)
        figures = write_training_figures(training, part, progress.step)
        more = [POLICY, HISTORY, *figures]
        return write_study(training.study, told, part, progress, more)


def _saved(policy: Any) -> Any:
    """Return the policy as one that can be written: a schedule as a table of logits."""
    from coverjax.policy.learned import LearnedLatent
    from coverjax.policy.networks import TabularLogits
    from coverjax.policy.schedule import LatentSchedule

    if isinstance(policy, LatentSchedule):
        return LearnedLatent(TabularLogits(policy.logits), sees="blind")
    return policy
