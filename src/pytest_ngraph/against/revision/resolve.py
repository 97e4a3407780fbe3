"""Find the commit that the user's text names."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.git import GitFailed, answers, git, unusable

MERGE_BASE = "..."
SHORT = 7
FORMS = f"a branch, a tag, a commit, HEAD~1, or main{MERGE_BASE} for where HEAD left main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The content of the working tree.

    Attributes:
        branch: None where HEAD is detached.
        dirty: whether tracked files differ from the commit.
    """

    sha: str
    branch: str | None
    dirty: bool

    def __str__(self) -> str:
        place = f"{self.branch or 'detached'} at {self.sha[:SHORT]}"
        return f"{place} with uncommitted changes" if self.dirty else place


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A commit, and the working tree that it is compared with.

    Attributes:
        name: as the user gave it.
        sha: in full.
        root: the working tree's top folder, with links resolved.
        common: the folder that all worktrees of the repository share, usually `.git`.
        folder: the current folder, relative to `root`.
        is_head: whether base and head are the same code, so that any difference is noise. A file that git neither
            tracks nor ignores counts as a difference: it may be code that only the head has.
    """

    name: str
    sha: str
    root: Path
    common: Path
    folder: Path
    head: Head
    is_head: bool

    @property
    def short(self) -> str:
        """The first digits of the commit."""
        return self.sha[:SHORT]

    def __str__(self) -> str:
        return self.short if self.sha.startswith(self.name) else f"{self.name} at {self.short}"

    @property
    def cwd(self) -> Path:
        """The current folder."""
        return self.root / self.folder

    @property
    def description(self) -> str:
        """A line for the header: `base: main at 1a2b3c4, head: feature at 5d6e7f8 with uncommitted changes`."""
        same = " (the same code: any difference is noise)" if self.is_head else ""
        return f"base: {self}, head: {self.head}{same}"


def resolve(text: str, folder: Path) -> Revision:
    """Return the commit that `text` names in the repository of `folder`. Raises `UsageError` if there is none."""
    root = _root(folder)
    head = _head(root)
    if head is None:
        raise UsageError(f"{root} has no commits yet, so there is nothing to compare with. Commit first.")
    sha = _commit(text, root)
    return Revision(
        name=text,
        sha=sha,
        root=root,
        common=(root / git(root, "rev-parse", "--git-common-dir")).resolve(),
        folder=folder.resolve().relative_to(root),
        head=head,
        is_head=sha == head.sha and not git(root, "status", "--porcelain", "--untracked-files=normal"),
    )


def head_of(folder: Path) -> Head | None:
    """Return the content of the working tree around `folder`.

    None where it is no repository, has no commits yet, or git cannot read it.
    """
    try:
        return _head(_root(folder))
    except (GitFailed, UsageError):
        return None


class Since(NamedTuple):
    """How HEAD and a revision have gone apart. All is empty where that is not known.

    Attributes:
        commits: HEAD's commits that the revision does not have, without merges, oldest first, each as
            `5d6e7f8 Widen the layers`.
        merges: how many merges HEAD has besides.
        lacking: how many commits the revision has that HEAD does not have.
        ends: the first digits of both commits, the revision's first. Where HEAD is the merge of a pull request, those
            of the branch, with where it forked first.
    """

    commits: tuple[str, ...] = ()
    merges: int = 0
    lacking: int = 0
    ends: tuple[str, ...] = ()


def commits_since(text: str, folder: Path) -> Since:
    """Return how HEAD and a revision have gone apart.

    Nothing where git cannot say, where the two have no commit in common (the clone may be shallow), or where HEAD has
    no part in what was measured, because it has uncommitted changes.
    """
    try:
        revision = resolve(text, folder)
        root, base, head = revision.root, revision.sha, revision.head
        if head.dirty or answers(root, "merge-base", base, head.sha) is None:
            return Since()
        branch = _merged_into(base, head, root)
        tip, good = (branch, git(root, "merge-base", base, branch)) if branch else (head.sha, base)
        order = ("--reverse", "--topo-order", "--no-merges")
        listed = git(root, "log", *order, f"--abbrev={SHORT}", "--format=%h %s", f"{base}..{tip}")
        return Since(
            commits=tuple(listed.splitlines()),
            merges=int(git(root, "rev-list", "--count", "--merges", f"{base}..{tip}")),
            lacking=int(git(root, "rev-list", "--count", f"{head.sha}..{base}")),
            ends=tuple(git(root, "rev-parse", f"--short={SHORT}", each) for each in (good, tip)),
        )
    except (GitFailed, UsageError):
        return Since()


def _merged_into(base: str, head: Head, root: Path) -> str:
    """Return the branch's commit where HEAD merges it into the base, as a pull request is checked out; else nothing.

    The host of the repository made that merge, and no clone has it.
    """
    parents = git(root, "rev-list", "--parents", "-n1", head.sha).split()[1:]
    return parents[1] if head.branch is None and len(parents) == 2 and parents[0] == base else ""


def source_of(folder: Path) -> dict[str, str]:
    """Return the commit and the branch around a folder; nothing where there is no repository.

    A commit with uncommitted changes has a `+` at its end.
    """
    from pytest_ngraph.store.run import BRANCH, COMMIT

    head = head_of(folder)
    if head is None:
        return {}
    branch = {BRANCH: head.branch} if head.branch else {}
    return {COMMIT: head.sha + "+" * head.dirty} | branch


def _head(root: Path) -> Head | None:
    sha = answers(root, "rev-parse", "--verify", "HEAD^{commit}")
    if sha is None:
        return None
    return Head(
        sha=sha,
        branch=answers(root, "symbolic-ref", "--short", "HEAD"),
        dirty=bool(git(root, "status", "--porcelain", "--untracked-files=no")),
    )


def _root(folder: Path) -> Path:
    try:
        return Path(git(folder, "rev-parse", "--show-toplevel")).resolve()
    except GitFailed as error:
        if "not a git repository" in error.said:
            raise UsageError(
                f"{folder} is not in a git repository, so it has no revisions to compare with. "
                f"Run pytest in a clone, or make a repository: git init, then commit."
            ) from None
        raise unusable(folder, error) from None


def _commit(text: str, root: Path) -> str:
    if text.endswith(MERGE_BASE):
        return _merge_base(text.removesuffix(MERGE_BASE), root)
    if not text or text.startswith("-"):
        raise UsageError(f"{text!r} is not a revision. Give {FORMS}.")
    try:
        return git(root, "rev-parse", "--verify", f"{text}^{{commit}}")
    except GitFailed as error:
        if "is ambiguous" in error.said:
            raise UsageError(f"revision {text!r} matches several commits. Give more of its digits.") from None
        raise UsageError(f"no revision {text!r} in {root}. {_advice(text, root)}") from None


def _merge_base(name: str, root: Path) -> str:
    """Return the commit at which HEAD left `name`."""
    commit = _commit(name, root)
    base = answers(root, "merge-base", commit, "HEAD")
    if base is None:
        step = _deepening(root) or f"Compare with {name!r} itself."
        raise UsageError(f"{name}{MERGE_BASE}: {name} and HEAD have no commit in common. {step}")
    return base


def _advice(text: str, root: Path) -> str:
    """Return the next step for a user whose revision is not in this repository."""
    references = git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes")
    names = references.split("\n") if references else []
    elsewhere = [name for name in names if name.endswith(f"/{text}")]
    if elsewhere:
        return f"There is {elsewhere[0]}: give that instead."
    near = get_close_matches(text, names, n=1)
    steps = [f"Did you mean {near[0]!r}?" if near else "", _deepening(root) or f"Give {FORMS}."]
    return " ".join(filter(None, steps))


def _deepening(root: Path) -> str:
    """Return how to get the commits that a shallow clone lacks; empty for a full clone."""
    if answers(root, "rev-parse", "--is-shallow-repository") != "true":
        return ""
    return (
        "This clone is shallow: most commits and branches are missing. Get them: "
        "git fetch --unshallow origin '+refs/heads/*:refs/remotes/origin/*' (with actions/checkout, fetch-depth: 0), "
        "then give origin/NAME for a branch, or the tag."
    )
