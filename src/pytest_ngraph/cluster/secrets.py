"""Files that look like secrets, and are therefore not sent to other machines.

Names are those of GitHub's gitignore templates and of the tools that write them; contents are the fixed beginnings by
which issuers mark their tokens, as in the rules of gitleaks (github.com/gitleaks/gitleaks, `config/gitleaks.toml`).
"""

from __future__ import annotations

import codecs
import re
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

EXAMPLES = (".example", ".sample", ".template", ".dist")
NAMES = (
    ".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".pypirc", ".npmrc", ".yarnrc",
    ".git-credentials", ".htpasswd", ".dockercfg", ".boto", ".s3cfg", ".vault-token", "credentials.json",
    "client_secret*.json", "service-account*.json", "secrets.toml", "secrets.yaml", "secrets.yml", "*.key", "*.p12",
    "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.tfstate", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
)  # fmt: skip
FOLDERS = (".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", "gcloud")
"""Everything in a folder of these names."""
TOKENS = {
    "a private key": r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
    "an AWS access key": r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
    "a GitHub token": r"\b(?:gh[pousr]_[0-9a-zA-Z]{36}|github_pat_\w{82})\b",
    "a GitLab token": r"\bglpat-[\w-]{20}",
    "a Slack token": r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}",
    "a Google API key": r"\bAIza[\w-]{35}",
    "a Hugging Face token": r"\bhf_[a-zA-Z]{34}\b",
    "a PyPI token": r"\bpypi-AgEIcHlwaS5vcmc[\w-]{50,}",
    "an npm token": r"\bnpm_[0-9a-zA-Z]{36}\b",
    "a Stripe key": r"\b(?:sk|rk)_(?:live|prod)_[0-9a-zA-Z]{10,99}\b",
    "an OpenAI key": r"\bsk-(?:proj-|svcacct-)?[\w-]{20,}T3BlbkFJ[\w-]{20,}",
    "an Anthropic key": r"\bsk-ant-(?:api|admin)\d\d-[\w-]{80,}",
}
START_BYTES = 2**20
"""The part of a file that is always looked at; of text, which has no zero byte there, it is all."""
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How text begins that some programs of Windows write."""

_TOKENS = {what: re.compile(pattern.encode()) for what, pattern in TOKENS.items()}
_CANDIDATES = {what: re.compile(pattern.removeprefix(r"\b").encode()) for what, pattern in TOKENS.items()}
"""The same without the boundary in front, so that they begin with fixed letters: these are found 25 times as fast."""


def by_name(name: str) -> str:
    """Return why a file's path, relative to the project, looks like that of a secret; empty if it does not."""
    path = PurePosixPath(name)
    if folder := next((part for part in path.parts[:-1] if part in FOLDERS), ""):
        return f"it is in {folder}"
    plain = path.name.lower()
    if not plain.endswith(EXAMPLES) and any(fnmatchcase(plain, pattern) for pattern in NAMES):
        return "its name"
    return ""


def by_content(path: Path) -> str:
    """Return what secret a file holds; empty if none is found. Raises `OSError`."""
    with path.open("rb") as file:
        content = file.read(START_BYTES)
        if content.startswith(UTF_16):
            content = (content + file.read()).decode("utf-16", "replace").encode()
        elif b"\0" not in content:
            content += file.read()
    return next((what for what in TOKENS if _holds(what, content)), "")


def _holds(what: str, content: bytes) -> bool:
    return any(_TOKENS[what].match(content, found.start()) for found in _CANDIDATES[what].finditer(content))
