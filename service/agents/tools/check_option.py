"""``check_option``: does a release of vLLM know an option, and how is it given there?"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, TypeAdapter

from ....classifier.errors import InputError
from ...option import OptionAnswer, as_text, check_option
from ..desk import Desk
from ..interface import Answer, Arguments, CannotError, Progress

TITLE = "Check a vLLM option against a release"
ABOUT = (
    "Say whether a release of vLLM has a flag (--max-model-len), a key of a JSON option (--compilation-config.mode), an "
    "environment variable (VLLM_USE_V1), an argument of LLM(...) or a metric; what it takes, its default, in which releases "
    "it exists, and what took its place. Ask before writing an option: they change from release to release."
)


class Asked(Arguments):
    """Which option of which release."""

    option: Annotated[str, Field(min_length=1, max_length=300, description="as it is written, with or without =VALUE")]
    release: Annotated[str, Field(max_length=40, description="0.19.1; default: the newest known")] = ""


def schema() -> dict[str, object]:
    """Return the schema of ``OptionAnswer``."""
    return TypeAdapter(OptionAnswer).json_schema(mode="serialization")


async def call(asked: Asked, _desk: Desk, _progress: Progress) -> Answer:
    """Answer from the table of options."""
    try:
        found = check_option(asked.option, asked.release)
    except InputError as error:
        raise CannotError(str(error)) from None
    return Answer(
        as_text(found),
        {key: told for key, told in found.to_dict().items() if told not in ("", [], False) or key == "exists"},
    )
