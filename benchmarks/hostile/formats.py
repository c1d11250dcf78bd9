"""Every format that Vernal reads: files to start from, ways to change them, and how one is read."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import vernal as vn
from benchmarks.hostile.checker_formats import checker_formats
from benchmarks.hostile.format_seeds import FormatSeeds, K, read_room_map
from benchmarks.hostile.mutate import mutated
from benchmarks.hostile.structured import (
    IN_JSON,
    Mutation,
    changed_json,
    changed_lines,
    changed_members,
    either,
    packed,
    resigned,
)
from vernal.engines.check import parse_formula
from vernal.evidence.result import VIOLATED
from vernal.formats.convert import normalised
from vernal.formats.jani.planning_task import load_jani
from vernal.formats.networks import read_network
from vernal.formats.predicates import with_predicates
from vernal.formats.vnnlib.reader import read_query
from vernal.interpret.concrete import evaluate
from vernal.logic.task import Task
from vernal.model.network import Network
from vernal.queries.files import read_list
from vernal.queries.grid import parse_over
from vernal.queries.model import load_model

Read = Callable[[Path], object]
SECONDS = 2.0  # of the engine that resumes from a journal


class Changed(Exception):
    """A file changed an answer."""


@dataclass(frozen=True)
class Format:
    """Proper files, how they are changed, and how one is read."""

    seeds: Sequence[Path]
    mutation: Mutation
    read: Read

    def attack(self, chance: random.Random) -> Path:
        """A mutated file beside the one it is made from, under a name of this process."""
        seed = chance.choice(self.seeds)
        file = seed.with_name(f"mutated{os.getpid()}{''.join(seed.suffixes[-2:])}")
        file.write_bytes(self.mutation(seed.read_bytes(), chance))
        return file


def formats(seeds: FormatSeeds) -> dict[str, Format]:
    """All of them, by what they are called."""
    read = {**_tasks(seeds), **_networks(seeds), **_planning(seeds), **_evidence(seeds), **_texts(seeds)}
    return {**read, **{name: Format(*one) for name, one in checker_formats(seeds).items()}}


def _tasks(seeds: FormatSeeds) -> dict[str, Format]:
    return {
        "task (.toml)": Format(seeds.tasks, mutated, lambda file: _told(vn.load(file))),
        "world (.toml)": Format(seeds.worlds, mutated, _read_world),
        "predicates (.toml, .json)": Format(seeds.predicates, mutated, partial(_read_predicates, seeds)),
        "map (.json)": Format(seeds.maps, either(mutated, IN_JSON), partial(read_room_map, seeds.folder)),
        "journal": Format(seeds.journals, either(mutated, changed_lines), partial(_read_journal, seeds)),
    }


def _networks(seeds: FormatSeeds) -> dict[str, Format]:
    found, network = seeds.networks, seeds.networks["onnx"][0]
    statistics = seeds.folder / "normalised.zip"
    return {
        "ONNX": Format(found["onnx"], mutated, _read_network),
        "ONNX, compressed (.gz)": Format(found["gz"], packed, _read_network),
        "NNet": Format(found["nnet"], mutated, _read_network),
        "MATLAB (.mat)": Format(found["mat"], mutated, _read_network),
        "YAML (.yml)": Format(found["yml"], mutated, _read_network),
        "XGBoost (.json)": Format(found["json"], either(IN_JSON, mutated), _read_network),
        "Keras (.h5)": Format(found["h5"], mutated, _read_network),
        "Keras (.keras)": Format(found["keras"], mutated, _read_network),
        "stable-baselines3 (.zip)": Format(found["zip"], either(mutated, changed_members), _read_network),
        "VecNormalize (.pkl)": Format(found["pkl"], mutated, lambda file: _evaluated(normalised(statistics, file))),
        "torch (.pth)": Format(found["pth"], mutated, _read_network),
        "VNN-LIB": Format(seeds.queries, mutated, lambda file: load_model(read_query(file), network)),
        "list of queries (.csv)": Format(seeds.lists, mutated, read_list),
    }


def _planning(seeds: FormatSeeds) -> dict[str, Format]:
    models = seeds.models
    policies = [file for model in models if (file := model.with_name("policy.jani2nnet")).exists()]
    interfaces = [model.with_name("policy.toml") for model in models]
    return {
        "JANI model": Format(models, IN_JSON, lambda file: _told(load_jani(file, property=_pa(file), constants=K))),
        "JANI property": Format([model.with_name("pa.jani") for model in models], IN_JSON, _read_property),
        "jani2nnet policy": Format(policies, IN_JSON, _read_policy),
        "policy interface (.toml)": Format(interfaces, mutated, _read_policy),
        "SpaceEx model (.xml)": Format(seeds.automata[:1], mutated, _read_task),
        "SpaceEx configuration (.cfg)": Format(seeds.configs, mutated, partial(_read_beside, seeds.automata[0])),
        "automaton (.json)": Format(seeds.automata[1:], IN_JSON, _read_task),
    }


def _evidence(seeds: FormatSeeds) -> dict[str, Format]:
    mutation = either(mutated, changed_json, resigned, resigned)
    return {kind: Format(files, mutation, vn.replay) for kind, files in seeds.evidence.items()}


def _texts(seeds: FormatSeeds) -> dict[str, Format]:
    room, jet = (vn.load(seeds.folder / f"{name}.toml") for name in ("room", "jet"))
    return {
        "formula": Format(seeds.texts["formula"], mutated, partial(_read_formula, room)),
        "formula of a flow": Format(seeds.texts["flow formula"], mutated, partial(_read_formula, jet)),
        "parameter (--set)": Format(seeds.texts["setting"], mutated, partial(_read_setting, seeds)),
        "values (--over)": Format(seeds.texts["axis"], mutated, lambda file: parse_over(_text(file))),
    }


# How files are read that need others beside them ----------------------------------------------------------------------


def _told(task: Task) -> str:
    """A task in words, which looks at all of it."""
    return vn.explain(task)


def _read_task(file: Path) -> str:
    return _told(vn.load(file))


def _read_beside(model: Path, config: Path) -> str:
    """A configuration with a proper model beside it."""
    beside = config.with_suffix(model.suffix)
    beside.write_bytes(model.read_bytes())
    return _read_task(beside)


def _read_network(file: Path) -> object:
    return _evaluated(read_network(file))


def _evaluated(network: Network) -> object:
    """What a network says of nothing and of something."""
    sizes = [network.inputs, *(var for var, _ in network.memory)]
    return [evaluate(network.roots, {var: np.full((1, var.size), x) for var in sizes}) for x in (0.0, 1.5)]


def _pa(file: Path) -> str:
    return f"{file.with_name('pa.jani')}#0"


def _read_property(file: Path) -> object:
    return _told(load_jani(file.with_name("model.jani"), property=f"{file}#0", constants=K))


def _read_policy(file: Path) -> object:
    return _told(load_jani(file.with_name("model.jani"), property=_pa(file), policy=file, constants=K))


def _read_world(file: Path) -> object:
    """A task that builds on the world."""
    task = file.with_name(f"on{file.name}")
    text = file.with_name("driven.toml").read_text(encoding="utf-8")
    task.write_text(text.replace("world.toml", file.name), encoding="utf-8")
    return vn.load(task)


def _read_predicates(seeds: FormatSeeds, file: Path) -> object:
    return with_predicates(vn.load(seeds.folder / "corridor.toml"), str(file))


def _read_journal(seeds: FormatSeeds, file: Path) -> object:
    """Resume from it; the claim is true, and stays so."""
    task = vn.load(seeds.folder / "room.toml")
    found = vn.check(task, property="mild", engine="paths", journal=file, timeout=SECONDS)
    if found["mild"].verdict is VIOLATED:
        raise Changed("a mutated journal changed the verdict")
    return found


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "replace")


def _read_formula(task: Task, file: Path) -> object:
    return parse_formula(task, _text(file))


def _read_setting(seeds: FormatSeeds, file: Path) -> object:
    return vn.load(seeds.folder / "room.toml", {"warmth": _text(file)})
