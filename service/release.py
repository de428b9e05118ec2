"""A vLLM release as programs name one in what they ask."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from ..classifier.errors import InputError
from ..classifier.question import Question

RELEASE = r"^v?\d{1,6}\.\d{1,6}(\.\d{1,6})?([.]?(rc|post|dev)\d{1,9})?$"


def _release(text: str | None) -> str | None:
    try:
        Question(vllm_version=text or "")
    except InputError as error:
        raise ValueError(str(error)) from None
    return text


Release = Annotated[
    str | None, Field(pattern=RELEASE, description="vLLM release to advise for", examples=["0.19.1"]),
    AfterValidator(_release),
]  # fmt: skip
