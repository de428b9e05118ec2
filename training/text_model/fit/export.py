"""Writes a fitted model as the compact file that the classifier reads without scikit-learn or numpy."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ....classifier.text_model.shipped import FORMAT, About, TextModel
from .fitted import Fitted


def packed(model: Fitted) -> bytes:
    """Return the bytes of ``text.bin``; the same model gives the same bytes."""
    import numpy as np

    vocabulary, words = model.vocabulary, model.profiles.words
    parts = (
        (vocabulary.keys, "<u4"), (vocabulary.rarity, "<f4"), (model.scales, "<f4"), (model.estimator.intercept_, "<f4"),
        (words.indptr, "<u4"), (words.indices, "<u2"), (words.data, "<u2"), (model.profiles.kinds, "u1"), (model.quantised, "i1"),
    )  # fmt: skip
    return b"".join(np.asarray(part).astype(kind).tobytes(order="C") for part, kind in parts)


def described(model: Fitted) -> About:
    """Return what the classifier must know to read ``text.bin``."""
    return {
        "format": FORMAT, "buckets": model.buckets, "terms": len(model.keys), "entries": model.profiles.words.nnz, "profiles": len(model.profiles.kinds), "unseen": model.vocabulary.unseen,
        "unseen_gram": model.vocabulary.unseen_gram, "temperature": model.temperature,
        "threshold": model.threshold, "confidence": model.confidence.weights,
    }  # fmt: skip


def export(model: Fitted, folder: Path, about: dict[str, Any]) -> str:
    """Write ``text.bin`` and ``text.json`` into ``folder``; return the SHA-256 of the former."""
    folder.mkdir(parents=True, exist_ok=True)
    data = packed(model)
    digest = hashlib.sha256(data).hexdigest()
    told = {**about, **described(model), "sha256": digest}
    (folder / "text.bin").write_bytes(data)
    (folder / "text.json").write_text(json.dumps(told, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return digest


def as_shipped(model: Fitted) -> TextModel:
    """Return the model as the classifier reads it."""
    return TextModel(packed(model), described(model))
