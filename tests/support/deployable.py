"""A compiler that a user might write and deploy: it remembers the outputs of eager PyTorch."""

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
