"""Is forged evidence ever accepted? `python -m benchmarks.never_wrong_forged [--files N] [--seed S] [--keep FOLDER]`.

Random small tasks, finite ones, boxes of reals (tests/forged_tasks.py) and flows (tests/forged_flows.py), are checked
by every engine that gives evidence. Its files are forged in twenty ways (tests/forgeries.py), those about flows in ten,
all with hashes that fit, and replayed. What is accepted is judged by enumeration, or in closed form: it is *false* if
the verdict of the file is not the truth, and *without force* if the verdict is the truth but the evidence would be the
same if it were not (tests/forged_force.py). A
list made by hand comes first (tests/forged_by_hand.py). Prints a table; ends with 1 if anything was accepted that is
false, if replay or an engine failed, or if replay rejected what an engine gave as it was; with `--strict` also if
anything was accepted without force.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import vernal as vn
from benchmarks.measure import table
from tests.forged_boxes import box_subject
from tests.forged_by_hand import hand_made
from tests.forged_flows import FLOW_KINDS, FlowSubject, flow_subject
from tests.forged_judge import Judged, Outcome, judged
from tests.forged_tasks import Subject, finite_subject
from tests.forgeries import KINDS, Content, Workshop, distinct, forged
from vernal.engines.registry import engines
from vernal.evidence.evidence_file import document
from vernal.logic.formula import Formula

ENGINES = tuple(engine.name for engine in engines())
GENUINE, BY_HAND = "as the engine gave it", "made by hand"
FORMULAS = 4  # asked of each task
BOXES = 4  # one task in so many is a box of reals,
FLOWS = 10  # and one in so many is a flow
FLOW_ENGINES, FLOW_SECONDS = ("flowpipe", "falsify"), 5.0
ENGINE_SECONDS = 0.5
OF_SETS = tuple(kind for kind in KINDS if " of sets " in kind or kind == "component left out")
MORE_SETS = 3  # times more often: invariants are few
SHOWN = 20  # files of each outcome that are printed
COLUMNS = (
    Outcome.REJECTED,
    Outcome.UNCHECKED,
    Outcome.FORCED,
    Outcome.WITHOUT_FORCE,
    Outcome.FALSE,
    Outcome.CRASHED,
    Outcome.UNJUDGED,
)


@dataclass
class Run:
    """Forgeries of each kind, and what became of them."""

    folder: Path
    keep: Path | None = None
    seconds: float = ENGINE_SECONDS
    engines: Sequence[str] = ENGINES
    counts: dict[str, Counter[Outcome]] = field(default_factory=dict)
    by_evidence: Counter[str] = field(default_factory=Counter)
    failed: int = 0  # questions on which an engine failed
    last: list[Content] = field(default_factory=list)  # the files of the task before
    flows: list[Content] = field(default_factory=list)  # ... of the flow before

    @property
    def tried(self) -> int:
        """Forged files so far."""
        return sum(count.total() for kind, count in self.counts.items() if kind != GENUINE)

    def by_hand(self) -> None:
        """The fixed list; none of it may be accepted."""
        for one in hand_made(self.folder):
            self.by_evidence[one.content["evidence"]] += 1
            self._add(BY_HAND, one.judged(self.folder / "forged.json"), one.content, one.name)

    def task(self, seed: int) -> Iterator[None]:
        """All forgeries about one task; returns after each, so that a run may end there."""
        rng = random.Random(f"forged {seed}")
        if seed % FLOWS == FLOWS - 1:
            yield from self._flow(flow_subject(rng, self.folder, f"flow{seed}"), rng, seed)
            return
        subject = (finite_subject if seed % BOXES else box_subject)(rng, self.folder, f"task{seed}")
        formulas = [subject.formula(rng) for _ in range(FORMULAS)]
        found = distinct(list(genuine(subject, formulas, self.engines, self.seconds, self._fail)))
        for content in found:
            self._add(GENUINE, judged(content, subject, self.folder / "forged.json"), content, f"seed {seed}")
            for kind in (*KINDS, *(OF_SETS * MORE_SETS if "invariant" in content else ())):
                made = forged(Workshop(rng, subject, content, rng.choice(self.last or found)), kind)
                if made is not None:
                    self.by_evidence[made["evidence"]] += 1
                    self._add(kind, judged(made, subject, self.folder / "forged.json"), made, f"seed {seed}")
                    yield
        self.last = found or self.last

    def _flow(self, subject: FlowSubject, rng: random.Random, seed: int) -> Iterator[None]:
        """All forgeries about a flow."""
        formulas = [subject.formula(rng) for _ in range(FORMULAS)]
        found = distinct(list(genuine(subject, formulas, FLOW_ENGINES, FLOW_SECONDS, self._fail)))
        for content in found:
            self._add(GENUINE, judged(content, subject, self.folder / "forged.json"), content, f"seed {seed}")
            for kind in FLOW_KINDS:
                made = forged(Workshop(rng, subject, content, rng.choice(self.flows or found)), kind, kinds=FLOW_KINDS)
                if made is not None:
                    self.by_evidence[made["evidence"]] += 1
                    self._add(kind, judged(made, subject, self.folder / "forged.json"), made, f"seed {seed}")
                    yield
        self.flows = found or self.flows

    def _fail(self, why: str) -> None:
        self.failed += 1
        print(f"FAILED {why}", flush=True)

    def _add(self, kind: str, found: Judged, content: Content, where: str) -> None:
        self.counts.setdefault(kind, Counter())[found.outcome] += 1
        wrong = found.outcome in (Outcome.FALSE, Outcome.CRASHED, Outcome.WITHOUT_FORCE)
        if wrong or (kind == GENUINE and found.outcome is Outcome.REJECTED):
            claim = f"{content['formula']} {content['verdict']} by a {content['evidence']}"
            if sum(count[found.outcome] for count in self.counts.values()) <= SHOWN:
                print(f"{found.outcome}: {kind}, {where}: {claim}\n      {found.said[-300:]}", flush=True)
            if self.keep is not None:
                name = f"{found.outcome}-{kind}-{self.tried}.json".replace(" ", "_").replace(",", "")
                (self.keep / name).write_text(json.dumps(content, indent=2), encoding="utf-8")

    def total(self, outcome: Outcome) -> int:
        """How many forgeries ended so."""
        return sum(count[outcome] for kind, count in self.counts.items() if kind != GENUINE)

    @property
    def wrong(self) -> int:
        """What may never be."""
        genuine = self.counts.get(GENUINE, Counter())
        bad = genuine[Outcome.REJECTED] + genuine[Outcome.CRASHED] + genuine[Outcome.FALSE]
        return bad + self.total(Outcome.FALSE) + self.total(Outcome.CRASHED) + self.failed

    def table(self) -> str:
        rows = [[kind, *self._row(count)] for kind, count in self.counts.items()]
        rows += [["all forgeries", f"{self.tried:,}", *(f"{self.total(column):,}" for column in COLUMNS)]]
        kinds = ", ".join(f"{count:,} as {name}" for name, count in self.by_evidence.most_common())
        return f"{table(('forgery', 'tried', *COLUMNS), rows)}\nforged: {kinds}"

    def _row(self, count: Counter[Outcome]) -> list[str]:
        return [f"{count.total():,}", *(f"{count[column]:,}" for column in COLUMNS)]


def genuine(
    subject: Subject, formulas: Sequence[Formula], names: Sequence[str], seconds: float, fail: Callable[[str], None]
) -> Iterator[Content]:
    """The evidence that engines give for their answers; one that refuses gives none, and one that fails is told of."""
    for formula, engine in itertools.product(formulas, names):
        try:
            result = vn.check(subject.task, str(formula), engine=engine, timeout=seconds)
        except vn.VernalError:
            continue
        except Exception as error:
            fail(f"{engine}, {subject.file.name}: {formula}: {error!r}"[:300])
            continue
        if result.evidence is not None:
            yield document(subject.task, result)


def forge(run: Run, files: int, first: int) -> int:
    """Forge so many files, task after task; returns the seed that comes next."""
    seed = first
    while run.tried < files:
        for _ in run.task(seed):
            if run.tried >= files:
                break
        seed += 1
    return seed


def main(arguments: Sequence[str] | None = None) -> int:
    """Forge, judge, and print; 1 if anything was accepted that may not be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.never_wrong_forged", description="Forged evidence")
    parser.add_argument("--files", type=int, default=5000, metavar="N", help="how many are forged (default 5000)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the first task; the others follow")
    parser.add_argument("--timeout", type=float, default=ENGINE_SECONDS, metavar="S", help="for each engine")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write files that were wrongly accepted there")
    parser.add_argument("--strict", action="store_true", help="what is accepted without force is a failure, too")
    parser.add_argument("--engines", nargs="+", default=ENGINES, choices=ENGINES, metavar="NAME", help="that are asked")
    given = parser.parse_args(arguments)
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        run = Run(Path(temporary), given.keep, given.timeout, given.engines)
        run.by_hand()
        seed = forge(run, given.files, given.seed)
    print(f"tasks of the seeds {given.seed} to {seed - 1}, {time.monotonic() - began:.0f} s\n\n{run.table()}")
    return 1 if run.wrong or (given.strict and run.total(Outcome.WITHOUT_FORCE)) else 0


if __name__ == "__main__":
    sys.exit(main())
