"""A custom resource that uses everything a definition can say."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from moorage import Object, PrinterColumn, Quantity


class Tier(Enum):
    SILVER = "silver"
    GOLD = "gold"


class Seat(msgspec.Struct, rename="camel", omit_defaults=True):
    """One place."""

    user_name: str
    since: str | None = None


class LicenseSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """What was bought."""

    seats: Annotated[int, msgspec.Meta(ge=1, le=1000)]
    """How many may use it
    at once.

    At least one.
    """
    tier: Tier = Tier.SILVER
    region: Literal["eu", "us"] | None = None
    code: Annotated[str, msgspec.Meta(pattern="^[A-Z]+$", min_length=2, max_length=8)] = "AB"
    ratio: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.5
    trial: bool = False
    memory: Quantity = "1Gi"
    port: int | str = 80
    holders: list[Seat] = []
    tags: set[str] = set()
    limits: dict[str, Annotated[int, msgspec.Meta(ge=0)]] = {}
    anything: dict[str, Any] = {}
    holder: Seat | None = None
    renewed: Annotated[str | None, msgspec.Meta(extra_json_schema={"format": "date-time"})] = None


class LicenseStatus(msgspec.Struct, rename="camel", omit_defaults=True):
    used: int = 0


class License(Object, kw_only=True):
    """The right to run a program."""

    group: ClassVar[str] = "shop.example.com"
    version: ClassVar[str] = "v1"
    resource: ClassVar[str] = "licenses"
    kind: ClassVar[str] = "License"
    short_names: ClassVar[tuple[str, ...]] = ("lic",)
    categories: ClassVar[tuple[str, ...]] = ("shop",)
    printer_columns: ClassVar[tuple[PrinterColumn, ...]] = (
        PrinterColumn("Seats", "integer", ".spec.seats", description="How many may use it"),
        PrinterColumn("Tier", "string", ".spec.tier", priority=1),
    )

    spec: LicenseSpec
    status: LicenseStatus = msgspec.field(default_factory=LicenseStatus)
