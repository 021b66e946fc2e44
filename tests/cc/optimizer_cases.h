// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Every optimizer with its formula for one number, in double precision.
#ifndef TPULESS_TESTS_CC_OPTIMIZER_CASES_H_
#define TPULESS_TESTS_CC_OPTIMIZER_CASES_H_

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "cc/engine/engine_config.h"

namespace tpuless {

struct OptimizerCase {
  std::string name;  // Of the case.
  std::string optimizer;
  // Updates weight w and slots s with gradient g.
  void (*formula)(const Hyperparameters& h, double lr, double g, double& w,
                  double* s);
  std::map<std::string, double> hyperparameters;
  float learning_rate;
  // Of the largest number that comes up on the way, about.
  double magnitude = 4;

  TableConfig Configure(TableConfig table) const {
    table.optimizer = optimizer;
    table.learning_rate = learning_rate;
    for (const auto& [field, value] : hyperparameters) {
      table.hyperparameters.Set(field, value);
    }
    return table;
  }
};

inline void PrintTo(const OptimizerCase& test_case, std::ostream* out) {
  *out << test_case.name;
}

namespace formulas {

inline void Sgd(const Hyperparameters&, double lr, double g, double& w,
                double*) {
  w = w - lr * g;
}

inline void Adagrad(const Hyperparameters&, double lr, double g, double& w,
                    double* s) {
  s[0] = s[0] + g * g;
  w = w - lr * g / std::sqrt(s[0]);
}

inline void Adam(const Hyperparameters& h, double lr, double g, double& w,
                 double* s) {
  const double beta1 = h["beta1"], beta2 = h["beta2"], epsilon = h["epsilon"];
  s[0] = beta1 * s[0] + (1 - beta1) * g;
  s[1] = beta2 * s[1] + (1 - beta2) * g * g;
  w -= lr * s[0] /
       (h["use_sum_inside_sqrt"] != 0 ? std::sqrt(s[1] + epsilon * epsilon)
                                      : std::sqrt(s[1]) + epsilon);
}

inline void Ftrl(const Hyperparameters& h, double lr, double g, double& w,
                 double* s) {
  const double k = -h["lr_power"], l1 = h["l1"], l2 = h["l2"], b = h["beta"];
  const double a = s[0] + g * g;
  const double delta = std::pow(a, k) - std::pow(s[0], k);
  const bool multiply = h["multiply_linear_by_lr"] != 0;
  const double limit = multiply ? lr * l1 : l1;
  double& z = s[1];
  z += multiply ? lr * g - delta * w : g - delta * w / lr;
  w = (std::min(std::max(z, -limit), limit) - z) /
      (multiply ? std::pow(a, k) + 2 * lr * l2 + b
                : (std::pow(a, k) + b) / lr + 2 * l2);
  s[0] = a;
}

inline void Momentum(const Hyperparameters& h, double lr, double g, double& w,
                     double* s) {
  const double mu = h["momentum"];
  s[0] = mu * s[0] + g;
  w -= h["use_nesterov"] != 0 ? lr * g + lr * mu * s[0] : lr * s[0];
}

inline void FrequencyEstimator(const Hyperparameters& h, double step, double,
                               double& w, double* s) {
  const double delta = step - s[0];
  const double capped = std::min(delta, double{h["max_delta"]});
  w = delta >= h["outlier_threshold"] * w
          ? capped
          : w * (1 - h["tau"]) + capped * h["tau"];
  s[0] = step;
}

}  // namespace formulas

inline std::vector<OptimizerCase> OptimizerCases() {
  const std::string adam = "adam", ftrl = "ftrl", momentum = "momentum";
  const std::map<std::string, double> betas = {
      {"beta1", .8}, {"beta2", .95}, {"epsilon", .01}};
  const auto with = [](std::map<std::string, double> values,
                       const std::map<std::string, double>& more) {
    values.insert(more.begin(), more.end());
    return values;
  };
  const std::map<std::string, double> power = {{"lr_power", -.5}};
  const std::map<std::string, double> all = {
      {"l1", .1}, {"l2", .3}, {"beta", .2}};
  // FTRL divides what it adds to z by the learning rate.
  constexpr double kFtrl = 64;
  return {
      {"Sgd", "stochastic_gradient_descent", formulas::Sgd, {}, .1f},
      {"Adagrad", "adagrad", formulas::Adagrad, {}, .1f},
      {"Adam", adam, formulas::Adam, betas, .1f},
      {"AdamSumInside", adam, formulas::Adam,
       with(betas, {{"use_sum_inside_sqrt", 1}}), .1f},
      {"AdamNonLazy", adam, formulas::Adam,
       with(betas, {{"use_non_lazy_adam", 1}}), .1f},
      {"Ftrl", ftrl, formulas::Ftrl, power, .1f, kFtrl},
      {"FtrlAll", ftrl, formulas::Ftrl, with(power, all), .1f, kFtrl},
      {"FtrlMultiply", ftrl, formulas::Ftrl,
       with(with(power, all), {{"multiply_linear_by_lr", 1}}), .1f, kFtrl},
      {"FtrlPower0", ftrl, formulas::Ftrl, with({{"lr_power", 0}}, all), .1f,
       kFtrl},
      {"FtrlPower1", ftrl, formulas::Ftrl, with({{"lr_power", -1}}, all), .1f,
       kFtrl},
      {"FtrlOddPower", ftrl, formulas::Ftrl, with({{"lr_power", -.7}}, all),
       .1f, kFtrl},
      {"Momentum", momentum, formulas::Momentum, {{"momentum", .9}}, .1f},
      {"Nesterov",
       momentum,
       formulas::Momentum,
       {{"momentum", .9}, {"use_nesterov", 1}},
       .1f},
      {"FrequencyEstimator",
       "frequency_estimator",
       formulas::FrequencyEstimator,
       {{"tau", .1}, {"max_delta", 2.5}, {"outlier_threshold", 3}},
       4},
  };
}

}  // namespace tpuless

#endif  // TPULESS_TESTS_CC_OPTIMIZER_CASES_H_
