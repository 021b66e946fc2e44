# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What the replicas of a program give and get."""

import numpy as np
import tensorflow as tf


def values(strategy, per_replica):
    """Returns the value of each replica, as NumPy."""
    return [
        np.array(value)
        for value in strategy.experimental_local_results(per_replica)
    ]


def per_replica(strategy, function):
    """Returns function(i) for each replica i, to be an argument of run()."""
    return strategy.experimental_distribute_values_from_function(
        lambda context: function(context.replica_id_in_sync_group)
    )


def ids(strategy):
    """Returns the numbers of the replicas."""
    return range(strategy.num_replicas_in_sync)


def variable_on_read(strategy, initial):
    """Returns a variable of which each core has its own, summed when read."""
    with strategy.scope():
        return tf.Variable(
            initial,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
