"""How many workers can one run feed? `python -m benchmarks.scale [--workers N] [--jobs N] [--sleep S]`.

First the costs of a job in a pool and in a folder, measured with two workers and jobs that do nothing; then a run with
N worker processes that sleep instead of computing, beside what the model says of it; then the model for more workers,
with jobs as long as the cells of a sweep of VerticalCAS are, and with losses. Times are those of the wall: sleeping
takes no processor, but a machine with other work is slower.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from benchmarks.measure import setting, table
from benchmarks.scale.model import Costs, modelled
from vernal.queries.public_sweep import sweep
from vernal.run.budget import Budget
from vernal.run.executor import MAX_JOBS_PER_WORKER, Executor, carry_out
from vernal.run.folder_executor import serving
from vernal.run.folder_worker import FolderWorker
from vernal.run.job_folder import JobFolder
from vernal.run.journal import Occasion
from vernal.run.worker import Job, Worked, named

SUBJECT = Occasion("sleep", "none", None)
VCAS = Path(__file__).parent.parent.parent / "examples" / "vcas" / "vcas.toml"
MANY = (1, 2, 16, 64, 256, 1024, 4096)


def sleep(job: Job, budget: Budget) -> Worked:
    """A job that takes its time and computes nothing."""
    time.sleep(job.part)
    return Worked({"final": True})


def jobs(count: int, seconds: float) -> list[Job]:
    return [Job(str(number), named(sleep), None, seconds, light=True) for number in range(count)]


def work(path: Path) -> None:
    FolderWorker(JobFolder.join(path), [named(sleep)], 60.0).go()


def in_folder(count: int, seconds: float, workers: int) -> tuple[float, float]:
    """Seconds of the wall from the first answer's job on, and of the driver's processor, of so many jobs."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as temporary, serving(Path(temporary) / "jobs", SUBJECT) as run:
        processes = [context.Process(target=work, args=(run.folder.path,), daemon=True) for _ in range(workers)]
        for process in processes:
            process.start()
        while len(run.folder.signs()) < workers:
            time.sleep(0.01)
        found = drained(run, jobs(count, seconds))
        run.folder.finish()
        for process in processes:
            process.join(30)
    return found


def drained(executor: Executor, asked: Sequence[Job]) -> tuple[float, float]:
    began, used = time.monotonic(), time.process_time()
    with closing(executor.run(asked, Budget())) as finished:
        done = sum(one.outcome is not None for one in finished)
    assert done == len(asked), (done, len(asked))
    return time.monotonic() - began, time.process_time() - used


def in_pool(count: int, seconds: float, workers: int) -> tuple[float, float]:
    began, used = time.monotonic(), time.process_time()
    done = sum(one.outcome is not None for one in carry_out(jobs(count, seconds), Budget(workers=workers)))
    assert done == count, (done, count)
    return time.monotonic() - began, time.process_time() - used


def cell_seconds() -> list[float]:
    """How long the cells of a sweep take, as they come."""
    rows = sweep(VCAS, {"v0": "-30..-10..1", "k": "1..6"}, property="safe")
    return [row.result.seconds for row in rows]


def main() -> None:
    """Measure, run and model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=1280)
    parser.add_argument("--sleep", type=float, default=0.5)
    options = parser.parse_args()
    print(setting())
    costs = {}
    for name, run in (("pool", in_pool), ("folder", in_folder)):
        wall, used = run(500, 0.0, 2)
        costs[name] = Costs(used / 500, max(0.0, wall - used) / 500, 0.01 if name == "pool" else 0.05)
        figures = (
            f"{1e3 * wall / 500:.2f} ms a job that does nothing, {1e3 * used / 500:.2f} ms of the driver's processor"
        )
        print(f"{name}: {figures}")
    rows = []
    ideal = options.jobs * options.sleep / options.workers
    for name, run in (("pool", in_pool), ("folder", in_folder)):
        wall, used = run(options.jobs, options.sleep, options.workers)
        driver = replace(costs[name], driver=used / options.jobs)
        said = modelled([options.sleep] * options.jobs, options.workers, driver, chunk=max(1, int(1 / options.sleep)))
        figures = (wall, options.jobs / wall, said.seconds, options.jobs / said.seconds, ideal, 1e3 * driver.driver)
        rows.append([name, *(f"{figure:.4g}" for figure in figures)])
    head = ["executor", "s", "jobs/s", "model s", "model jobs/s", "ideal s", "driver ms/job"]
    print(f"\n{options.workers} workers that sleep {options.sleep:g} s, {options.jobs} jobs\n{table(head, rows)}")
    print(f"\nthe model, cells of VerticalCAS and cells of a second\n{_far(costs['folder'])}")


def _far(costs: Costs) -> str:
    cells = cell_seconds()
    rows = []
    for workers in MANY:
        row = [f"{workers:,}"]
        for lengths, chunk, loss in ((cells, MAX_JOBS_PER_WORKER, 0.0), ([1.0], 1, 0.0), ([1.0], 1, 1 / 600)):
            count = max(200 * workers, 10_000) // (1 if workers < 1024 else 4)
            many = [lengths[number % len(lengths)] for number in range(count)]
            said = modelled(many, workers, costs, chunk=chunk, loss=loss)
            row += [f"{100 * said.used:.0f} %", f"{100 * said.driver:.0f} %"]
        rows.append(row)
    head = ["workers", "short: used", "driver", "1 s: used", "driver", "1 s, lost every 10 min: used", "driver"]
    return table(head, rows)


if __name__ == "__main__":
    main()
