// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Which instruction sets the vector code is compiled for. Include it before
// anything of Highway.
//
// A scalar baseline, SSE4, AVX2 and AVX-512 on x86-64, NEON on AArch64; the
// best that the machine has is chosen when the program runs. The sets between
// them would add compile time and no speed to loops that wait for memory, and
// scalable vectors cannot be members of a struct (simd-inl.h).
#ifndef TPULESS_CC_ENGINE_SIMD_TARGETS_H_
#define TPULESS_CC_ENGINE_SIMD_TARGETS_H_

#define HWY_DISABLED_TARGETS                                                   \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | \
   HWY_RVV)

#endif  // TPULESS_CC_ENGINE_SIMD_TARGETS_H_
