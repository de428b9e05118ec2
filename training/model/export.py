"""Writes a fitted model as the compact file that the classifier reads without scikit-learn or numpy."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

from ...classifier.text_model import FORMAT
from .fit import Fitted


def export(model: Fitted, folder: Path, about: dict[str, Any]) -> str:
    """Write ``text.bin`` and ``text.json`` into ``folder``; return the file's SHA-256."""
    folder.mkdir(parents=True, exist_ok=True)
    count, width = len(model.keys), len(model.buckets)
    data = struct.pack(f"<{count}I", *model.keys) + struct.pack(f"<{count}f", *model.rarity)
    data += struct.pack(f"<{width}f", *model.estimator.intercept_)
    data += model.estimator.coef_.T.astype("<f2").tobytes(order="C")
    digest = hashlib.sha256(data).hexdigest()
    described = {
        "format": FORMAT, "sha256": digest, "buckets": model.buckets, "terms": count, "unseen": model.unseen,
        "temperature": model.temperature, "threshold": model.threshold, **about,
    }  # fmt: skip
    (folder / "text.bin").write_bytes(data)
    (folder / "text.json").write_text(json.dumps(described, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return digest
