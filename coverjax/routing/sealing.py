"""Seals: that a contract and its routes were fixed before the outcomes that they are judged by.

A seal is a hash over the contract file, every route file with its name and role, and the tables that the
contract names. Outcome rows carry it in their `seal` column, written by whoever ran the teams. So rows can
only carry the hash of what existed when they were made; no clock is believed. What is not sealed so is
retrospective, "order unverified", and no later seal changes that: it has another hash than the one the rows
carry. (Nothing here stops a forger who writes a hash into old rows. A seal that was deposited elsewhere
beforehand does.)
"""

import dataclasses
import hashlib
import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from coverjax._version import __version__
from coverjax.foundation.checks import file_error, listed
from coverjax.foundation.files import whole_file
from coverjax.logs.files import facts
from coverjax.routing.contracts import ROLES
from coverjax.routing.studies import RoutingStudy

FORMAT = "coverjax-route-seal-1"


@dataclasses.dataclass(frozen=True)
class Seal:
    """What was sealed.

    Attributes:
        contract: SHA-256 of the contract file.
        routers: name -> (role, SHA-256 of the route file).
        files: table that the contract names ("tasks", "legal", "unavailable") -> SHA-256.
    """

    contract: str
    routers: dict[str, tuple[str, str]]
    files: dict[str, str]

    def body(self) -> dict[str, Any]:
        """Return what the hash is over."""
        return {
            "format": FORMAT,
            "contract": self.contract,
            "routers": {name: {"role": r, "sha256": h} for name, (r, h) in self.routers.items()},
            "files": self.files,
        }

    @property
    def digest(self) -> str:
        """The hash that outcome rows carry, 64 hexadecimal digits."""
        text = json.dumps(self.body(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


def make_seal(study: RoutingStudy) -> Seal:
    """Make the seal of a study as its files are now."""
    roles = {entry.name: entry.role for entry in study.contract.routers}
    return Seal(
        contract=study.contract.sha256,
        routers={name: (roles[name], file.sha256) for name, file in study.route_files.items()},
        files={what: facts(path)["sha256"] for what, path in study.contract.files.items()},
    )


def write_seal(seal: Seal, path: "str | os.PathLike[str]") -> None:
    """Write a seal as JSON; one that is there already may only be written again as it is.

    Raises:
        InputError: another seal stands there.
    """
    final = pathlib.Path(path)
    if final.exists() and read_seal(final).digest != seal.digest:
        raise file_error(
            final,
            None,
            "seal",
            "another seal stands here; outcome rows may carry it, and a new one would make every router "
            "retrospective "
            "for them: keep it, or write the new one to another place",
        )
    document = {**seal.body(), "seal": seal.digest, "coverjax": __version__}
    with whole_file(final) as part:
        part.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8", newline="\n")


def read_seal(path: "str | os.PathLike[str]") -> Seal:
    """Read a seal and check it against its own hash.

    Raises:
        InputError: no seal, or one that was edited.
    """
    name = os.fspath(path)
    try:
        document = json.loads(pathlib.Path(name).read_text(encoding="utf-8"))
        seal = Seal(
            contract=document["contract"],
            routers={n: (entry["role"], entry["sha256"]) for n, entry in document["routers"].items()},
            files=dict(document["files"]),
        )
        told = document["seal"], document["format"]
    except OSError as error:
        raise file_error(name, None, None, f"can't be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise file_error(name, None, None, "is no seal; `coverjax route seal CONTRACT` writes one") from None
    if told != (seal.digest, FORMAT):
        raise file_error(
            name, None, "seal", "the seal does not hash to what it says: it was edited after it was made"
        )
    return seal


@dataclasses.dataclass(frozen=True)
class Standing:
    """How a router may be called.

    Attributes:
        role: the one that binds: of the role sealed and the role claimed now the one with more knowledge.
        sealed: fixed before the outcomes, as far as hashes can tell.
        lines: why not, and what else a reader must know, one line each.
    """

    role: str
    sealed: bool
    lines: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """What stands beside the router's name everywhere: its role unless candidate, retrospective unless
        sealed."""
        late = () if self.sealed or self.role == "retrospective" else ("retrospective",)
        return (*(() if self.role == "candidate" else (self.role,)), *late)

    def named(self, name: str) -> str:
        """Return the router's name with its labels."""
        return f"{name} [{', '.join(self.labels)}]" if self.labels else name


def standings(
    study: RoutingStudy, seal: Seal | None, carried: Mapping[str, int]
) -> tuple[dict[str, Standing], tuple[str, ...]]:
    """Judge each router by the seal and by what the outcome rows carry.

    Args:
        study: the study as its files are now.
        seal: the seal, None where there is none.
        carried: number of outcome rows by the seal they carry, "" for none.

    Returns:
        The standing of each router, and lines that concern them all.
    """
    general = _general_faults(study, seal, carried)
    found = {}
    for entry in study.contract.routers:
        own, role = _own_faults(study, seal, entry.name, entry.role)
        found[entry.name] = Standing(role, not general and not own, (*general, *own))
    return found, general


def _general_faults(study: RoutingStudy, seal: Seal | None, carried: Mapping[str, int]) -> tuple[str, ...]:
    if seal is None:
        return ("no seal: order unverified",)
    lines = []
    if seal.contract != study.contract.sha256:
        lines.append("the contract was changed after the seal: order unverified")
    for what, path in study.contract.files.items():
        if seal.files.get(what) != facts(path)["sha256"]:
            lines.append(f"the {what} file was changed after the seal: order unverified")
    total = sum(carried.values())
    bare = carried.get("", 0)
    other = total - bare - carried.get(seal.digest, 0)
    if bare:
        lines.append(f"{bare} of {total} outcome rows carry no seal: order unverified")
    if other:
        names = sorted(name[:12] for name in carried if name not in ("", seal.digest))
        lines.append(
            f"{other} of {total} outcome rows carry another seal ({listed(names, limit=2)}..): this one "
            "was made late "
            "or for other outcomes: order unverified"
        )
    return tuple(lines)


def _own_faults(study: RoutingStudy, seal: Seal | None, name: str, role: str) -> tuple[list[str], str]:
    if seal is None:
        return [], role
    if name not in seal.routers:
        return ["not in the seal: order unverified"], role
    sealed_role, digest = seal.routers[name]
    lines = []
    if digest != study.route_files[name].sha256:
        lines.append("its route file was changed after the seal: order unverified")
    if sealed_role != role:
        lines.append(f"relabelled: sealed as {sealed_role}, called {role} now; the stricter label stays")
        role = max(sealed_role, role, key=ROLES.index)
    return lines, role
