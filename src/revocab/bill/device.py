"""What a bill is made for: devices of a known or stated kind, and how well they are used."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from revocab import yaml_file
from revocab.bill.amounts import Factor, short
from revocab.closed import Closed, OneLine, look_up
from revocab.limits import Count, Flops, NotNegative, Share, Size, at_most

KNOWN = Path(__file__).parent / "known"
#: Training reaches about so much of what a device does in large products.
UTILISATION = 0.4
#: Numbers of a device by their names in devices.yaml, and the keys that state them.
NUMBERS = {"flops": "peak", "memory": "memory", "bandwidth": "bandwidth", "watts": "watts"}
#: Text in bytes for each token, where no tokenizer has counted it.
BYTES_PER_TOKEN = 4


@cache
def known(kind: str) -> dict[str, dict[str, Any]]:
    value, _ = yaml_file.read(KNOWN / f"{kind}.yaml")
    return value


class Device(Closed):
    """One kind of device, known by its name or by its numbers."""

    gpu: OneLine | None = Field(default=None, description="a known device, such as a100-80gb")
    peak: Flops | None = Field(
        default=None, description="operations per second of one device at its best, bfloat16"
    )
    memory: Annotated[float, Field(gt=0), at_most(10**15, "no device has as much")] | None = Field(
        default=None, description="bytes of memory of one device"
    )
    utilisation: Share = Field(
        default=UTILISATION, description="share of the peak that training reaches"
    )

    @model_validator(mode="after")
    def _one_device(self) -> Device:
        if self.gpu is not None and self.peak is not None:
            raise ValueError("gpu and peak are both given; give one")
        if self.gpu is not None:
            try:
                look_up("gpu", self.gpu, known("devices"), "device")
            except Exception as error:
                raise ValueError(f"{error}; or give {self.numbers()}") from None
        return self

    @classmethod
    def numbers(cls) -> str:
        *others, last = (key for key in NUMBERS.values() if key in cls.model_fields)
        return f"{', '.join(others)} and {last}"

    def stated(self, key: str) -> float | None:
        """Return ``flops``, ``memory``, ``bandwidth`` or ``watts``, as given or known."""
        own: float | None = getattr(self, NUMBERS[key], None)
        return (
            own if own is not None or self.gpu is None else float(known("devices")[self.gpu][key])
        )


class BillOptions(Device):
    """The machine that a bill is for; sizes that the experiment's files do not tell."""

    devices: Count = Field(default=1, description="number of devices")
    watts: NotNegative | None = Field(default=None, description="power of one device")
    carbon: NotNegative | None = Field(default=None, description="grams of CO2 per kWh")
    shape: dict[str, Path] = Field(
        default_factory=dict, description="config.json of models whose sizes are not known, by id"
    )
    vocabulary: dict[str, Size] = Field(
        default_factory=dict, description="tokens of tokenizers whose size is not known, by id"
    )


def speed_of(options: Device) -> list[Factor] | None:
    """Return the factors of the operations per second of a named device; None where none is."""
    peak = options.stated("flops")
    return None if peak is None else [(peak, "FLOP/s"), (options.utilisation, "utilisation")]


def told(options: BillOptions) -> str:
    flops, memory = options.stated("flops"), options.stated("memory")
    if flops is None:
        return "no device is named: give --gpu NAME, or --peak; times are those measured here"
    source = known("devices")[options.gpu]["source"] if options.gpu else "as stated"
    parts = [short(flops, "FLOP/s") + f" x {options.utilisation:g}", f"{options.devices} of them"]
    parts += [short(memory, "B")] if memory else []
    return f"{options.gpu or 'a device'} ({', '.join(parts)}; {source})"
