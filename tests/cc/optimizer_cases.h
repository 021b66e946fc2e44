// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Every optimizer with its formula for one number, in double precision.
#ifndef TPULESS_TESTS_CC_OPTIMIZER_CASES_H_
#define TPULESS_TESTS_CC_OPTIMIZER_CASES_H_

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cc/engine/engine_config.h"

namespace tpuless {

struct OptimizerCase {
  std::string name;  // Of the case.
  std::string optimizer;
  // Updates weight w and slots s with gradient g.
  void (*formula)(const Hyperparameters& h, const StepInputs& in, double g,
                  double& w, double* s);
  std::map<std::string, double> hyperparameters;
  float learning_rate;
  // Of the largest number that comes up on the way, about.
  double magnitude = 4;
  std::optional<float> dynamic_input = std::nullopt;

  StepInputs inputs() const {
    return {learning_rate, dynamic_input.value_or(0)};
  }

  TableConfig Configure(TableConfig table) const {
    table.optimizer = optimizer;
    table.learning_rate = learning_rate;
    if (dynamic_input) table.dynamic_input_tag = 0;
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

inline void Sgd(const Hyperparameters&, const StepInputs& in, double g,
                double& w, double*) {
  const double lr = in.learning_rate;
  w = w - lr * g;
}

inline void Adagrad(const Hyperparameters&, const StepInputs& in, double g,
                    double& w, double* s) {
  const double lr = in.learning_rate;
  s[0] = s[0] + g * g;
  w = w - lr * g / std::sqrt(s[0]);
}

inline void Adam(const Hyperparameters& h, const StepInputs& in, double g,
                 double& w, double* s) {
  const double lr = in.learning_rate;
  const double beta1 = h["beta1"], beta2 = h["beta2"], epsilon = h["epsilon"];
  s[0] = beta1 * s[0] + (1 - beta1) * g;
  s[1] = beta2 * s[1] + (1 - beta2) * g * g;
  w -= lr * s[0] /
       (h["use_sum_inside_sqrt"] != 0 ? std::sqrt(s[1] + epsilon * epsilon)
                                      : std::sqrt(s[1]) + epsilon);
}

inline void Ftrl(const Hyperparameters& h, const StepInputs& in, double g,
                 double& w, double* s) {
  const double lr = in.learning_rate;
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

inline void Momentum(const Hyperparameters& h, const StepInputs& in, double g,
                     double& w, double* s) {
  const double lr = in.learning_rate;
  const double mu = h["momentum"];
  s[0] = mu * s[0] + g;
  w -= h["use_nesterov"] != 0 ? lr * g + lr * mu * s[0] : lr * s[0];
}

inline void FrequencyEstimator(const Hyperparameters& h, const StepInputs& in,
                               double, double& w, double* s) {
  const double step = in.learning_rate;
  const double delta = step - s[0];
  const double capped = std::min(delta, double{h["max_delta"]});
  w = delta >= h["outlier_threshold"] * w
          ? capped
          : w * (1 - h["tau"]) + capped * h["tau"];
  s[0] = step;
}

inline double Sign(double x) { return (x > 0) - (x < 0); }

inline double Shrink(double x, double by) {
  return Sign(x) * std::max(std::abs(x) - by, 0.0);
}

inline void AdagradMomentum(const Hyperparameters& h, const StepInputs& in,
                            double g, double& w, double* s) {
  const double beta2 = h["beta2"], momentum = h["momentum"];
  s[0] = beta2 == 1 ? s[0] + g * g : beta2 * s[0] + (1 - beta2) * g * g;
  const double scaled = g * std::pow(s[0] + h["epsilon"], -1.0 / h["exponent"]);
  s[1] = momentum * s[1] + scaled;
  w -= in.learning_rate *
       (h["use_nesterov"] != 0 ? momentum * s[1] + scaled : s[1]);
}

inline void BoundedAdagrad(const Hyperparameters& h, const StepInputs& in,
                           double g, double& w, double* s) {
  const double max_accumulator = h["max_accumulator"];
  const double max_update = h["max_var_update"];
  double a = s[0] + g * g;
  if (max_accumulator > 0) a = std::min(a, max_accumulator);
  double u = in.learning_rate * g /
             std::sqrt(h["update_accumulator_first"] != 0 ? a : s[0]);
  if (max_update > 0) u = std::min(std::max(u, -max_update), max_update);
  w -= u;
  s[0] = a;
}

inline void FrequencyAwareAdagrad(const Hyperparameters& h,
                                  const StepInputs& in, double g, double& w,
                                  double* s) {
  s[1] += 1;
  s[0] = std::max(h["accumulator_decay"] * s[0] + g * g,
                  double{h["initial_accumulator_value"]});
  const double scale =
      std::min(std::pow(in.dynamic_input / s[1], h["probability_exponent"]),
               double{h["max_lr_multiplier"]});
  w -= in.learning_rate * (g * scale / std::sqrt(s[0]) +
                           h["l1_regularization_strength"] * Sign(w) +
                           h["l2_regularization_strength"] * w);
}

inline void ProximalAdagrad(const Hyperparameters& h, const StepInputs& in,
                            double g, double& w, double* s) {
  s[0] += g * g;
  const double rate = in.learning_rate / std::sqrt(s[0]);
  w = Shrink(w - rate * g, rate * h["l1"]) / (1 + rate * h["l2"]);
}

inline void OnlineYogi(const Hyperparameters& h, const StepInputs& in, double g,
                       double& w, double* s) {
  const double lr = in.learning_rate, l1 = h["l1"];
  const double v = s[0] - (1 - h["beta2"]) * Sign(s[0] - g * g) * g * g;
  s[1] += g - (std::sqrt(v) - std::sqrt(s[0])) / lr * w;
  w = (std::min(std::max(s[1], -l1), l1) - s[1]) /
      (std::sqrt(v) / lr + 2 * h["l2"]);
  s[0] = v;
}

inline void ProximalYogi(const Hyperparameters& h, const StepInputs& in,
                         double g, double& w, double* s) {
  s[1] = h["beta1"] * s[1] + (1 - h["beta1"]) * g;
  s[0] += (1 - h["beta2"]) * Sign(g * g - s[0]) * g * g;
  const double rate = in.learning_rate / (std::sqrt(s[0]) + h["epsilon"]);
  w = Shrink(w - rate * s[1], rate * h["l1"]) / (1 + rate * h["l2"]);
}

inline void Lion(const Hyperparameters& h, const StepInputs& in, double g,
                 double& w, double* s) {
  w -= in.learning_rate * Sign(h["beta1"] * s[0] + (1 - h["beta1"]) * g);
  s[0] = h["beta2"] * s[0] + (1 - h["beta2"]) * g;
}

inline void RmsProp(const Hyperparameters& h, const StepInputs& in, double g,
                    double& w, double* s) {
  s[0] += (1 - h["rho"]) * (g * g - s[0]);
  s[1] = h["momentum"] * s[1] +
         in.learning_rate * g / std::sqrt(s[0] + h["epsilon"]);
  w -= s[1];
}

inline void CenteredRmsProp(const Hyperparameters& h, const StepInputs& in,
                            double g, double& w, double* s) {
  s[0] += (1 - h["rho"]) * (g * g - s[0]);
  s[2] += (1 - h["rho"]) * (g - s[2]);
  s[1] = h["momentum"] * s[1] +
         in.learning_rate * g / std::sqrt(s[0] - s[2] * s[2] + h["epsilon"]);
  w -= s[1];
}

inline void Adadelta(const Hyperparameters& h, const StepInputs& in, double g,
                     double& w, double* s) {
  const double rho = h["rho"], epsilon = h["epsilon"];
  s[0] = rho * s[0] + (1 - rho) * g * g;
  const double u = std::sqrt(s[1] + epsilon) / std::sqrt(s[0] + epsilon) * g;
  s[1] = rho * s[1] + (1 - rho) * u * u;
  w -= in.learning_rate * u;
}

inline void Assign(const Hyperparameters&, const StepInputs&, double g,
                   double& w, double*) {
  w = g;
}

}  // namespace formulas

inline std::vector<OptimizerCase> OptimizerCases() {
  const std::string adam = "adam", ftrl = "ftrl", momentum = "momentum";
  const std::string bounded = "bounded_adagrad";
  const std::string aware = "frequency_aware_adagrad";
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
  const std::map<std::string, double> momenta = {{"momentum", .9},
                                                 {"epsilon", .01}};
  const std::map<std::string, double> rho = {{"rho", .9}};
  const std::map<std::string, double> frequencies = {
      {"max_lr_multiplier", 4},
      {"accumulator_decay", .9},
      {"initial_accumulator_value", .1}};
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
      {"AdagradMomentum", "adagrad_momentum", formulas::AdagradMomentum,
       with(momenta, {{"exponent", 2}, {"beta2", 1}}), .1f, 16},
      {"AdagradMomentumNesterov", "adagrad_momentum", formulas::AdagradMomentum,
       with(momenta, {{"exponent", 2}, {"beta2", 1}, {"use_nesterov", 1}}), .1f,
       16},
      {"AdagradMomentumDecayed", "adagrad_momentum", formulas::AdagradMomentum,
       with(momenta, {{"exponent", 3}, {"beta2", .9}}), .1f, 16},
      {"BoundedAdagrad", bounded, formulas::BoundedAdagrad, {}, .1f, 16},
      {"BoundedAdagradAll",
       bounded,
       formulas::BoundedAdagrad,
       {{"update_accumulator_first", 1},
        {"max_var_update", .05},
        {"max_accumulator", 2}},
       .1f},
      {"FrequencyAwareAdagrad", aware, formulas::FrequencyAwareAdagrad,
       with(frequencies, {{"probability_exponent", .5}}), .1f, 16, 40.f},
      {"FrequencyAwareAdagradAll", aware, formulas::FrequencyAwareAdagrad,
       with(frequencies, {{"probability_exponent", .7},
                          {"l1_regularization_strength", .1},
                          {"l2_regularization_strength", .3}}),
       .1f, 16, 40.f},
      {"ProximalAdagrad",
       "proximal_adagrad",
       formulas::ProximalAdagrad,
       {},
       .1f},
      {"ProximalAdagradAll",
       "proximal_adagrad",
       formulas::ProximalAdagrad,
       {{"l1", .5}, {"l2", .3}},
       .1f},
      // A negative rate makes the shrinking a growth.
      {"ProximalAdagradUphill",
       "proximal_adagrad",
       formulas::ProximalAdagrad,
       {{"l1", .5}},
       -.1f},
      {"OnlineYogi",
       "online_yogi",
       formulas::OnlineYogi,
       {{"l1", .1}, {"l2", .3}, {"beta2", .95}},
       .1f,
       kFtrl},
      {"ProximalYogi", "proximal_yogi", formulas::ProximalYogi, betas, .1f},
      {"ProximalYogiAll", "proximal_yogi", formulas::ProximalYogi,
       with(betas, {{"l1", .5}, {"l2", .3}}), .1f},
      {"ProximalYogiL2", "proximal_yogi", formulas::ProximalYogi,
       with(betas, {{"l2", .3}}), .1f},
      {"Lion", "lion", formulas::Lion, {{"beta1", .8}, {"beta2", .95}}, .1f},
      {"LionNonLazy",
       "lion",
       formulas::Lion,
       {{"beta1", .8}, {"beta2", .95}, {"use_non_lazy_lion", 1}},
       .1f},
      {"RmsProp", "rms_prop", formulas::RmsProp, with(momenta, rho), .1f},
      // The slots of a row are drawn independently: a large epsilon keeps the
      // variance above 0.
      {"CenteredRmsProp", "centered_rms_prop", formulas::CenteredRmsProp,
       with({{"momentum", .9}, {"epsilon", 12}}, rho), .1f, 16},
      {"Adadelta", "adadelta", formulas::Adadelta,
       with({{"epsilon", .01}}, rho), .1f},
      {"Assign", "assign", formulas::Assign, {}, .1f},
  };
}

}  // namespace tpuless

#endif  // TPULESS_TESTS_CC_OPTIMIZER_CASES_H_
