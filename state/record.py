"""The base of every record: frozen, strict about unknown fields, plain JSON out."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen pydantic record that is stored as plain JSON values."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    def plain(self) -> dict[str, Any]:
        """Return the record as JSON values, fit for a checkpoint or a store."""
        return self.model_dump(mode="json")

    def but(self, **changes: Any) -> Self:
        """Return a validated copy with some fields changed."""
        return type(self).model_validate({**self.model_dump(), **changes})
