# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The op classes of TensorFlow Java's package `org.tensorflow.op.tpu`.

All of them that are about embeddings, where this TensorFlow has the op. The
table below names them; `tpu.pyi` spells out what follows from it, and is
written by `python/write_stub.py`.
"""

from __future__ import annotations

from typing import Any, NoReturn

import tensorflow as tf

from tpuless import _raw_ops
from tpuless._definition import parameter
from tpuless._factory import RawOp, make_op_class
from tpuless._names import snake_name
from tpuless._op_methods import with_signature
from tpuless._scope import Scope

# The classes whose names are not those of their ops.
_OP_NAMES = {
    "ComputeDedupDataSize": "ComputeDedupDataSizeV2",
    "ComputeDedupDataTupleMask": "ComputeDedupDataTupleMaskV2",
    "EmbeddingActivations": "TPUEmbeddingActivations",
    "FinalizeTPUEmbedding": "FinalizeTPUEmbeddingV2",
}

# What each op does, in Java's package, below Java's names.
_SUMMARIES = {
    "CollateTPUEmbeddingMemory": "Merges the memory configs of all hosts.",
    "ComputeDedupDataSize": "Returns how long deduplication data is.",
    "ComputeDedupDataTupleMask": "Returns the form of deduplication data.",
    "ConfigureDistributedTPU": "Sets up the TPU system of a task.",
    "ConfigureTPUEmbedding": "Sets up the tables of a configuration.",
    "ConfigureTPUEmbeddingHost": "Sets up the tables on one host.",
    "ConfigureTPUEmbeddingMemory": "Claims the memory of one host.",
    "ConnectTPUEmbeddingHosts": "Connects the hosts with each other.",
    "DynamicEnqueueTPUEmbeddingArbitraryTensorBatch": (
        "Enqueues a batch of any tensors, for a core that a tensor names."
    ),
    "DynamicEnqueueTPUEmbeddingRaggedTensorBatch": (
        "Enqueues a batch of ragged tensors, for a core that a tensor names."
    ),
    "EmbeddingActivations": "Returns activations of a table, unchanged.",
    "EnqueueTPUEmbeddingArbitraryTensorBatch": (
        "Enqueues a batch of dense, sparse or ragged tensors."
    ),
    "EnqueueTPUEmbeddingBatch": "Enqueues a batch of serialized inputs.",
    "EnqueueTPUEmbeddingIntegerBatch": "Enqueues a batch of one id a sample.",
    "EnqueueTPUEmbeddingRaggedTensorBatch": (
        "Enqueues a batch of ragged tensors."
    ),
    "EnqueueTPUEmbeddingSparseBatch": "Enqueues a batch of ids by table.",
    "EnqueueTPUEmbeddingSparseTensorBatch": (
        "Enqueues a batch of sparse tensors."
    ),
    "ExecuteTPUEmbeddingPartitioner": "Plans where the tables are kept.",
    "FinalizeTPUEmbedding": "Ends the setup, once all hosts are known.",
    "IsTPUEmbeddingInitialized": "Returns whether tables are set up.",
    "LoadAllTPUEmbeddingParameters": "Loads a shard of every table.",
    "MergeDedupData": "Packs deduplication data into one tensor.",
    "RecvTPUEmbeddingActivations": "Receives the activations of a batch.",
    "RetrieveAllTPUEmbeddingParameters": "Retrieves a shard of every table.",
    "ShutdownDistributedTPU": "Drops the tables and all that waits for them.",
    "SplitDedupData": "Unpacks what `MergeDedupData` packed.",
    "TPUEmbeddingActivations": "Returns activations of a table, unchanged.",
}
for _optimizer in (
    "ADAM",
    "Adadelta",
    "Adagrad",
    "AdagradMomentum",
    "CenteredRMSProp",
    "FTRL",
    "FrequencyEstimator",
    "MDLAdagradLight",
    "Momentum",
    "ProximalAdagrad",
    "ProximalYogi",
    "RMSProp",
    "StochasticGradientDescent",
):
    _SUMMARIES |= {
        f"{_verb}TPUEmbedding{_optimizer}Parameters": (
            f"{_verb}s a shard of a table whose optimizer is {_optimizer}."
        )
        for _verb in ("Load", "Retrieve")
    }


class SendTPUEmbeddingGradients(RawOp):
    """Updates the embedding tables with the gradients of the activations.

    Arguments of `create` after the scope:
      inputs: gradients, one for each activation that
        `RecvTPUEmbeddingActivations` returned, in its order and shapes.
      learning_rates: one scalar for each tag of a dynamic learning rate;
        empty if all rates are constant.
      config: the `TPUEmbeddingConfiguration`, as a message or serialized.
        A `str` is encoded as UTF-8, as in Java; it cannot hold most
        serialized messages.
      nn: option; the length of `learning_rates`, if given at all.

    Example:
        >>> scope = tpuless.Ops.create(tf.Graph()).scope()
        >>> with scope.env().as_default():
        ...     gradient = tf.zeros([8, 16])
        >>> tpuless.SendTPUEmbeddingGradients.create(
        ...     scope, [gradient], [], b""
        ... )
        <SendTPUEmbeddingGradients 'SendTPUEmbeddingGradients'>
    """

    OP_NAME = "SendTPUEmbeddingGradients"


class TpuOps:
    """The ops of group `tpu`: each method is `create` of the class it names."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            ABSENT.get(name, f"'TpuOps' object has no attribute {name!r}")
        )


# Why a class or endpoint is not here, by each of its names.
ABSENT: dict[str, str] = {}

__all__ = ["SendTPUEmbeddingGradients"]


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        ABSENT.get(name, f"module {__name__!r} has no attribute {name!r}")
    )


def _add_class(name: str, summary: str) -> None:
    op_name = _OP_NAMES.get(name, name)
    if _raw_ops.op_def(op_name) is None:
        reason = (
            f"{name} needs op '{op_name}', which TensorFlow {tf.__version__}"
            " does not have"
        )
        ABSENT.update(dict.fromkeys([name, *_endpoint_names(name)], reason))
        return
    globals()[name] = make_op_class(name, op_name, summary, __name__)
    __all__.append(name)


def _add_endpoint(cls: type[RawOp]) -> None:
    def endpoint(self: TpuOps, *args: Any, **kwargs: Any) -> Any:
        return cls._create(self._scope, args, kwargs)

    names = _endpoint_names(cls.__name__)
    parameters = [parameter("self"), *cls._signature.parameters.values()]
    doc = cls.__doc__ or ""
    with_signature(endpoint, names[0], doc, parameters, cls.__name__)
    for name in names:
        setattr(TpuOps, name, endpoint)


def _endpoint_names(name: str) -> tuple[str, str]:
    return snake_name(name), name[0].lower() + name[1:]


for _name, _summary in _SUMMARIES.items():
    _add_class(_name, _summary)
__all__.sort()
for _name in __all__:
    _add_endpoint(globals()[_name])
