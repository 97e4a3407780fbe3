"""A compiler that a user might write and deploy: it remembers the outputs of eager PyTorch."""

import os
import signal

import numpy as np
from mine import Exact

from pytest_ngraph import Serving, Unsupported

CODE = """
def load():
    return arrays("answers.npz")


def answer(model, inputs):
    return model
"""


class Remembers(Exact):
    def deploy(self, artifact, target, compiled, folder):
        assert (compiled / "compiled").read_text() == "yes"
        (folder / "answers.npz").write_bytes((artifact.folder / "reference.npz").read_bytes())
        files, notes = {"answers.npz": "the answers"}, ("It computes nothing.",)
        return Serving(libraries=(), imports=(), code=CODE, files=files, notes=notes)


class Refuses(Exact):
    def deploy(self, artifact, target, compiled, folder):
        raise Unsupported("it is for measuring only")


class Lies(Remembers):
    """What it deploys gives other outputs than what it compiled."""

    def deploy(self, artifact, target, compiled, folder):
        serving = super().deploy(artifact, target, compiled, folder)
        return Serving(**serving.to_dict() | {"code": CODE.replace("return model", "return [2 * model[0]]")})


class Unloadable(Remembers):
    """What it deploys cannot be loaded."""

    def deploy(self, artifact, target, compiled, folder):
        serving = super().deploy(artifact, target, compiled, folder)
        code = CODE.replace('return arrays("answers.npz")', 'raise OSError("no such driver")')
        return Serving(**serving.to_dict() | {"code": code})


class DiesDeploying(Remembers):
    """Needs much memory to deploy, and then dies."""

    def deploy(self, artifact, target, compiled, folder):
        assert np.ones(50_000_000).all()
        os.kill(os.getpid(), signal.SIGSEGV)


class OnlyAsScript(Remembers):
    """What it deploys serves as a script, and not where it is imported."""

    def deploy(self, artifact, target, compiled, folder):
        serving = super().deploy(artifact, target, compiled, folder)
        guard = 'assert __name__ == "__main__"'
        return Serving(**serving.to_dict() | {"code": f"{guard}\n{CODE}"})
