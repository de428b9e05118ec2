"""What pydantic refuses is shown in our words, without the value."""

from typing import Self

import pytest
from pydantic import BaseModel, Field, ValidationError, model_validator

from vllm_triage.service.refusals import in_one_line, refusals


class Door(BaseModel):
    key: str = ""
    port: int = Field(default=1, le=65535)

    @model_validator(mode="after")
    def _locked(self) -> Self:
        if self.key == "lost":
            raise ValueError("the door needs a key")
        return self


def errors_of(**values: object) -> list[dict[str, object]]:
    with pytest.raises(ValidationError) as found:
        Door.model_validate(values)
    return found.value.errors()  # type: ignore[return-value]


def test_own_checks_stand_without_the_libraries_name_for_them() -> None:
    assert in_one_line(errors_of(key="lost"), "settings") == ["settings: the door needs a key"]


def test_a_field_is_named_and_its_value_is_not_shown() -> None:
    assert refusals(errors_of(port="secret")) == [
        (("port",), "Input should be a valid integer, unable to parse string as an integer")
    ]
