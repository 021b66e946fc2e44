// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// One treatment of denormals for all callers.
#ifndef TPULESS_CC_ENGINE_DENORMALS_H_
#define TPULESS_CC_ENGINE_DENORMALS_H_

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#endif

namespace tpuless {

// While one of these lives, its thread reads and writes denormal floats as
// zero. TensorFlow's threads do so anyway, others do not; results must not
// depend on who calls.
class FlushDenormals {
 public:
#if defined(__x86_64__)
  FlushDenormals() : saved_(_mm_getcsr()) {
    constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
    _mm_setcsr(saved_ | kFlushToZero | kDenormalsAreZero);
  }
  ~FlushDenormals() { _mm_setcsr(saved_); }
#elif defined(__aarch64__)
  FlushDenormals() {
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(saved_));
    const uint64_t flushing = saved_ | (uint64_t{1} << 24);
    __asm__ __volatile__("msr fpcr, %0" : : "r"(flushing));
  }
  ~FlushDenormals() { __asm__ __volatile__("msr fpcr, %0" : : "r"(saved_)); }
#else
#error "x86-64 and AArch64 only"
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  unsigned saved_;
#elif defined(__aarch64__)
  uint64_t saved_;
#endif
};

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_DENORMALS_H_
