"""Models that stable-baselines3 saved, without what training left in them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

KEPT = ("policy_class", "policy_kwargs", "observation_space", "action_space")


def slim(file: Path) -> None:
    """Keep the weights and how the policy was made; no schedules, statistics, optimisers, nor what the machine is."""
    with zipfile.ZipFile(file) as archive:
        settings, weights = json.loads(archive.read("data")), archive.read("policy.pth")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo("data"), json.dumps({key: settings[key] for key in KEPT}))
        archive.writestr(zipfile.ZipInfo("policy.pth"), weights, zipfile.ZIP_DEFLATED)
