# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
# Says in one sentence what the machine lacks.

# A build by setuptools checks this too; here it serves plain CMake.
if(
  NOT DEFINED CMAKE_CXX_COMPILER
  AND NOT DEFINED CMAKE_TOOLCHAIN_FILE
  AND NOT DEFINED ENV{CXX}
)
  find_program(
    TPULESS_ANY_CXX_COMPILER
    NAMES c++ g++ clang++
    DOC "Only asks whether there is a compiler; CMake chooses it."
  )
  mark_as_advanced(TPULESS_ANY_CXX_COMPILER)
  if(NOT TPULESS_ANY_CXX_COMPILER)
    message(
      FATAL_ERROR
      "tpuless needs a C++17 compiler, found none; install g++ or set CXX"
    )
  endif()
endif()

# Stops where no TensorFlow library of this layout exists.
function(tpuless_check_platform)
  if(
    NOT CMAKE_SYSTEM_NAME STREQUAL "Linux"
    OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|aarch64|arm64)$"
  )
    message(
      FATAL_ERROR
      "tpuless needs Linux on x86_64 or aarch64, got "
      "${CMAKE_SYSTEM_NAME} on ${CMAKE_SYSTEM_PROCESSOR}"
    )
  endif()
  if(NOT "cxx_std_17" IN_LIST CMAKE_CXX_COMPILE_FEATURES)
    message(
      FATAL_ERROR
      "tpuless needs a C++17 compiler, got "
      "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
    )
  endif()
endfunction()
