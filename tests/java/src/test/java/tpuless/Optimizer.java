// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
package tpuless;

import java.util.List;
import org.tensorflow.Operand;
import org.tensorflow.op.Op;
import org.tensorflow.op.Scope;
import org.tensorflow.op.tpu.LoadTPUEmbeddingADAMParameters;
import org.tensorflow.op.tpu.LoadTPUEmbeddingAdagradParameters;
import org.tensorflow.op.tpu.LoadTPUEmbeddingFTRLParameters;
import org.tensorflow.op.tpu.LoadTPUEmbeddingStochasticGradientDescentParameters;
import org.tensorflow.op.tpu.RetrieveTPUEmbeddingADAMParameters;
import org.tensorflow.op.tpu.RetrieveTPUEmbeddingAdagradParameters;
import org.tensorflow.op.tpu.RetrieveTPUEmbeddingFTRLParameters;
import org.tensorflow.op.tpu.RetrieveTPUEmbeddingStochasticGradientDescentParameters;
import org.tensorflow.types.TFloat32;

/** Loads and retrieves the weights and slot variables of a table, each by its own op classes. */
enum Optimizer {
  SGD {
    @Override
    Op load(Scope scope, String table, List<Operand<TFloat32>> variables) {
      return LoadTPUEmbeddingStochasticGradientDescentParameters.create(
          scope,
          variables.get(0),
          1L,
          0L,
          LoadTPUEmbeddingStochasticGradientDescentParameters.tableName(table));
    }

    @Override
    List<Operand<TFloat32>> retrieve(Scope scope, String table) {
      var op =
          RetrieveTPUEmbeddingStochasticGradientDescentParameters.create(
              scope,
              1L,
              0L,
              RetrieveTPUEmbeddingStochasticGradientDescentParameters.tableName(table));
      return List.of(op.parameters());
    }
  },

  ADAGRAD {
    @Override
    Op load(Scope scope, String table, List<Operand<TFloat32>> variables) {
      return LoadTPUEmbeddingAdagradParameters.create(
          scope,
          variables.get(0),
          variables.get(1),
          1L,
          0L,
          LoadTPUEmbeddingAdagradParameters.tableName(table));
    }

    @Override
    List<Operand<TFloat32>> retrieve(Scope scope, String table) {
      var op =
          RetrieveTPUEmbeddingAdagradParameters.create(
              scope, 1L, 0L, RetrieveTPUEmbeddingAdagradParameters.tableName(table));
      return List.of(op.parameters(), op.accumulators());
    }
  },

  ADAM {
    @Override
    Op load(Scope scope, String table, List<Operand<TFloat32>> variables) {
      return LoadTPUEmbeddingADAMParameters.create(
          scope,
          variables.get(0),
          variables.get(1),
          variables.get(2),
          1L,
          0L,
          LoadTPUEmbeddingADAMParameters.tableName(table));
    }

    @Override
    List<Operand<TFloat32>> retrieve(Scope scope, String table) {
      var op =
          RetrieveTPUEmbeddingADAMParameters.create(
              scope, 1L, 0L, RetrieveTPUEmbeddingADAMParameters.tableName(table));
      return List.of(op.parameters(), op.momenta(), op.velocities());
    }
  },

  FTRL {
    @Override
    Op load(Scope scope, String table, List<Operand<TFloat32>> variables) {
      return LoadTPUEmbeddingFTRLParameters.create(
          scope,
          variables.get(0),
          variables.get(1),
          variables.get(2),
          1L,
          0L,
          LoadTPUEmbeddingFTRLParameters.tableName(table));
    }

    @Override
    List<Operand<TFloat32>> retrieve(Scope scope, String table) {
      var op =
          RetrieveTPUEmbeddingFTRLParameters.create(
              scope, 1L, 0L, RetrieveTPUEmbeddingFTRLParameters.tableName(table));
      return List.of(op.parameters(), op.accumulators(), op.linears());
    }
  };

  abstract Op load(Scope scope, String table, List<Operand<TFloat32>> variables);

  abstract List<Operand<TFloat32>> retrieve(Scope scope, String table);
}
