# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
# Compiler flags: directory-wide ones, and tpuless_compile_options for our code.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(
    CMAKE_BUILD_TYPE
    Release
    CACHE STRING
    "Debug, Release or RelWithDebInfo."
    FORCE
  )
endif()

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Sanitizers cover the third-party code too, hence no target of their own.
if(TPULESS_SANITIZE)
  add_compile_options(
    -fsanitize=${TPULESS_SANITIZE}
    -fno-sanitize-recover=all
    -fno-omit-frame-pointer
  )
  add_link_options(-fsanitize=${TPULESS_SANITIZE})
endif()

# Fused multiply-add happens where the code says so and nowhere else: the same
# bits with any compiler and on any machine with the same vector width. Messages
# name files as the repository does, not as the machine that built them.
add_library(tpuless_compile_options INTERFACE)
target_compile_options(
  tpuless_compile_options
  INTERFACE
    -Wall
    -Wextra
    -ffp-contract=off
    "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/="
    $<$<BOOL:${TPULESS_WERROR}>:-Werror>
)
