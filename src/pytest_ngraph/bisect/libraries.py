"""What differs between two environments, and in which order it can be changed, one thing at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from pytest_ngraph.system.installed import OWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """An installed distribution.

    Attributes:
        requires: its requirements, as its metadata have them.
        url: the file, or the commit of a repository, that it was installed from; empty for the index.
        files: digest of the list of its files; with it, two builds of one version differ.
        fixed: whether it is installed from a folder, so that it cannot be installed again as it was.
    """

    name: str
    version: str
    requires: tuple[str, ...] = ()
    url: str = ""
    files: str = ""
    fixed: bool = False

    @property
    def requirement(self) -> str:
        """What an installer is given to install just this."""
        return f"{self.name} @ {self.url}" if self.url else f"{self.name}=={self.version}"


Packages = Mapping[str, Package]
"""Packages by their normalized name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Packages that change together: from the good environment's version to the bad one's, or to nothing."""

    names: tuple[str, ...]
    good: Packages
    bad: Packages

    @property
    def text(self) -> str:
        """The change in words: `numpy 1.26.4 -> 2.0.0`."""
        return ", ".join(f"{name} {_version(self.good, name)} -> {_version(self.bad, name)}" for name in self.names)


def changes(good: Packages, bad: Packages) -> list[Change]:
    """Return what differs, ordered so that each change can be made once those before it are.

    A package comes after, or together with, those whose new version it requires, and those whose old version cannot be
    with its new one. pytest-ngraph is left out: the gate wants it to be the same.
    """
    differing = sorted(name for name in {*good, *bad} - {OWN} if _differs(good.get(name), bad.get(name)))
    asked = _asked(good, bad)
    before = {name: set(_before(name, differing, good, bad, asked)) for name in differing}
    for middle in differing:  # Warshall: what has to come before what comes before
        for name in differing:
            if middle in before[name]:
                before[name] |= before[middle]
    ordered: list[Change] = []
    placed: set[str] = set()
    while len(placed) < len(differing):
        left = [name for name in differing if name not in placed]
        ready = (name for name in left if all(other in placed or name in before[other] for other in before[name]))
        first = next(ready)
        names = tuple(name for name in left if name == first or (name in before[first] and first in before[name]))
        ordered.append(Change(names=names, good=good, bad=bad))
        placed.update(names)
    return ordered


def after(made: Iterable[Change], good: Packages) -> dict[str, Package]:
    """Return the packages of the good environment once these changes are made."""
    packages = dict(good)
    for change in made:
        for name in change.names:
            packages.pop(name, None)
            if name in change.bad:
                packages[name] = change.bad[name]
    return packages


def conflict(packages: Packages, good: Packages, bad: Packages) -> str:
    """Return a requirement that is not met, in words; empty for none.

    What is not met in the good or the bad environment either does not count.
    """
    asked = _asked(good, bad)
    for package in packages.values():
        for requirement in _requirements(package, asked):
            name = canonicalize_name(requirement.name)
            if not (name in good or name in bad) or _meets(packages.get(name), requirement):
                continue
            if not any(_breaks(own, package, name, requirement) for own in (good, bad)):
                found = packages[name].version if name in packages else "none"
                return f"{package.name} {package.version} requires {requirement}, and here is {found}"
    return ""


def _breaks(own: Packages, package: Package, name: str, requirement: Requirement) -> bool:
    return own.get(canonicalize_name(package.name)) == package and not _meets(own.get(name), requirement)


def _differs(one: Package | None, other: Package | None) -> bool:
    if one is None or other is None:
        return True
    return (one.version, one.files) != (other.version, other.files)


def _before(
    name: str, differing: Sequence[str], good: Packages, bad: Packages, asked: Mapping[str, set[str]]
) -> Iterator[str]:
    """Yield the differing packages that have to change before, or together with, this one."""
    for other in differing:
        if other == name:
            continue
        needs_new = name in bad and any(
            not _meets(good.get(other), each) for each in _requirements(bad[name], asked) if _names(each, other)
        )
        blocks_new = other in good and any(
            not _meets(bad.get(name), each) for each in _requirements(good[other], asked) if _names(each, name)
        )
        if needs_new or blocks_new:
            yield other


def _names(requirement: Requirement, name: str) -> bool:
    return canonicalize_name(requirement.name) == name


def _requirements(package: Package, asked: Mapping[str, set[str]]) -> Iterator[Requirement]:
    """Yield what a package requires on this machine, with those of its extras that are asked for."""
    extras = {"", *asked.get(canonicalize_name(package.name), ())}
    for each in _parsed(package):
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras):
            yield each


def _asked(*environments: Packages) -> dict[str, set[str]]:
    """Return the extras of each package that others ask for, by the package's normalized name."""
    found: dict[str, set[str]] = defaultdict(set)
    for packages in environments:
        for package in packages.values():
            for each in _parsed(package):
                found[canonicalize_name(each.name)] |= each.extras
    return found


def _parsed(package: Package) -> Iterator[Requirement]:
    for text in package.requires:
        with suppress(InvalidRequirement):
            yield Requirement(text)


def _meets(package: Package | None, requirement: Requirement) -> bool:
    if package is None:
        return False
    try:
        return requirement.specifier.contains(Version(package.version), prereleases=True)
    except InvalidVersion:
        return True


def _version(packages: Packages, name: str) -> str:
    if name not in packages:
        return "none"
    package = packages[name]
    place = package.url.partition("#")[0].rpartition("/")[2]
    return f"{package.version} ({place})" if place else package.version
