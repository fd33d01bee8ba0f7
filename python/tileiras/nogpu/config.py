"""What to run kernels on and what to check, from the environment and the command line."""
from __future__ import annotations

import dataclasses
import os
from typing import Mapping


class ConfigError(ValueError):
    """A setting, a field of Config, has no such value."""

    def __init__(self, setting: str, text: str) -> None:
        super().__init__(f"{variable(setting)} {text}")
        self.setting, self.text = setting, text


def variable(setting: str) -> str:
    """The environment variable of a field of Config."""
    return "TILEIRAS_" + setting.upper()


# The values of the settings that have a few.
CHOICES = {
    "engine": ("interp", "emu"),
    "undefined": ("error", "zero"),
    "tuning": ("all", "first"),
    "tma": ("on", "off"),
    "roles": ("auto", "on", "off"),
}

# What the library takes as the option workers.
MOST_WORKERS = 1023


@dataclasses.dataclass(frozen=True)
class Config:
    """How kernels run. Each field is an environment variable, TILEIRAS_ and its name in capitals."""
    gpu: str = "sm_90"          # that programs see, and the emulator's code is for; the library knows which there are
    engine: str = "interp"      # or "emu"
    checks: str = "all"         # "none", or some of races, undefined, alignment
    undefined: str = "error"    # or "zero": loads without padding from outside an array
    workers: int = 0            # tile blocks at once; 0 is one a core
    tuning: str = "all"         # configurations that autotuning runs, or "first": until one runs
    tma: str = "off"            # or "on": the emulator's code copies by tensor maps, as that of tileiras --tma
    roles: str = "auto"         # or "on", "off": warps of their own for copies, as of tileiras --roles

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                raise ConfigError(name, f"is {value!r}: it must be {', '.join(choices[:-1])} or {choices[-1]}")
        if self.gpu == "native":
            raise ConfigError("gpu", "is 'native': tileiras.nogpu has no GPU to ask for its name; give one, such as sm_90")
        if not 0 <= self.workers <= MOST_WORKERS:
            raise ConfigError("workers", f"is {self.workers}: it must be from 1 to {MOST_WORKERS}, or 0 for one a core")
        known = {"all", "none", "races", "undefined", "alignment"}
        if not set(self.checks.split(",")) <= known:
            raise ConfigError("checks", f"is {self.checks!r}: it must be all, none, or some of races, undefined, alignment with commas between")

    def describe(self) -> str:
        engine = {"interp": "the interpreter", "emu": "the emulator"}[self.engine]
        code = "".join(f", {name} {value}" for name, value, usual in [("tma", self.tma, "off"), ("roles", self.roles, "auto")] if value != usual)
        return f"{engine}, as {self.gpu}, checks {self.checks}, undefined {self.undefined}{code}"


def from_environment(environment: Mapping[str, str] = os.environ, **given: str | None) -> Config:
    """Settings: those given, which are not None, before the environment, before the defaults."""
    values: dict[str, object] = {}
    for field in dataclasses.fields(Config):
        value = given.get(field.name)
        if value is None:
            value = environment.get(variable(field.name))
        if value is not None and value != "":
            values[field.name] = value
    if "workers" in values:
        try:
            values["workers"] = int(str(values["workers"]))
        except ValueError:
            raise ConfigError("workers", f"is {values['workers']!r}: it must be a number") from None
    return Config(**values)  # type: ignore[arg-type]
