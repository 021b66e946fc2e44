// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// A SIMD vector of floats with operators, so that a formula reads as one.
//
// Compiled once a target (Highway's foreach_target.h). Multiplications and
// additions are never fused: a vector of any length gives the same bits, so
// results depend neither on the machine's vectors nor on how a row is cut.

// Per-target include guard.
#if defined(TPULESS_CC_ENGINE_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TPULESS_CC_ENGINE_SIMD_INL_H_
#undef TPULESS_CC_ENGINE_SIMD_INL_H_
#else
#define TPULESS_CC_ENGINE_SIMD_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// D is a Highway tag, which says how many lanes a vector has.
template <class D>
struct Floats {
  hn::Vec<D> v;

  HWY_INLINE Floats() : v(hn::Zero(D())) {}
  HWY_INLINE Floats(float x) : v(hn::Set(D(), x)) {}  // NOLINT: in formulas
  HWY_INLINE explicit Floats(hn::Vec<D> x) : v(x) {}

  static HWY_INLINE Floats Load(const float* from) {
    return Floats(hn::LoadU(D(), from));
  }
  HWY_INLINE void Store(float* to) const { hn::StoreU(v, D(), to); }

  friend HWY_INLINE Floats operator+(Floats a, Floats b) {
    return Floats(hn::Add(a.v, b.v));
  }
  friend HWY_INLINE Floats operator-(Floats a, Floats b) {
    return Floats(hn::Sub(a.v, b.v));
  }
  friend HWY_INLINE Floats operator*(Floats a, Floats b) {
    return Floats(hn::Mul(a.v, b.v));
  }
  friend HWY_INLINE Floats operator/(Floats a, Floats b) {
    return Floats(hn::Div(a.v, b.v));
  }
  HWY_INLINE Floats& operator+=(Floats b) { return *this = *this + b; }
  HWY_INLINE Floats& operator-=(Floats b) { return *this = *this - b; }

  friend HWY_INLINE Floats Sqrt(Floats a) { return Floats(hn::Sqrt(a.v)); }
  friend HWY_INLINE Floats Floor(Floats a) { return Floats(hn::Floor(a.v)); }

  // Clamps `x`; NaN stays NaN.
  friend HWY_INLINE Floats Clamp(Floats x, Floats lower, Floats upper) {
    const Floats raised = SelectIfLess(x, lower, lower, x);
    return SelectIfLess(upper, raised, upper, raised);
  }
  // Returns, lane by lane, a < b ? yes : no.
  friend HWY_INLINE Floats SelectIfLess(Floats a, Floats b, Floats yes,
                                        Floats no) {
    return Floats(hn::IfThenElse(hn::Lt(a.v, b.v), yes.v, no.v));
  }
  // Returns, lane by lane, a <= b ? yes : no.
  friend HWY_INLINE Floats SelectIfAtMost(Floats a, Floats b, Floats yes,
                                          Floats no) {
    return Floats(hn::IfThenElse(hn::Le(a.v, b.v), yes.v, no.v));
  }
  // Returns, lane by lane, a == 0 ? yes : no.
  friend HWY_INLINE Floats SelectIfZero(Floats a, Floats yes, Floats no) {
    return Floats(hn::IfThenElse(hn::Eq(a.v, hn::Zero(D())), yes.v, no.v));
  }
  // Returns a / b where 0 / 0 counts as 0.
  friend HWY_INLINE Floats DivideOrZero(Floats a, Floats b) {
    return SelectIfZero(a, SelectIfZero(b, 0.0f, a / b), a / b);
  }
  // Returns the sign of `a`: 1, -1, or `a` itself if it is 0 or NaN.
  friend HWY_INLINE Floats Sign(Floats a) {
    return SelectIfLess(0.0f, a, 1.0f, SelectIfLess(a, 0.0f, -1.0f, a));
  }
  // Returns sign(a) * max(abs(a) - by, 0); NaN stays NaN.
  friend HWY_INLINE Floats Shrink(Floats a, Floats by) {
    const Floats size = Floats(hn::Abs(a.v)) - by;
    return Sign(a) * SelectIfLess(size, 0.0f, 0.0f, size);
  }
  // Returns a^exponent; slow unless the exponent is 0, 1/2 or 1.
  friend HWY_INLINE Floats Power(Floats a, double exponent) {
    if (exponent == 0.5) return Sqrt(a);
    if (exponent == 1) return a;
    if (exponent == 0) return 1.0f;
    return GeneralPower(a, exponent);
  }

