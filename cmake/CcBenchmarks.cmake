# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
# One binary a file in benchmarks/cc/.

file(GLOB cc_benchmarks CONFIGURE_DEPENDS benchmarks/cc/*.cc)
foreach(source IN LISTS cc_benchmarks)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(${name} "${source}")
  target_link_libraries(
    ${name}
    PRIVATE tpuless_engine tpuless_compile_options benchmark::benchmark_main
  )
endforeach()
