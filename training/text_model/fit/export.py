"""Writes a fitted model as the compact file that the classifier reads without scikit-learn or numpy; or by joblib."""

from __future__ import annotations

import hashlib
import io
import json
from importlib.metadata import version
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


def keep(model: Fitted, path: Path) -> str:
    """Write the model with its scikit-learn estimator, for those who go on training; return the SHA-256."""
    import joblib

    buffer = io.BytesIO()
    joblib.dump(model, buffer, compress=3)
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    head = {"format": FORMAT, "sha256": digest, "scikit-learn": version("scikit-learn")}
    path.write_bytes(json.dumps(head).encode() + b"\n" + buffer.getvalue())
    return digest


def restore(path: Path) -> Fitted:
    """Read what :func:`keep` wrote: only files that you made yourself, as joblib runs what it reads.

    Raises:
        OSError: There is no such file.
        ValueError: It is no such file, was changed, or another scikit-learn wrote it; the message says which.
    """
    import joblib

    first, _, data = path.read_bytes().partition(b"\n")
    try:
        head = json.loads(first)
        form, digest, written = head["format"], head["sha256"], head["scikit-learn"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is no model kept by joblib") from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError(f"{path}: its SHA-256 is not the one that was written with it")
    installed = version("scikit-learn")
    # Estimators are promised to nobody across releases of scikit-learn.
    if (form, written) != (FORMAT, installed):
        told = f"{path} has layout {form} of scikit-learn {written}; installed are layout {FORMAT} and {installed}"
        raise ValueError(f"{told}: train it anew, or install scikit-learn {written}")
    model = joblib.load(io.BytesIO(data))
    if not isinstance(model, Fitted):
        raise ValueError(f"{path} holds no text model")  # noqa: TRY004 (the file is wrong, not the argument)
    return model