 private:
  // Through logarithms of double precision, exact but for the last rounding.
  // Of what has none, 0 and infinity get their limits, negative numbers NaN.
  static HWY_NOINLINE Floats GeneralPower(Floats a, double exponent) {
    constexpr size_t kLanes = hn::MaxLanes(D());
    constexpr size_t kPart = HWY_MIN(kLanes, HWY_MAX_BYTES / sizeof(double));
    const hn::CappedTag<float, kPart> part;
    const hn::Rebind<double, decltype(part)> wide;
    float lanes[kLanes];
    a.Store(lanes);
    for (size_t i = 0; i < kLanes; i += kPart) {
      const auto x = hn::PromoteTo(wide, hn::LoadU(part, lanes + i));
      const auto y = hn::Mul(hn::Set(wide, exponent), hn::Log(wide, x));
      // What is beyond is 0 or infinite as a float, and no range of Exp.
      const auto power = hn::Exp(
          wide, hn::Clamp(y, hn::Set(wide, -700.0), hn::Set(wide, 700.0)));
      hn::StoreU(hn::DemoteTo(part, power), part, lanes + i);
    }
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const Floats at_zero = exponent > 0 ? 0.0f : kInfinity;
    const Floats at_infinity = exponent > 0 ? kInfinity : 0.0f;
    Floats power = Load(lanes);
    power = SelectIfLess(a, kInfinity, power, at_infinity);
    power =
        SelectIfLess(0.0f, a, power, std::numeric_limits<float>::quiet_NaN());
    return SelectIfZero(a, at_zero, power);
  }
};

// Covers the columns [begin, end) with vectors as long as they fit:
// calls body(tag, number of vectors, column) with 4 vectors, 2, 1, then shorter
// ones.
template <size_t kLanes, class Body>
HWY_INLINE void ForEachTailColumns(int64_t column, int64_t end,
                                   const Body& body) {
  if constexpr (kLanes > 0) {
    if (column + static_cast<int64_t>(kLanes) <= end) {
      body(hn::CappedTag<float, kLanes>(), std::integral_constant<int, 1>(),
           column);
      column += kLanes;
    }
    ForEachTailColumns<kLanes / 2>(column, end, body);
  }
}

template <class Body>
HWY_INLINE void ForEachColumns(int64_t begin, int64_t end, const Body& body) {
  using D = hn::ScalableTag<float>;
  constexpr int64_t kLanes = hn::MaxLanes(D());
  int64_t column = begin;
  for (; column + 4 * kLanes <= end; column += 4 * kLanes) {
    body(D(), std::integral_constant<int, 4>(), column);
  }
  if (column + 2 * kLanes <= end) {
    body(D(), std::integral_constant<int, 2>(), column);
    column += 2 * kLanes;
  }
  if (column + kLanes <= end) {
    body(D(), std::integral_constant<int, 1>(), column);
    column += kLanes;
  }
  ForEachTailColumns<kLanes / 2>(column, end, body);
}

// How near a prefetch brings its lines: 2 is the second cache. The first one
// has too few misses in flight for whole rows, unless stores wait for as many
// lines as loads do (measured, see docs/performance.md).
constexpr int kSecondCache = 2;
constexpr int kFirstCache = 3;

// Asks for the cache lines of `num_floats` from `from`.
template <int kLocality = kSecondCache>
HWY_INLINE void PrefetchFloats(const float* from, int64_t num_floats) {
  constexpr int64_t kLine = 64 / sizeof(float);
  for (int64_t i = 0; i < num_floats; i += kLine) {
    __builtin_prefetch(from + i, /*rw=*/0, kLocality);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
