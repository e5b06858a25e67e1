"""A rung on the texts of the language model: written as logs, read back, estimated as anyone's are."""

from collections.abc import Mapping

from coverjax.demo.own_log import worth_table
from coverjax.demo.rungs import Preset, Rung, Shelf, Step
from coverjax.logs.log import SampleLog
from coverjax.logs.reading import read_log
from coverjax.logs.writing import write_declared, write_log
from coverjax.report.estimate_page import estimate_page
from coverjax.report.figures import write_figures
from coverjax.report.html import Figure
from coverjax.report.study import study_log
from coverjax.report.summary import summary, write_curves
from coverjax.report.text import file_stem

WORTH = ("pass_at_k", "pass_all_k", "majority_at_k")
SHOWN = ("coverage", "barcode")


def read_back(shelf: Shelf, preset: Preset, seed: int, step: Step, found: Mapping[str, Rung]) -> Rung:
    """Climb the rung: the logs of the rung before, through files and back."""
    logs: dict[str, SampleLog] = {}
    files, again = [], []
    step("writing the model's samples and reading them back")
    for name, log in found["2"].logs.items():
        file, declared = f"{file_stem(name)}.jsonl", "declared.csv"
        write_log(log, shelf.path(file))
        write_declared(log, shelf.path(declared))
        # A policy that looked back left an order that means something; independent samples have none.
        read = read_log(str(shelf.path(file)), declared=str(shelf.path(declared)), ordered=log.ordered)
        assert isinstance(read, SampleLog)
        logs[name] = read
        command = f"coverjax estimate {shelf.name(file)} --declared {shelf.name(declared)}"
        again.append(command + (" --ordered" if log.ordered else ""))
        files.append(shelf.name(file))
    step("estimating")
    study = study_log(dict(logs), seed=seed)
    told = summary(study, verb="demo", command="; ".join(again), options={"seed": seed})
    step("drawing")
    with shelf.apart() as place:
        write_curves(study, place / "curves.csv")
        drawn = ["curves.csv", *write_figures(study, place)]
    page = estimate_page(study, told, drawn)
    wanted = {shelf.name(stem) for stem in SHOWN}
    parts = [part for part in shelf.moved(page) if not isinstance(part, Figure) or part.stem in wanted]
    independent = next((log for log in logs.values() if not log.ordered), None)
    if independent is not None:
        parts.append(worth_table(independent, WORTH))
    return Rung(
        title="The model's own texts, read back as a log",
        answer=page.answer,
        again=again,
        parts=parts,
        cautions=page.cautions,
        told=told,
        files=[*files, shelf.name("declared.csv"), *(shelf.name(name) for name in drawn)],
    )
