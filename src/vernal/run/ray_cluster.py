"""Sub-problems on a Ray cluster: their texts go out in chunks, texts of outcomes come back.

What is sent are the texts of `job_text`, which are read as those of a folder are. Ray asks again what a lost process
was at. It replaces handlers of signals when it starts; they are put back.
"""

from __future__ import annotations

import json
import signal
import threading
from collections import deque
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from vernal.errors import InputError, MissingExtra, Stopped
from vernal.run.budget import Budget
from vernal.run.executor import CHUNK_SECONDS, CLOCK_INTERVAL, MAX_JOBS_PER_WORKER, MAX_LOSSES, Finished
from vernal.run.job_text import JobReader, job_text
from vernal.run.worker import Job, answered

PER_SLOT = 2  # chunks under way for each processor
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def answer_texts(texts: list[bytes], functions: Collection[str]) -> list[str]:
    """What a process of the cluster does: answer some texts, each with a text."""
    import time

    from vernal.run.threads import one_blas_thread

    reader, found = JobReader(functions), []
    with one_blas_thread():
        for text in texts:
            began = time.monotonic()
            kind, said = answered(reader.read(text), Budget())
            found.append(json.dumps([kind, said, time.monotonic() - began], allow_nan=False))
    return found


@contextmanager
def connected(address: str, workers: int) -> Iterator[RayCluster]:
    """A cluster as an executor; without an address one on this machine, unless RAY_ADDRESS names one."""
    try:
        import ray
    except ImportError:
        raise MissingExtra("--on ray", "ray") from None
    main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in SIGNALS} if main else {}
    try:
        own = None if address else workers or None  # a cluster that is there has its own processors
        ray.init(address or None, num_cpus=own, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # of many kinds: it cannot be reached, refuses us, or has another version
        raise InputError(f"no Ray at {address or 'this machine'}: {str(error).splitlines()[0][:200]}") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    try:
        yield RayCluster(ray)
    finally:
        ray.shutdown()


@dataclass
class RayCluster:
    """An executor on a cluster."""

    ray: Any
    portion: int = 1
    again: deque[Job] = field(default_factory=deque)  # of chunks whose process ended: asked one by one
    under_way: dict[Any, list[Job]] = field(default_factory=dict)

    def run(self, jobs: Iterable[Job], budget: Budget) -> Generator[Finished, None, None]:
        stream = iter(jobs)
        ask = self.ray.remote(max_retries=MAX_LOSSES, num_cpus=1)(answer_texts)
        slots = PER_SLOT * max(1, int(self.ray.cluster_resources().get("CPU", 1)))
        try:
            while True:
                while len(self.under_way) < slots and (chunk := self._chunk(stream)):
                    yield from (Finished(job.key, job.known, recorded=True) for job in chunk if job.known is not None)
                    fresh = [job for job in chunk if job.known is None]
                    if fresh:
                        kinds = sorted({job.kind for job in fresh})
                        self.under_way[ask.remote([job_text(job) for job in fresh], kinds)] = fresh
                if not self.under_way:
                    return
                ready, _ = self.ray.wait(list(self.under_way), num_returns=1, timeout=CLOCK_INTERVAL)
                for one in ready:
                    yield from self._hear(one)
                budget.check()
        finally:
            for one in self.under_way:
                self.ray.cancel(one, force=True)
            self.under_way.clear()

    def _chunk(self, stream: Iterator[Job]) -> list[Job]:
        return [self.again.popleft()] if self.again else list(islice(stream, self.portion))

    def _hear(self, one: Any) -> Iterator[Finished]:
        asked = self.under_way.pop(one)
        try:
            found = [json.loads(text) for text in self.ray.get(one)]
        except self.ray.exceptions.WorkerCrashedError:
            self.portion = 1
            if len(asked) > 1:  # over one of them, or over none
                self.again.extend(asked)
            else:
                yield Finished(asked[0].key, None, "its worker ended early")
            return
        self._pace(sum(seconds for *_, seconds in found) / len(found))
        for job, (kind, said, _) in zip(asked, found, strict=True):
            match kind:
                case "done":
                    yield Finished(job.key, said)
                case "stopped":
                    raise Stopped(said)
                case "memory":
                    raise MemoryError
                case _:
                    raise RuntimeError(f"the sub-problem {job.key[:80]!r} failed:\n{said}")

    def _pace(self, seconds: float) -> None:
        """Chunks of about a second, at most twice as long as the last."""
        wanted = int(CHUNK_SECONDS / max(seconds, 1e-6))
        self.portion = max(1, min(wanted, 2 * self.portion, MAX_JOBS_PER_WORKER))
