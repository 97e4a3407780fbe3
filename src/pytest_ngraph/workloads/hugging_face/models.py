"""Find a configuration of transformers, and make the model that it describes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.wording import first_line
from pytest_ngraph.workloads.seeding import seeded
from pytest_ngraph.workloads.weights import draw_constants
from pytest_ngraph.workloads.whole_models import unknown_model

if TYPE_CHECKING:
    from types import ModuleType

    import torch

PREFIX = "hf:"
HEADS = (
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES",
    "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES",
    "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES",
    "MODEL_FOR_CTC_MAPPING_NAMES",
    "MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES",
    "MODEL_MAPPING_NAMES",
)
"""Transformers' tables of classes by type of model, in the order in which they are asked when a configuration names no
class. Encoders also stand in the table of causal models, so that the table of masked ones comes before it."""


def import_transformers(workload: str) -> ModuleType:
    """Return transformers. Raise `Unsupported` where it cannot be imported."""
    try:
        import transformers
    except ImportError as error:
        raise Unsupported(
            f"{workload} is a model of transformers, which cannot be imported ({first_line(error)}): "
            f'pip install "pytest-ngraph[hf]"'
        ) from error
    transformers.logging.set_verbosity_error()
    library: ModuleType = transformers
    return library


def create(
    transformers: ModuleType,
    name: str,
    fields: dict[str, Any],
    *,
    architecture: str | None = None,
    pretrained: bool = False,
) -> torch.nn.Module:
    """Return the model, in evaluation mode and fp32.

    Args:
        transformers: the library.
        name: what stands after the prefix: a folder, a file, a type of model or a name on the hub.
        fields: fields of the configuration to set, and transformers' `attn_implementation`.
        architecture: name of the class to make; None for the one that the configuration names.
        pretrained: load the weights from the folder or the hub instead of drawing them.

    Raises:
        UsageError: there is no such configuration, it has no such field, or transformers does not make this model.
    """
    import torch

    config = _config(transformers, name, fields)
    model_class = _class(transformers, name, config, architecture)
    try:
        with seeded():
            if pretrained:
                source = Path(name).parent if Path(name).is_file() else name
                module = model_class.from_pretrained(source, config=config, dtype=torch.float32)
            else:
                module = model_class(config)
                draw_constants(module)
    except (AssertionError, ImportError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise UsageError(f"transformers does not make {model_class.__name__} of {name}: {first_line(error)}") from error
    made: torch.nn.Module = module.eval()
    return made


def _config(transformers: ModuleType, name: str, fields: dict[str, Any]) -> Any:
    config = _read(transformers, name, {})
    for field in fields:
        if field != "attn_implementation" and not hasattr(config, field):
            known = {"architecture", "attn_implementation", "pretrained", "step", *config.to_dict()}
            raise UsageError.unknown(f"model argument of {PREFIX}{name}", field, known)
    return _read(transformers, name, fields) if fields else config


def _read(transformers: ModuleType, name: str, fields: dict[str, Any]) -> Any:
    """Return the configuration. Fields are set when it is made, because it derives some of them from others."""
    types = transformers.CONFIG_MAPPING
    path = Path(name)
    try:
        if path.is_file() or (path / "config.json").is_file():
            return transformers.AutoConfig.from_pretrained(name, **fields)
        if name in types:
            return transformers.AutoConfig.for_model(name, **fields)
        if "/" in name and not path.is_absolute() and not name.startswith("."):
            return transformers.AutoConfig.from_pretrained(name, **fields)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{PREFIX}{name}: transformers cannot read this configuration ({first_line(error)}). Give a folder with a "
            f"config.json, the name of a model on the hub where the network reaches it, or a type of model: hf:bert."
        ) from error
    if path.is_dir():
        raise UsageError(f"{PREFIX}{name}: this folder has no config.json. save_pretrained(folder) writes one.")
    hint = "Or give a folder with a config.json, or a name on the hub: hf:owner/name."
    raise unknown_model("transformers", name, types.keys(), "transformers.CONFIG_MAPPING", hint)


def _class(transformers: ModuleType, name: str, config: Any, architecture: str | None) -> Any:
    """Return the class that is asked for, that the configuration names, or the first that its type has."""
    from transformers.models.auto import modeling_auto

    if architecture and not hasattr(transformers, architecture):
        known = {c for table in HEADS if (c := _entry(modeling_auto, table, config.model_type))}
        raise UsageError.unknown(f"class of transformers for {PREFIX}{name}", architecture, known)
    listed = (_entry(modeling_auto, table, config.model_type) for table in HEADS)
    wanted = (architecture, *(config.architectures or ()), *listed)
    found = next((getattr(transformers, each) for each in wanted if each and hasattr(transformers, each)), None)
    if found is None:
        raise UsageError(
            f"{PREFIX}{name}: transformers has no model for the type {config.model_type!r}. Name a class that it has: "
            "model_args={'architecture': ...}."
        )
    return found


def _entry(tables: ModuleType, table: str, model_type: str) -> str | None:
    entry = getattr(tables, table, {}).get(model_type)
    found: str | None = entry[0] if isinstance(entry, tuple | list) else entry
    return found
