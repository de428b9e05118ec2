"""Writes a user's model as the file that the classifier reads: checksums of terms, buckets and counts, no text of a log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...classifier.text_model.user import FILE, FORMAT, digest
from .model import UserModel
from .training_set import OwnSet
from .validate import Validation


def write(model: UserModel, folder: Path, made: OwnSet, checked: Validation) -> Path:
    """Write the model into ``folder`` and return its path.

    Raises:
        OSError: The folder cannot be written.
    """
    columns = model.weights.T.tolist()
    rows = zip(model.vocabulary.keys, model.vocabulary.rarity, columns, strict=True)
    about: dict[str, Any] = {
        "format": FORMAT,
        "buckets": model.buckets,
        "titles": made.titles,
        "threshold": model.threshold,
        "temperature": model.temperature,
        "unseen": model.vocabulary.unseen,
        "intercept": model.intercept.tolist(),
        "terms": {str(key): [rarity, *column] for key, rarity, column in rows},
        "training": {"logs": len(made.rows), "sha256": made.sha256(),
                     "failures": {bucket: made.groups(bucket) for bucket in made.buckets}},
        "validation": checked.as_data(),
    }  # fmt: skip
    about["sha256"] = digest(about)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    path.write_text(json.dumps(about, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
