# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
# Highway always; GoogleTest and Google Benchmark where something needs them.

include(FetchContent)
find_package(Threads REQUIRED)

# Unpacks an unmodified release archive from third_party/ into
# ${name}_SOURCE_DIR; nothing is downloaded.
function(tpuless_unpack name version sha256)
  if(POLICY CMP0135)
    cmake_policy(SET CMP0135 NEW)
  endif()
  # A SOURCE_SUBDIR without a CMakeLists.txt: FetchContent adds nothing.
  FetchContent_Declare(
    ${name}
    URL "${PROJECT_SOURCE_DIR}/third_party/${name}-${version}.tar.gz"
    URL_HASH SHA256=${sha256}
    SOURCE_SUBDIR none
  )
  FetchContent_MakeAvailable(${name})
  set(${name}_SOURCE_DIR "${${name}_SOURCE_DIR}" PARENT_SCOPE)
  set(${name}_BINARY_DIR "${${name}_BINARY_DIR}" PARENT_SCOPE)
endfunction()

# Adds the targets of an unpacked archive, built only where something links
# them. Further arguments are NAME=VALUE options of it; they go to the cache,
# where the archives look.
function(tpuless_add_unpacked name)
  foreach(option IN LISTS ARGN)
    string(REGEX MATCH "^([^=]+)=(.*)$" _ "${option}")
    set(${CMAKE_MATCH_1} "${CMAKE_MATCH_2}" CACHE INTERNAL "")
  endforeach()
  # The archives are older than the CMake that may read them.
  set(CMAKE_POLICY_VERSION_MINIMUM 3.10)
  add_subdirectory(
    "${${name}_SOURCE_DIR}"
    "${${name}_BINARY_DIR}"
    EXCLUDE_FROM_ALL
  )
endfunction()

if(TPULESS_SYSTEM_DEPS)
  find_package(hwy REQUIRED)
  if(NOT TARGET hwy)
    add_library(hwy INTERFACE)
    target_link_libraries(hwy INTERFACE hwy::hwy)
  endif()
else()
  tpuless_unpack(
    highway
    1.0.3
    566fc77315878473d9a6bd815f7de78c73734acdcb745c3dde8579560ac5440e
  )
  # Not by its own CMakeLists.txt, which asks for the old behavior of policies
  # that CMake gives up. SYSTEM keeps our warnings out of its headers.
  add_library(
    hwy
    STATIC
    "${highway_SOURCE_DIR}/hwy/aligned_allocator.cc"
    "${highway_SOURCE_DIR}/hwy/per_target.cc"
    "${highway_SOURCE_DIR}/hwy/print.cc"
    "${highway_SOURCE_DIR}/hwy/targets.cc"
  )
  target_compile_definitions(hwy PUBLIC HWY_STATIC_DEFINE)
  target_include_directories(hwy SYSTEM PUBLIC "${highway_SOURCE_DIR}")
endif()

if(TPULESS_BUILD_TESTS)
  if(TPULESS_SYSTEM_DEPS)
    find_package(GTest REQUIRED)
  else()
    tpuless_unpack(
      googletest
      1.12.1
      81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2
    )
    tpuless_add_unpacked(googletest INSTALL_GTEST=OFF)
  endif()
endif()

if(TPULESS_BUILD_BENCHMARKS)
  if(TPULESS_SYSTEM_DEPS)
    find_package(benchmark REQUIRED)
  else()
    tpuless_unpack(
      benchmark
      1.7.1
      6430e4092653380d9dc4ccb45a1e2dc9259d581f4866dc0759713126056bc1d7
    )
    tpuless_add_unpacked(
      benchmark
      BENCHMARK_ENABLE_TESTING=OFF
      BENCHMARK_ENABLE_INSTALL=OFF
      BENCHMARK_ENABLE_WERROR=OFF
    )
  endif()
endif()
