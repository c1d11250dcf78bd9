"""Attacks on what came last: saved policies, planning models, automata, forged evidence, reports under a limit."""

from __future__ import annotations

import json
import random
import shutil
from contextlib import suppress
from pathlib import Path

from benchmarks.hostile.attempt import run, write
from benchmarks.hostile.format_seeds import SAVED
from benchmarks.hostile.mutate import mutated
from benchmarks.hostile.siege import LIMIT, Family, Fault, Siege
from benchmarks.hostile.structured import changed_json, changed_members, either
from benchmarks.never_wrong_forged import genuine
from tests.forged_boxes import box_subject
from tests.forged_flows import flow_subject
from tests.forged_judge import FAULTS, judged_by
from tests.forged_tasks import finite_subject
from tests.forgeries import KINDS, Workshop, distinct, forged, signed
from tests.jani_models import write_planning_files
from vernal.cli import exits
from vernal.evidence.judgement import Judgement

PROPERTIES = 60  # of a task that has a report
QUICK_ENGINES = ("explicit", "invariants", "falsify")
JUDGEMENTS = {exits.OK: Judgement.ACCEPTED, exits.UNDECIDED: Judgement.UNDECIDED}
IN_JSON = either(mutated, changed_json)


def saved(siege: Siege, chance: random.Random) -> Fault:
    """A mutated policy of stable-baselines3, or mutated statistics for one, converted."""
    target = ["convert", str(siege.folder / "saved.zip"), str(siege.folder / "converted.onnx")]
    if chance.random() < 0.3:
        shutil.copy(SAVED / "normalised.zip", siege.folder / "saved.zip")
        statistics = write(siege.folder, "saved.pkl", mutated((SAVED / "normalised.pkl").read_bytes(), chance))
        return run([*target, "--normalise", str(statistics)], LIMIT, siege.slack).fault(LIMIT, siege.slack)
    seed = chance.choice(sorted(SAVED.glob("*.zip")))
    write(siege.folder, "saved.zip", chance.choice((mutated, changed_members))(seed.read_bytes(), chance))
    return run(target, LIMIT, siege.slack).fault(LIMIT, siege.slack)


def planning(siege: Siege, chance: random.Random) -> Fault:
    """A drawn planning model with its property and policy, one of them mutated, checked by any engine."""
    folder = siege.folder / "planning"
    folder.mkdir(exist_ok=True)
    files = write_planning_files(chance.randrange(100), folder)
    others = ["model.jani", "pa.jani", *(["policy.jani2nnet", "policy.nnet"] if files.policy else [])]
    name = chance.choice(others)
    mutation = mutated if name.endswith(".nnet") else IN_JSON
    write(folder, name, mutation((folder / name).read_bytes(), chance))
    engine = chance.choice(("auto", "predicates", "explicit", "paths"))
    command = ["check", str(files.model), "--property", files.property, "--constant", "K=2", "--engine", engine]
    return siege.ask(command)[1]


def configurations(siege: Siege, chance: random.Random) -> Fault:
    """A mutated configuration of SpaceEx, which Vernal writes and does not read."""
    config = siege.seeds.flows.automata[0].with_suffix(".cfg")
    file = write(siege.folder, "model.cfg", mutated(config.read_bytes(), chance))
    ended, fault = siege.ask(["check", str(file)])
    return fault or (None if ended.code == exits.BAD_INPUT else f"ended with {ended.code}")


def forgeries(siege: Siege, chance: random.Random) -> Fault:
    """Forged evidence with a hash that fits: accepted only if it is true, and forces what it says."""
    draw = finite_subject if chance.random() < 0.75 else box_subject
    subject = draw(chance, siege.folder, "forged")
    found = distinct(list(genuine(subject, [subject.formula(chance)], QUICK_ENGINES, 0.3, lambda why: None)))
    if not found:
        return None
    content = chance.choice(found)
    made = forged(Workshop(chance, subject, content, chance.choice(found)), chance.choice(list(KINDS)))
    if made is None:
        return None
    file = write(siege.folder, "forged.json", json.dumps(made).encode())
    ended = run(["replay", str(file)], LIMIT, siege.slack)
    outcome = judged_by(JUDGEMENTS.get(ended.code, Judgement.REJECTED), made, subject)
    wrong = f"{outcome}: {made['formula']} {made['verdict']} by a {made['evidence']}" if outcome in FAULTS else None
    return ended.fault(LIMIT, siege.slack) or wrong


def pipes(siege: Siege, chance: random.Random) -> Fault:
    """A mutated flowpipe, with a hash that fits or without: replayed, or refused in one message."""
    subject = flow_subject(chance, siege.folder, "flow")
    found = list(genuine(subject, [subject.formula(chance) for _ in range(3)], ("flowpipe",), 3, lambda why: None))
    if not found:
        return None
    data = IN_JSON(json.dumps(chance.choice(found)).encode(), chance)
    with suppress(ValueError, RecursionError, TypeError, AttributeError):  # where it is no JSON any more
        data = json.dumps(signed(json.loads(data))).encode() if chance.random() < 0.7 else data
    file = write(siege.folder, "flow.pipe.json", data)
    return run(["replay", str(file), "--timeout", str(LIMIT)], LIMIT, siege.slack).fault(LIMIT, siege.slack)


def reports(siege: Siege, chance: random.Random) -> Fault:
    """A report on many properties at a small limit: in time, and written whole or not at all."""
    limit, file = chance.choice((0.5, 1.0, 3.0)), siege.folder / "report.html"
    file.unlink(missing_ok=True)
    task = _many_properties(siege, chance)
    _, fault = siege.ask(["check", str(task), "--report", str(file), "--memory", "1"], limit)
    if fault is None and file.exists() and not file.read_text(encoding="utf-8").rstrip().endswith("</html>"):
        return "the report is not whole"
    return fault


def _many_properties(siege: Siege, chance: random.Random) -> Path:
    """A task that asks for many paths, to be drawn in its report; a flow now and then."""
    base = chance.choice((siege.seeds.room, siege.seeds.flows.jet))
    head, _, _ = base.read_text(encoding="utf-8").partition("[properties]")
    name, ends = ("T", (18.0, 21.0)) if base == siege.seeds.room else ("y", (-0.7, 0.3))
    lines = [
        f'p{i} = "G[0,{chance.choice((1, 4, 9)) / (1 if name == "T" else 10)}] ({name} <= {chance.uniform(*ends):.4f})"'
        for i in range(chance.choice((5, PROPERTIES)))
    ]
    return write(siege.folder, "many.toml", "\n".join([head, "[properties]", *lines, ""]).encode())


FILE_FAMILIES: dict[str, tuple[Family, int]] = {  # with the share of each
    "saved": (saved, 3),
    "planning": (planning, 4),
    "configurations": (configurations, 1),
    "forgeries": (forgeries, 4),
    "pipes": (pipes, 3),
    "reports": (reports, 2),
}
