"""A cluster whose processes end over their work, in the place of Ray."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from types import SimpleNamespace
from typing import Any

from vernal.run.budget import Budget
from vernal.run.job_text import JobReader
from vernal.run.ray_cluster import RayCluster
from vernal.run.worker import Job, Worked, named


def answer_nothing(job: Job, budget: Budget) -> Worked:
    """What is asked of the jobs below, if anybody asked."""
    return Worked({"part": job.part})


class Ended(Exception):
    """The process of the cluster ended."""


class Cluster:
    """Answers each chunk at once; one with a deadly job in it, and the first of several jobs, ends its process."""

    exceptions = SimpleNamespace(WorkerCrashedError=Ended)

    def __init__(self) -> None:
        self.chunks: list[list[str]] = []

    def remote(self, **options: Any) -> Callable[..., Any]:
        assert options["max_retries"] > 0
        return lambda answer: SimpleNamespace(remote=self.ask)

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}

    def ask(self, texts: Sequence[bytes], functions: Collection[str]) -> int:
        self.chunks.append([JobReader(functions).read(text).key for text in texts])
        return len(self.chunks) - 1

    def wait(self, chunks: Sequence[int], **_: Any) -> tuple[list[int], list[int]]:
        return list(chunks[:1]), list(chunks[1:])

    def get(self, chunk: int) -> list[str]:
        keys = self.chunks[chunk]
        if "deadly" in keys or (len(keys) > 1 and sum(len(one) > 1 for one in self.chunks[: chunk + 1]) == 1):
            raise Ended
        return [json.dumps(["done", {"key": key}, 0.01]) for key in keys]

    def cancel(self, chunk: int, *, force: bool) -> None:
        raise AssertionError(f"{chunk} was still under way")


def test_jobs_of_a_chunk_whose_process_ends_are_asked_one_by_one() -> None:
    cluster = Cluster()
    jobs = [Job(key, named(answer_nothing), None) for key in ("a", "b", "deadly", "c", "d", "e", "f")]
    runs = RayCluster(cluster, portion=4)
    found = {done.key: done for done in runs.run(jobs, Budget())}
    assert found.keys() == {job.key for job in jobs}
    assert [key for key, done in found.items() if done.outcome is None] == ["deadly"]
    assert found["deadly"].lost == "its worker ended early"
    assert len(cluster.chunks[0]) == 4
    assert ["a"] in cluster.chunks
