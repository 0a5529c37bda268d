"""What can be set about a server, in code or by variables `PHOTINUS_...` of the environment."""

import os
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from photinus.errors import ArgumentError

PREFIX = "PHOTINUS_"
MEMORY = "memory"  # as an address: a store that ends with the server
MIB = 2**20


class Settings(BaseModel):
    """Settings of one server process; each is also the variable of its name, such as `PHOTINUS_STORAGE`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    storage: str = Field("photinus.db", description="address of the store; `memory` for one without a file")
    tokens_required: bool = Field(
        True, description="whether requests need a token; without, only this machine is answered, as admin"
    )
    allowed_hosts: tuple[str, ...] = Field(
        (), description="names under which the server is reached; any if empty and tokens are required"
    )
    grpc_address: str | None = Field(
        None,
        description="address and port where google-vizier clients are answered, such as `127.0.0.1:28080`",
    )
    grpc_insecure: bool = Field(
        False, description="whether other machines may reach `grpc_address`, which asks nobody for a token"
    )
    session_key: SecretStr | None = Field(
        None,
        description="mixed into the signatures of dashboard sessions, the same on all servers of a store: "
        "a new one ends all sessions, and with one, a copy of the store does not help to prolong a stolen session",
    )
    session_s: float = Field(12 * 3600.0, gt=0, description="how long a dashboard session lasts")
    token_cache_s: float = Field(
        5.0, ge=0, description="how long a token is believed before the store is asked again"
    )

    device: Literal["cpu", "gpu"] = Field("cpu", description="where suggestions are computed")
    engine_threads: int = Field(4, ge=1, description="studies that are suggested for at the same time")
    max_queued_asks: int = Field(
        1000, ge=1, description="asks that may wait for a suggestion; more are refused with 429"
    )
    ask_timeout_s: float = Field(300.0, gt=0, description="how long an ask may wait; then it gets 504")
    grace_s: float = Field(20.0, ge=0, description="how long a stopping server finishes suggestions")

    store_threads: int = Field(12, ge=1, le=28, description="calls of the store at the same time")
    max_concurrent_requests: int = (
        Field(  # more than asks that may wait, or these would keep everybody else out
            2000, ge=1, description="requests being answered; more are refused with 429"
        )
    )
    max_body_bytes: int = Field(8 * MIB, ge=1024, description="largest body of a request")
    max_document_bytes: int = Field(256 * MIB, ge=1024, description="largest document of a restored study")
    max_trials_per_request: int = Field(1000, ge=1, description="trials asked for at once")
    max_results_per_request: int = Field(10_000, ge=1, description="trials added or told at once")
    max_points: int = Field(20_000, ge=1, description="points of one prediction")
    max_studies_per_token: int = Field(10_000, ge=1, description="studies that one token may have made")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "Settings":
        """Settings as the variables say; what is not set, or empty, has its default."""
        variables = os.environ if environment is None else environment
        given = {name: variables.get(PREFIX + name.upper(), "") for name in cls.model_fields}
        values: dict[str, object] = {name: text for name, text in given.items() if text}
        if "allowed_hosts" in values:
            values["allowed_hosts"] = [host.strip() for host in given["allowed_hosts"].split(",")]
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            lines = [f"{PREFIX}{str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors()]
            raise ArgumentError(f"settings in the environment are wrong: {'; '.join(lines)}") from None

    def to_environment(self) -> dict[str, str]:
        """The variables from which `from_environment` makes the same settings."""
        variables: dict[str, str] = {}
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, SecretStr):
                value = value.get_secret_value()
            if value is not None:
                text = ",".join(value) if isinstance(value, tuple) else str(value)
                variables[PREFIX + name.upper()] = text
        return variables
